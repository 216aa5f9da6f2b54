"""A fit on workers that are jobs of their own. The queue starts them and may end them.

A job that ends while the fit runs is replaced by a new job. jobqueue.yaml holds the size of a job.
Run this script on a machine where jobs may be submitted. It uses little processor time and runs
until the fit has ended.
"""

import shlex
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import dask
import yaml
from dask_jobqueue import {{cluster}}
from distributed import Client
from distributed.core import Status
from distributed.security import Security

from bigtensor import {{names}}
from bigtensor.errors import BigtensorError
from bigtensor.termination import Terminated, signals_raise

OUT = {{out}}
OVERWRITE = {{overwrite}}  # True replaces a model that exists

NUMBER_OF_JOBS = {{workers}}

JOBS = yaml.safe_load(Path(__file__).with_name("jobqueue.yaml").read_text())

# Tasks of a pass are alike: stealing them gains nothing, and can deadlock (dask/distributed#8787).
# Web pages about tasks and logs would be open to everybody, so they are switched off.
SCHEDULER = {
    "distributed.comm.require-encryption": True,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.http.routes": [],
}

WORKERS = [
    "export DASK_DISTRIBUTED__WORKER__HTTP__ROUTES='[]'",
    # Dask imports modules from the folder of its files, and that in /tmp may be of another user
    'export DASK_TEMPORARY_DIRECTORY="$(mktemp -d)"',
    # a worker that ends by an error, and not by a signal of the queue, leaves a file in $FAILURES
    """trap 'status=$?; rm -rf "$DASK_TEMPORARY_DIRECTORY"
        [ $status -eq 0 ] || [ $status -gt 128 ] || mktemp -qp "$FAILURES"' EXIT""",
    # keep freed memory for the next read; with Dask's own settings, reading takes twice as long
    "export MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=16777216 MALLOC_TRIM_THRESHOLD_=33554432",
]


def refused_jobs(cluster):
    """Return jobs whose submission the queue refused. dask-jobqueue leaves them in this state."""
    return [job for job in cluster.workers.values() if job.status == Status.created]


def require_jobs(cluster, failures):
    """End if jobs were refused or failed. This is called while there is no worker."""
    refused, failed = len(refused_jobs(cluster)), len(list(Path(failures).iterdir()))
    if refused + failed >= min(3, NUMBER_OF_JOBS):
        sys.exit(
            f"There is no worker: the queue refused {refused} jobs (see above), and {failed} jobs "
            "failed (see worker-logs). Correct jobqueue.yaml, and run this script again."
        )


def main():
    """Fit the model on jobs and save it."""
    # mistakes in the output and the data end the script before a job is submitted
    check_target(OUT, overwrite=OVERWRITE)
    model = {{model}}
    rows = open_samples({{rows}})
    print(f"{rows.rows:,} rows will be fitted", flush=True)
    dask.config.update(dask.config.config, JOBS)
    with (
        TemporaryDirectory() as private,
        # jobs that fail leave files here
        TemporaryDirectory(prefix=".failures-", dir=Path.cwd()) as failures,
        dask.config.set(SCHEDULER | {"temporary-directory": private}),
        {{cluster}}(
            # traffic carries code, so it is encrypted with a certificate of this run; the
            # certificate lies in this folder, and nobody else can read it
            security=Security.temporary(),
            shared_temp_directory=str(Path.cwd()),
            scheduler_options={"dashboard_address": "127.0.0.1:0"},
            worker_extra_args=["--no-dashboard"],
            job_script_prologue=[f"FAILURES={shlex.quote(failures)}", *WORKERS],
            log_directory="worker-logs",
        ) as cluster,
        Client(cluster) as client,
    ):

        def report(event):
            """Print a line for every pass over the data, and while there is no worker."""
            if event.kind == "pass finished":
                print(f"{event.name}: {event.total_rows:,} rows in {event.seconds:.1f} s", flush=True)
            elif event.kind == "waiting for workers":
                print(f"no worker for {event.seconds:.0f} s", flush=True)
                require_jobs(cluster, failures)

        # unlike scale(), adapt() submits a new job 15 s after the worker of a job has gone
        cluster.adapt(minimum_jobs=NUMBER_OF_JOBS, maximum_jobs=NUMBER_OF_JOBS)
        print(f"jobs are submitted; the scheduler is {cluster.scheduler_address}", flush=True)
        try:
            while not client.nthreads():
                require_jobs(cluster, failures)
                time.sleep(1)
            model.fit(
                rows,
                client=client,
                wait_for_workers={{wait}},
                checkpoint={{checkpoint}},
                listeners=[report],
            )
            model.save(OUT, overwrite=OVERWRITE)
            print(model)
        finally:
            # a cluster cannot be closed with jobs in the state that refused ones have
            for job in refused_jobs(cluster):
                job.status = Status.failed


if __name__ == "__main__":
    try:
        # SIGTERM ends the script by an error, so that the jobs end and the certificate is removed
        with signals_raise():
            main()
    except Terminated:
        sys.exit(143)
    except BigtensorError as error:
        sys.exit(f"error: {error}")
