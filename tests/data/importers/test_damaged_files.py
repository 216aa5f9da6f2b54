"""Every reader under random damage: the right rows, wrong numbers at worst, or one clear error."""

import random
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.importers.anndata import open_anndata
from bigtensor.data.importers.csv_and_parquet import open_csv, open_parquet
from bigtensor.data.importers.files import import_files
from bigtensor.data.importers.source import ImportSource
from bigtensor.errors import DataError, FileFormatError, ParameterError, PlanError
from tests.parameters import first_quick

ROWS, MUTATIONS = 200, 60

Opener = Callable[[Path], ImportSource]


def make(folder: Path, kind: str) -> tuple[Path, Opener]:
    """Write a file of a kind, and return it with its reader."""
    values = np.random.default_rng(1).poisson(0.8, size=(ROWS, 4)) * 1.5
    frame = pd.DataFrame(values, columns=list("abcd")).assign(kind=["T", "B"] * (ROWS // 2))
    if kind.startswith("csv"):
        path = folder / f"cells.{kind}"
        frame.to_csv(path, index=False)
        return path, lambda path: open_csv(path, label="kind")
    if kind == "parquet":
        path = folder / "cells.parquet"
        frame.to_parquet(path, row_group_size=64)
        return path, lambda path: open_parquet(path, label="kind")
    import anndata

    ending, _, layout = kind.partition("-")
    path = folder / f"cells.{ending}"
    with warnings.catch_warnings():
        # What the library says while it writes is no matter of ours.
        warnings.simplefilter("ignore")
        matrix = values.astype("f4")
        data = anndata.AnnData(sp.csr_matrix(matrix) if layout == "csr" else matrix)
        data.obs["kind"] = pd.Categorical(frame["kind"])
        # names in Zarr v2 are Blosc frames
        with anndata.settings.override(zarr_write_format=2):
            data.write_h5ad(path, compression="gzip") if ending == "h5ad" else data.write_zarr(path)
    return path, lambda path: open_anndata(path, label="kind")


def mutated(raw: bytes, chance: random.Random, kinds: Sequence[str]) -> bytes:
    """Return bytes with one kind of damage."""
    damaged = bytearray(raw)
    place = chance.randrange(len(damaged))
    kind = chance.choice(kinds)
    if kind == "bit":
        damaged[place] ^= 1 << chance.randrange(8)
    elif kind == "bytes":
        for _ in range(20):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    elif kind == "cut":
        del damaged[place:]
    else:
        damaged[place:place] = damaged[place : place + 50]
    return bytes(damaged)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind",
    first_quick(["csv", "csv.gz", "csv.xz", "parquet", "h5ad", "zarr", "h5ad-csr", "zarr-csr"], 6),
)
def test_reader__says_what_is_damaged(tmp_path: Path, kind: str) -> None:
    path, opener = make(tmp_path, kind)
    files = sorted(file for file in [path, *path.rglob("*")] if file.is_file())
    kinds = ["bit", "bytes", "cut", "repeat"]
    # another process reads every damaged file in HDF5 first
    mutations = MUTATIONS // 3 if kind.startswith("h5ad") else MUTATIONS
    chance, messages = random.Random(3), []
    for _ in range(mutations):
        file = chance.choice(files)
        raw = file.read_bytes()
        file.write_bytes(mutated(raw, chance, kinds))
        try:
            for block in opener(path).blocks(90):
                assert block.values.ndim == 2
        except DataError as error:
            messages.append(str(error))
        file.write_bytes(raw)
    assert len(messages) > MUTATIONS // 20
    assert all(str(path) in message for message in messages)


def test_csv__a_cut_gzip_leaves_no_store(tmp_path: Path) -> None:
    path, _ = make(tmp_path, "csv.gz")
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(FileFormatError, match=r"cells\.csv\.gz cannot .* \(EOFError"):
        import_files(path, tmp_path / "out.zarr", label="kind")
    assert [file.name for file in tmp_path.iterdir()] == ["cells.csv.gz"]


@pytest.mark.parametrize("column", ["obs/kind/categories", "var/_index"])
def test_anndata__names_in_a_cut_frame_are_refused(tmp_path: Path, column: str) -> None:
    """Blosc would read on past its end, and the count of names there asks for any memory."""
    path, opener = make(tmp_path, "zarr")
    # newer versions of anndata keep names beside a mask
    chunk = max((path / column).rglob("0"))
    whole = chunk.read_bytes()
    for length in (len(whole) - 1, 14):
        chunk.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match=rf"/0 has {length} bytes .* cut short"):
            opener(path)


def test_anndata__rows_without_names_are_refused(tmp_path: Path) -> None:
    import h5py

    path, opener = make(tmp_path, "h5ad")
    with h5py.File(path, "a") as file:
        values = file["X"][:-1]
        attrs = dict(file["X"].attrs)
        del file["X"]
        file["X"] = values
        file["X"].attrs.update(attrs)
    with pytest.raises(FileFormatError, match=f"X has {ROWS - 1} rows .* for {ROWS} obs_names"):
        opener(path)


def test_anndata__indices_outside_of_a_sparse_matrix_are_refused(tmp_path: Path) -> None:
    import h5py

    path, opener = make(tmp_path, "h5ad-csr")
    with h5py.File(path, "a") as file:
        file["X/indices"][5] = 2**30
    with pytest.raises(FileFormatError, match="cannot be read as AnnData"):
        list(opener(path).blocks(90))


@pytest.mark.parametrize("damage", ["descending", "last is zero", "no whole numbers"])
def test_anndata__pointers_that_do_not_ascend_are_refused(tmp_path: Path, damage: str) -> None:
    import h5py

    path, opener = make(tmp_path, "h5ad-csr")
    with h5py.File(path, "a") as file:
        pointers = file["X/indptr"][...]
        if damage == "last is zero":
            # SciPy's own check passes over the order then, and the process crashed
            pointers[1:] = 0
            pointers[5] = 2**30
        elif damage == "descending":
            pointers[5] = 2**30
        else:
            pointers = pointers.astype(bool)
        del file["X/indptr"]
        file["X/indptr"] = pointers
    with pytest.raises(FileFormatError, match="cannot be read as AnnData"):
        list(opener(path).blocks(ROWS))


def test_reading__lets_own_errors_through_and_names_what_does_not_fit_in_memory() -> None:
    with (
        pytest.raises(FileFormatError, match=r"a\.csv asks .*memory .*8\.00 TiB"),
        reading(Path("a.csv"), "a table"),
    ):
        raise MemoryError("Unable to allocate 8.00 TiB")
    for error in (ParameterError("own"), PlanError("plan"), KeyboardInterrupt()):
        with pytest.raises(type(error)), reading(Path("a.csv"), "a table"):
            raise error
    with (
        pytest.raises(FileFormatError, match=r"a\.csv may not be read"),
        reading(Path("a.csv"), ""),
    ):
        raise PermissionError(13, "Permission denied")
