"""Data at a path that a worker sees otherwise than the driver: no answer from other rows."""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import gethostname
from typing import Any

import numpy as np
import pytest
import zarr
from distributed import Client, LocalCluster

from bigtensor import GaussianMixture, open_samples, simulate
from bigtensor.data.addresses.copies_on_workers import contents_digest, require_same_contents
from bigtensor.engine.answers_in_memory import evaluate_in_memory
from bigtensor.engine.clusters.distributed_runtime import DistributedRuntime
from bigtensor.engine.reduce import run_pass
from bigtensor.errors import DataChangedError, StoreReadError
from bigtensor.statistics.base import Pass
from tests.engine.sums import ColumnSums, RowTotals, write_store

ROWS = 2000
OPTIONS = {"random_state": 0, "max_iter": 1, "pilot_rows": 500, "reg_covar": 1e-6}


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
@pytest.mark.quick_cases("cells.zarr")
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


@pytest.fixture
def copies(tmp_path: Path) -> tuple[Path, Path]:
    """Write a store without compression, and copy it."""
    write_zarr(tmp_path / "a.zarr", values(1))
    zarr.open_array(tmp_path / "a.zarr" / "X").attrs["categories"] = ["first", "other"]
    shutil.copytree(tmp_path / "a.zarr", tmp_path / "b.zarr")
    return tmp_path / "a.zarr", tmp_path / "b.zarr"


def digest(store: Path | str) -> str | None:
    return contents_digest(str(store), ["X"])


def without_a_chunk(store: Path) -> None:
    (store / "X" / "c" / "3" / "0").unlink()


def other_values_in_the_last_chunks(store: Path) -> None:
    for chunk in "123":
        path = store / "X" / "c" / chunk / "0"
        path.write_bytes(path.read_bytes()[::-1])


def other_names_of_one_length(store: Path) -> None:
    path = store / "X" / "zarr.json"
    path.write_text(path.read_text().replace("other", "third"))


@pytest.mark.parametrize(
    "change", [without_a_chunk, other_values_in_the_last_chunks, other_names_of_one_length]
)
def test_copy__that_differs_has_another_digest(
    copies: tuple[Path, Path], change: Callable[[Path], None]
) -> None:
    store, copy = copies
    assert digest(copy) == digest(store)
    change(copy)
    assert digest(copy) != digest(store)


@pytest.mark.parametrize("name", WRITERS)
def test_worker__that_sees_an_empty_folder_is_refused(tmp_path: Path, name: str) -> None:
    """A disk that is not mounted leaves an empty folder in its place."""
    WRITERS[name](tmp_path / name, values(1))
    of_driver = contents_digest(str(tmp_path / name), ["X"])
    assert of_driver is not None
    (tmp_path / "own" / name).mkdir(parents=True)
    with pytest.raises(StoreReadError, match=rf"{name} has other files .*{gethostname()}.* mount"):
        require_same_contents(str(tmp_path / "own" / name), ("X",), of_driver)


def test_copy__with_hidden_files_has_the_same_digest(copies: tuple[Path, Path]) -> None:
    store, copy = copies
    (copy / "X" / ".DS_Store").write_bytes(b"of a file manager")
    (copy / "X" / ".snapshot").mkdir()
    (copy / "X" / ".snapshot" / "0").write_bytes(b"of a disk")
    assert digest(copy) == digest(store)
    (copy / "X" / ".zattrs").write_text("{}")
    assert digest(copy) != digest(store)


@pytest.mark.parametrize("url", ["zip://::{}", "zip://::file://{}", "zip://a.zarr::{}"])
def test_archive__is_compared_by_its_file(
    copies: tuple[Path, Path], tmp_path: Path, url: str
) -> None:
    digests = []
    for changed in (False, False, True):
        if changed:
            other_values_in_the_last_chunks(copies[0])
        archive = tmp_path / "cells.zip"
        with zipfile.ZipFile(archive, "w") as file:
            for path in sorted(copies[0].rglob("*")):
                file.write(path, path.relative_to(copies[0]))
        digests.append(digest(url.format(archive)))
    assert None not in digests
    assert digests[0] == digests[1] != digests[2]
    assert digest("zip://::s3://bucket/cells.zip") is None


class ChangedBeforeTasksRun(DistributedRuntime):
    """Runtime of a cluster. Another program writes to the store before the first task runs."""

    def __init__(self, client: Client, store: Path) -> None:
        super().__init__(client)
        self.store = store

    def run(self, *arguments: Any, **options: Any) -> None:
        write_zarr(self.store, values(2))
        super().run(*arguments, **options)


def test_data__that_change_before_a_worker_compares_them_are_noticed(
    tmp_path: Path, one_worker: Client
) -> None:
    store = tmp_path / "cells.zarr"
    write_zarr(store, values(1))
    samples, runtime = open_samples(store), ChangedBeforeTasksRun(one_worker, store)
    with pytest.raises(DataChangedError, match="changed while it was read"):
        run_pass(samples.for_workers(), Pass("sums", ColumnSums(2)), runtime, stamp=samples.stamp())
    write_zarr(store, values(1))
    with pytest.raises(DataChangedError, match="changed while it was read"):
        evaluate_in_memory(open_samples(store), RowTotals(), runtime)
