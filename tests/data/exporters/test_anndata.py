"""AnnData files written by anndata itself, labelled where they lie, and read by it again."""

import hashlib
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from zarr.codecs import Crc32cCodec

from bigtensor.data.exporters.anndata import write_answers_to_anndata
from bigtensor.errors import DataError, FileFormatError, OutputError
from tests.data.exporters.conftest import FEATURES, ROWS, write_labels

MODEL = {"description": "{}", "arrays": {"weights": np.array([0.5, 0.3, 0.2]), "k": np.array(3)}}
KINDS = ["cells.h5ad", "cells2.zarr", "cells3.zarr"]


def make(path: Path, rows: int = ROWS, sparse: bool = False) -> anndata.AnnData:
    """Write an AnnData file of the kind that its name says, and return what was written."""
    values = np.random.default_rng(1).normal(size=(rows, 3)).astype(np.float32)
    obs = pd.DataFrame(
        {"donor": pd.Categorical([f"d{i % 3}" for i in range(rows)]), "age": np.arange(rows)},
        index=[f"cell{i}" for i in range(rows)],
    )
    data = anndata.AnnData(
        sp.csr_matrix(values) if sparse else values,
        obs=obs,
        var=pd.DataFrame(index=FEATURES),
        uns={"spatialdata_attrs": {"region": "r", "instance_key": "i"}},
        obsm={"X_pca": values[:, :2]},
    )
    with warnings.catch_warnings():
        # What the library says while it writes is no matter of ours.
        warnings.simplefilter("ignore")
        if path.suffix == ".h5ad":
            data.write_h5ad(path, compression="gzip")
        else:
            with anndata.settings.override(zarr_write_format=int(path.stem[-1])):
                data.write_zarr(path)
    return data


def read(path: Path) -> anndata.AnnData:
    return anndata.read_h5ad(path) if path.suffix == ".h5ad" else anndata.read_zarr(path)


def stored(path: Path, name: str) -> np.ndarray:
    """Return one stored array."""
    if path.is_dir():
        return zarr.open_group(path, mode="r")[name][:]
    with h5py.File(path) as file:
        return file[name][:]


def bytes_of_values(path: Path) -> str:
    """Return the digest of the stored bytes of X, with their places in an HDF5 file."""
    digest = hashlib.sha256()
    if path.is_dir():
        for file in sorted((path / "X").rglob("*")):
            if file.is_file():
                digest.update(repr((file.name, file.stat().st_mtime_ns)).encode())
                digest.update(file.read_bytes())
        return digest.hexdigest()
    with h5py.File(path) as file:
        places = [file["X"].id.get_chunk_info(i) for i in range(file["X"].id.get_num_chunks())]
    content = path.read_bytes()
    for place in places:
        digest.update(repr(place).encode())
        digest.update(content[place.byte_offset : place.byte_offset + place.size])
    return digest.hexdigest()


def damage_values(path: Path) -> None:
    """Overwrite the first stored chunk of X, so that it cannot be read."""
    if path.is_dir():
        chunk = next(
            f for f in sorted((path / "X").rglob("*")) if f.name[0] in "0c" and f.is_file()
        )
        chunk.write_bytes(chunk.read_bytes()[:10])
        return
    with h5py.File(path) as file:
        place = file["X"].id.get_chunk_info(0)
    with path.open("r+b") as file:
        file.seek(place.byte_offset)
        file.write(b"\xff" * place.size)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.quick_cases("False-cells.h5ad", "True-cells3.zarr")
