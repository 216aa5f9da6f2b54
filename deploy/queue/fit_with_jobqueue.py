"""A fit on workers that are jobs of their own. The queue starts them and may end them.

jobqueue.yaml holds the size of a job. Run this script on a machine where jobs may be submitted. It
uses little processor time and runs until the fit has ended.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import dask
import yaml
from dask_jobqueue import {{cluster}}
from distributed import Client
from distributed.security import Security

from bigtensor import {{model_class}}

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
    """trap 'rm -rf "$DASK_TEMPORARY_DIRECTORY"' EXIT""",
    # keep freed memory for the next read; with Dask's own settings, reading takes twice as long
    "export MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=16777216 MALLOC_TRIM_THRESHOLD_=33554432",
]


def report(event):
    """Print a line for every pass over the data."""
    if event.kind == "pass finished":
        print(f"{event.name}: {event.total_rows:,} rows in {event.seconds:.1f} s", flush=True)


if __name__ == "__main__":
    dask.config.update(dask.config.config, JOBS)
    with (
        TemporaryDirectory() as private,
        dask.config.set(SCHEDULER | {"temporary-directory": private}),
        {{cluster}}(
            # traffic carries code, so it is encrypted with a certificate of this run; the
            # certificate lies in this folder, and nobody else can read it
            security=Security.temporary(),
            shared_temp_directory=".",
            scheduler_options={"dashboard_address": "127.0.0.1:0"},
            worker_extra_args=["--no-dashboard"],
            job_script_prologue=WORKERS,
            log_directory="worker-logs",
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.scale(jobs={{workers}})
        model = {{model}}
        print(f"jobs are submitted; the scheduler is {cluster.scheduler_address}", flush=True)
        model.fit({{rows}}, client=client, checkpoint={{checkpoint}}, listeners=[report])
        model.save({{out}})
        print(model)
