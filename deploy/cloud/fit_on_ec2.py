"""A fit on machines of Amazon EC2 that start for the fit and end after it."""

import sys

import dask
from dask_cloudprovider.aws import EC2Cluster
from distributed import Client

from bigtensor import {{names}}
from bigtensor.errors import BigtensorError
from bigtensor.termination import Terminated, signals_raise

OUT = {{out}}
OVERWRITE = {{overwrite}}  # True replaces a model that exists

IMAGE = "registry.example.org/bigtensor:latest"  # the image of 'bigtensor deploy container'
REGION = "eu-central-1"  # where the data are
MACHINE = "t3.medium"  # with {{memory}} for a worker, and one more GiB

CLUSTER = {
    "region": REGION,
    "instance_type": MACHINE,
    "docker_image": IMAGE,
    "n_workers": {{workers}},
    "worker_options": {"nthreads": 1, "memory_limit": "{{memory}}"},
    # a machine ends with its process, and the scheduler ends after an hour without work
    "auto_shutdown": True,
    "scheduler_options": {"idle_timeout": "1 hour"},
    "instance_tags": {"Name": "bigtensor"},
    # traffic carries code, so it is encrypted with a certificate of this run
    "security": True,
    "env_vars": {
        "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "False",
        # web pages about tasks and logs would be open to everybody, so they are switched off
        "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
        "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
        # keep freed memory for the next read; with Dask's own settings, reading takes twice as long
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_THRESHOLD_": "16777216",
        "MALLOC_TRIM_THRESHOLD_": "33554432",
    },
}


def report(event):
    """Print a line for every pass over the data."""
    if event.kind == "pass finished":
        print(f"{event.name}: {event.total_rows:,} rows in {event.seconds:.1f} s", flush=True)


def main():
    """Fit the model on machines and save it."""
    # mistakes in the output and the data end the script before a machine starts
    check_target(OUT, overwrite=OVERWRITE)
    model = {{model}}
    rows = open_samples({{rows}})
    print(f"{rows.rows:,} rows will be fitted", flush=True)
    with (
        dask.config.set({"distributed.comm.require-encryption": True}),
        EC2Cluster(**CLUSTER) as cluster,
        Client(cluster) as client,
    ):
        model.fit(
            rows,
            client=client,
            wait_for_workers={{wait}},
            checkpoint={{checkpoint}},
            listeners=[report],
        )
        model.save(OUT, overwrite=OVERWRITE)
        print(model)


if __name__ == "__main__":
    try:
        # SIGTERM ends the script by an error, so that the machines end
        with signals_raise():
            main()
    except Terminated:
        sys.exit(143)
    except BigtensorError as error:
        sys.exit(f"error: {error}")