def test_anndata__reads_back_what_was_written_and_all_that_was_there(
    labels, answers, tmp_path, name, sparse
):
    path, told = tmp_path / name, []
    before = make(path, sparse=sparse)
    write_answers_to_anndata(labels, path, MODEL, progress=lambda *rows: told.append(rows))
    after = read(path)
    label, probability = answers
    column = after.obs["bigtensor_label"]
    assert list(column.cat.categories) == ["0", "1", "2"]
    np.testing.assert_array_equal(column.cat.codes, label)
    assert column.isna().sum() == 10
    assert after.obsm["X_bigtensor_proba"].dtype == np.float32
    np.testing.assert_array_equal(after.obsm["X_bigtensor_proba"], probability)
    assert after.var["bigtensor_used"].tolist() == [True, False, True]
    assert after.var["bigtensor_used"].dtype == bool
    kept = after.uns["bigtensor"]
    assert kept["description"] == "{}"
    np.testing.assert_array_equal(kept["arrays"]["weights"], [0.5, 0.3, 0.2])
    assert told[-1] == (ROWS, ROWS)
    # the rest of the file
    assert after.uns["spatialdata_attrs"] == {"region": "r", "instance_key": "i"}
    assert sorted(after.obsm) == ["X_bigtensor_proba", "X_pca"]
    pd.testing.assert_frame_equal(after.obs[["donor", "age"]], before.obs)
    difference = after.X - before.X
    assert abs(difference).max() == 0


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.quick_cases("3")
def test_anndata__arrays_in_zarr_are_whole_and_have_checksums(labels, tmp_path, version):
    """Format 2 has no checksum that all readers of AnnData know."""
    path = tmp_path / f"cells{version}.zarr"
    make(path)
    group = zarr.open_group(labels)
    # all rows left out: nothing but the fill value
    group["label"][:], group["probability"][:] = -1, np.nan
    before = {name for name, _ in zarr.open_group(path).members(max_depth=None)}
    write_answers_to_anndata(labels, path, MODEL)
    written = {
        name: array
        for name, array in zarr.open_group(path, mode="r").members(max_depth=None)
        if name not in before and isinstance(array, zarr.Array)
    }
    assert {"obs/bigtensor_label/codes", "obsm/X_bigtensor_proba"} < set(written)
    for array in written.values():
        assert array.nchunks_initialized == array.nchunks
        assert version == 2 or isinstance(array.compressors[-1], Crc32cCodec)
    assert written["obs/bigtensor_label/codes"].fill_value == -1
    assert read(path).obs["bigtensor_label"].isna().all()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.quick_cases("cells.h5ad")
def test_anndata__stored_bytes_of_values_are_the_same(labels, tmp_path, name):
    make(tmp_path / name)
    before = bytes_of_values(tmp_path / name)
    write_answers_to_anndata(labels, tmp_path / name, MODEL)
    assert bytes_of_values(tmp_path / name) == before


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.quick_cases("cells.h5ad")
def test_anndata__values_are_not_read(labels, answers, tmp_path, name):
    path = tmp_path / name
    make(path)
    damage_values(path)
    with pytest.raises(Exception, match=r".+"):
        read(path)
    write_answers_to_anndata(labels, path, MODEL)
    np.testing.assert_array_equal(stored(path, "obsm/X_bigtensor_proba"), answers[1])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.quick_cases("cells.h5ad")
def test_anndata__answers_are_replaced_only_on_demand(labels, tmp_path, name):
    path = tmp_path / name
    make(path)
    write_answers_to_anndata(labels, path, MODEL)
    alone = write_labels(tmp_path / "alone.zarr", probabilities=False)
    with pytest.raises(OutputError, match=r"has obsm/X_bigtensor_proba, obs/bigtensor_label, "):
        write_answers_to_anndata(alone, path, MODEL)
    assert "X_bigtensor_proba" in read(path).obsm
    write_answers_to_anndata(alone, path, {"description": "second"}, overwrite=True)
    after = read(path)
    assert "X_bigtensor_proba" not in after.obsm, "posteriors of the earlier labels were left"
    assert list(after.obs.columns) == ["donor", "age", "bigtensor_label"]
    assert dict(after.uns["bigtensor"]) == {"description": "second"}


