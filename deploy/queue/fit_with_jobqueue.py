"""A fit on workers that are jobs of their own: they come when the queue starts them, and may leave.

Sizes of jobs are in jobqueue.yaml. Run it where jobs may be submitted from: it needs little time of
a processor, and stays until the fit has ended.
"""

from pathlib import Path

import dask
import yaml
from dask_jobqueue import {{cluster}}
from distributed import Client
from distributed.security import Security

from bigtensor import {{model_class}}

JOBS = Path(__file__).with_name("jobqueue.yaml")

if __name__ == "__main__":
    dask.config.update(dask.config.config, yaml.safe_load(JOBS.read_text()))
    with {{cluster}}(security=Security.temporary()) as cluster, Client(cluster) as client:
        cluster.scale(jobs={{workers}})
        model = {{model}}
        model.fit({{data}}, client=client, checkpoint="parts")
        model.save("model.zarr")
        print(model)
