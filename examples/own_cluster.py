"""A Dask cluster of one's own: it is used, it is not closed, and the bits are the same.

Workers are processes that import this file, which is why the work stands under the guard at the
end. Run it with ``python examples/own_cluster.py``.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from distributed import Client, LocalCluster

from bigtensor import KernelMixture, simulate


def main() -> None:
    with (
        TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="1GiB",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        # Workers open the store themselves, so its path must mean the same to all of them.
        store = Path(folder) / "rows.zarr"
        simulate.write_kernel_mixture(store, 500_000, 4, separation=1.5, random_state=2)

        print(KernelMixture(4, random_state=0).plan(store, client=client), "\n")
        on_workers = KernelMixture(4, random_state=0).fit(store, client=client)
        print(f"fitted on two workers; the client is {client.status!r} and yours to close")

        on_threads = KernelMixture(4, random_state=0).fit(store, scheduler="threads")
        same = np.array_equal(on_workers.weights_, on_threads.weights_)
        print(f"fitted again on threads of this process; the same bits: {same}\n")

        with client.as_current():
            labels = on_workers.write(store, Path(folder) / "labels.zarr")
        print(f"labels written by the workers to {labels.name}")
        print("weights", on_workers.weights_.round(4), "(true 0.4 0.3 0.2 0.1)")


if __name__ == "__main__":
    main()
