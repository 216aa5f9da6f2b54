"""Data at a path that a worker sees otherwise than the driver: no answer from other rows."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster

from bigtensor import GaussianMixture, simulate
from bigtensor.data.addresses.copies_on_workers import contents_digest
from bigtensor.errors import StoreReadError
from tests.engine.sums import write_store

ROWS = 2000
OPTIONS = {"random_state": 0, "max_iter": 1, "pilot_rows": 500}


def values(seed: int) -> np.ndarray:
    return simulate.gaussian_mixture(ROWS, 2, random_state=seed)["X"].to_numpy().astype("float32")


def write_h5ad(path: Path, rows: np.ndarray) -> None:
    anndata = pytest.importorskip("anndata")
    # without compression, files of other rows have the same size
    anndata.AnnData(rows).write_h5ad(path)


def write_zarr(path: Path, rows: np.ndarray) -> None:
    write_store(path, rows, chunks=(500, rows.shape[1]), compressors=None)


WRITERS: dict[str, Callable[[Path, np.ndarray], None]] = {
    "cells.zarr": write_zarr,
    "cells.h5ad": write_h5ad,
}
"""Writers of files without compression, which have one size for all rows of a shape."""


@contextmanager
def worker_with_a_disk_of_its_own(folder: Path, own: Path) -> Iterator[Client]:
    """Start a worker that sees another folder in place of one."""
    mount = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*mount, "true"], check=False).returncode:
        pytest.skip("needs unshare, and the permission to mount a folder")
    script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    dask_worker = [sys.executable, "-m", "dask", "worker", "--nthreads", "1", "--no-dashboard"]
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        place = ["--host", "127.0.0.1", "--no-nanny", "--local-directory", str(own)]
        arguments = [str(own), str(folder), *dask_worker, cluster.scheduler_address, *place]
        process = subprocess.Popen([*mount, script, "sh", *arguments])
        try:
            client.wait_for_workers(1, timeout=60)
            yield client
        finally:
            process.terminate()
            process.wait(30)


@pytest.mark.parametrize("name", WRITERS)
def test_worker__that_sees_other_data_or_none_is_refused(tmp_path: Path, name: str) -> None:
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    own.mkdir()
    WRITERS[name](shared / name, values(1))
    fitted = GaussianMixture(2, **OPTIONS).fit(shared / name)
    with worker_with_a_disk_of_its_own(shared, own) as client:
        for there in ("does not exist for a worker", "has other files for a worker"):
            with pytest.raises(StoreReadError, match=f"{name} {there} .* mount"):
                GaussianMixture(2, **OPTIONS).fit(shared / name, client=client)
            with pytest.raises(StoreReadError, match=there):
                fitted.write(shared / name, tmp_path / "labels.zarr", client=client)
            WRITERS[name](own / name, values(2))
        # a copy of the data may lie on the disk of the worker
        shutil.rmtree(own / name) if (own / name).is_dir() else (own / name).unlink()
        copy = shutil.copytree if (shared / name).is_dir() else shutil.copyfile
        copy(shared / name, own / name)
        again = GaussianMixture(2, **OPTIONS).fit(shared / name, client=client)
    np.testing.assert_array_equal(again.means_, fitted.means_)


def test_copy__without_a_chunk_has_another_digest(tmp_path: Path) -> None:
    write_zarr(tmp_path / "a.zarr", values(1))
    shutil.copytree(tmp_path / "a.zarr", tmp_path / "b.zarr")
    digest = contents_digest(str(tmp_path / "a.zarr"), ["X"])
    assert contents_digest(str(tmp_path / "b.zarr"), ["X"]) == digest
    (tmp_path / "b.zarr" / "X" / "c" / "3" / "0").unlink()
    assert contents_digest(str(tmp_path / "b.zarr"), ["X"]) != digest