def test_anndata__zarr_shows_new_elements_through_consolidated_metadata(labels, tmp_path):
    """Of the table itself, and of a SpatialData store around it."""
    spatial = tmp_path / "spatial.zarr"
    zarr.create_group(spatial).create_group("tables")
    make(spatial / "tables" / "cells3.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(str(spatial))
    write_answers_to_anndata(labels, spatial / "tables" / "cells3.zarr", MODEL)
    for store, prefix in ((spatial, "tables/cells3.zarr/"), (spatial / "tables/cells3.zarr", "")):
        group = zarr.open_consolidated(store, mode="r")
        assert "bigtensor_label" in group[f"{prefix}obs"].attrs["column-order"]
        assert group[f"{prefix}obsm/X_bigtensor_proba"].shape == (ROWS, 3)
        assert f"{prefix}obs/bigtensor.partial" not in group


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.quick_cases("cells.h5ad")
def test_anndata__interrupted_leaves_the_file_as_it_was(labels, tmp_path, name):
    path = tmp_path / name
    make(path)
    before = read(path)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_answers_to_anndata(labels, path, MODEL, progress=stop)
    with pytest.raises(KeyError):
        stored(path, "obs/bigtensor.partial/probability")
    after = read(path)
    assert (list(after.obs), list(after.obsm)) == (list(before.obs), list(before.obsm))
    np.testing.assert_array_equal(after.X, before.X)
    write_answers_to_anndata(labels, path, MODEL)


KILLED = """
import os, signal, sys
from bigtensor.data.exporters import anndata as exporter
when = sys.argv[3]
kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
place = exporter._set_column
if when == "moved":
    exporter._set_column = lambda file, name, *, present: kill() if present else place(
        file, name, present=present)
exporter.write_answers_to_anndata(
    sys.argv[1], sys.argv[2], {"description": "killed"}, overwrite=True,
    progress=kill if when == "written" else lambda *_: None)
"""


@pytest.mark.parametrize(
    ("name", "when"),
    [
        ("cells.h5ad", "written"),
        pytest.param("cells.h5ad", "moved", marks=pytest.mark.slow),
        pytest.param("cells3.zarr", "written", marks=pytest.mark.slow),
        ("cells3.zarr", "moved"),
        pytest.param("cells2.zarr", "moved", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow  # an interruption is quick
def test_anndata__killed_leaves_a_readable_file_that_does_not_look_whole(
    labels, answers, tmp_path, name, when
):
    path = tmp_path / name
    before = make(path)
    write_answers_to_anndata(labels, path, {"description": "earlier"})
    done = subprocess.run(
        [sys.executable, "-c", KILLED, labels, path, when], check=False, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    after = read(path)
    np.testing.assert_array_equal(after.X, before.X)
    # moves in HDF5 reach the disk together, those in Zarr one by one
    as_it_was = when == "written" or path.suffix == ".h5ad"
    assert ("bigtensor" in after.uns) == as_it_was
    if as_it_was:
        assert after.uns["bigtensor"]["description"] == "earlier"
        np.testing.assert_array_equal(after.obs["bigtensor_label"].cat.codes, answers[0])
    write_answers_to_anndata(labels, path, {"description": "again"}, overwrite=True)
    again = read(path)
    assert again.uns["bigtensor"]["description"] == "again"
    np.testing.assert_array_equal(again.obsm["X_bigtensor_proba"], answers[1])


def test_anndata__labels_of_many_components_get_wider_codes(tmp_path):
    store = write_labels(tmp_path / "l.zarr", probabilities=False)
    array = zarr.open_group(store)["label"]
    array[0], array[1] = 200, 128
    make(tmp_path / "a.h5ad")
    write_answers_to_anndata(store, tmp_path / "a.h5ad", MODEL)
    column = read(tmp_path / "a.h5ad").obs["bigtensor_label"]
    assert column.tolist()[:2] == ["200", "128"]
    assert len(column.cat.categories) == 201


def test_anndata__other_rows_or_features_are_refused(labels, tmp_path):
    path = tmp_path / "a.h5ad"
    make(path, rows=999)
    with pytest.raises(DataError, match=r"999 observations, .* 1,000 labels"):
        write_answers_to_anndata(labels, path, MODEL)
    data = make(path)
    data.var_names = ["CD3", "CD4", "CD20"]
    data.write_h5ad(path)
    with pytest.raises(DataError, match=r"does not have: \['CD19'\]"):
        write_answers_to_anndata(labels, path, MODEL)
    assert "bigtensor" not in read(path).uns


def test_anndata__something_else_is_refused(labels, tmp_path):
    with pytest.raises(FileFormatError, match="does not exist"):
        write_answers_to_anndata(labels, tmp_path / "none.h5ad", MODEL)
    (tmp_path / "a.h5ad").write_bytes(b"not HDF5 at all")
    with pytest.raises(FileFormatError, match="cannot be opened as AnnData"):
        write_answers_to_anndata(labels, tmp_path / "a.h5ad", MODEL)
    zarr.create_group(tmp_path / "b.zarr").create_array("X", shape=(2, 2), dtype="f4")
    with pytest.raises(FileFormatError, match="it has no data frame 'obs'"):
        write_answers_to_anndata(labels, tmp_path / "b.zarr", MODEL)


def test_anndata__damaged_names_are_refused_before_anything_is_written(labels, tmp_path):
    path = tmp_path / "cells2.zarr"
    make(path)
    chunk = max((path / "var" / "_index").rglob("0"))
    chunk.write_bytes(chunk.read_bytes()[:5])
    with pytest.raises(FileFormatError, match=r"cells2\.zarr cannot be read as AnnData"):
        write_answers_to_anndata(labels, path, MODEL)
    assert not (path / "uns" / "bigtensor").exists()


def test_anndata__a_file_that_is_open_here_is_refused(labels, tmp_path):
    make(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    with pytest.raises(OutputError, match="close it here and in other programs"):
        write_answers_to_anndata(labels, tmp_path / "a.h5ad", MODEL)
    backed.file.close()
    write_answers_to_anndata(labels, tmp_path / "a.h5ad", MODEL)


def test_anndata__a_file_that_another_program_writes_is_refused(labels, tmp_path):
    make(tmp_path / "a.h5ad")
    code = "import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "a.h5ad"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        other.stdout.readline()
        with pytest.raises(OutputError, match="close it here and in other programs"):
            write_answers_to_anndata(labels, tmp_path / "a.h5ad", MODEL)
        other.stdin.close()
    write_answers_to_anndata(labels, tmp_path / "a.h5ad", MODEL)
