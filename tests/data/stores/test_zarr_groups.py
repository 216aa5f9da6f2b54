"""Stores of others: those that run code or make no sense are refused before anything is decoded."""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

import bigtensor
from bigtensor.data.exporters.anndata import write_answers_to_anndata
from bigtensor.data.exporters.labels import open_labels
from bigtensor.data.exporters.sample_rows import rows_of_samples
from bigtensor.data.importers.anndata import open_anndata
from bigtensor.data.opening import open_samples
from bigtensor.data.sources.row_sources import ZarrSource
from bigtensor.data.stores.zarr_datasets import open_dataset
from bigtensor.data.stores.zarr_groups import open_group
from bigtensor.errors import BigtensorError, StoreReadError
from bigtensor.report.rows import _beside, _label_dataset
from bigtensor.store import Contents, read_group, write_group
from tests import unsafe_stores
from tests.data.exporters.conftest import write_labels


@pytest.fixture
def mark(tmp_path, monkeypatch) -> Iterator[Path]:
    """Yield the file that an attack makes; unpickling is as it was before numcodecs 0.16.6."""
    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True)
    # Zarr refuses to unpickle by itself since version 3.4
    with zarr.config.set({"array.allow_unsafe_pickle_decode": True}):
        yield tmp_path / "attacked"


def refuse(mark: Path, read: Any, *arguments: Any, **options: Any) -> None:
    """Read, and see that nothing has run."""
    with pytest.raises(BigtensorError, match="could run code"):
        read(*arguments, **options)
    assert not mark.exists()


@pytest.mark.parametrize("consolidated", [True, False])
def test_attack__on_samples(tmp_path, mark, consolidated):
    path = unsafe_stores.samples(tmp_path / "a.zarr", mark)
    if consolidated:
        unsafe_stores.consolidate(path)
    refuse(mark, open_samples, path)
    refuse(mark, _beside, path, "sample")
    refuse(mark, _label_dataset, path, "sample")
    refuse(mark, bigtensor.KernelMixture(n_components=2).fit, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # the attack would have worked
        with pytest.raises(Exception, match=r".*"):
            xr.open_zarr(path).load()
    assert mark.exists()


def test_attack__on_groups_of_rows(tmp_path, mark):
    path = unsafe_stores.samples(tmp_path / "a.zarr", mark, "donor")
    refuse(mark, open_samples, path, groups="donor")
    unsafe_stores.samples(tmp_path / "b.zarr", mark, "sample_id")
    attrs = {"categories": ["x"], "_ARRAY_DIMENSIONS": ["sample"]}
    attack = unsafe_stores.objects([], mark)
    unsafe_stores.write_array(tmp_path / "b.zarr" / "sample_id", (6,), attack, attrs=attrs)
    refuse(mark, rows_of_samples, tmp_path / "b.zarr", 6)


def test_attack__that_consolidated_metadata_hide(tmp_path, mark):
    """A task opens an array by its own metadata."""
    path = unsafe_stores.samples(tmp_path / "a.zarr", mark, "none")
    options = {"dtype": "<i4", "filters": (), "attrs": {"_ARRAY_DIMENSIONS": ["sample"]}}
    codes = np.zeros(6, "<i4").tobytes()
    unsafe_stores.write_array(path / "sequence", (6,), codes, **options)
    unsafe_stores.consolidate(path)
    unsafe_stores.write_array(path / "sequence", (6,), unsafe_stores.objects([], mark))
    source = open_samples(path).sources[0]
    assert isinstance(source, ZarrSource)
    assert source.sequence == "sequence"
    refuse(mark, source.read, 0, 6)


def test_attack__on_labels(tmp_path, mark):
    labels = unsafe_stores.as_attack(
        write_labels(tmp_path / "l.zarr"), tmp_path / "a.zarr", mark, only="label"
    )
    refuse(mark, open_labels, labels)


def test_attack__on_models_and_statistics(tmp_path, mark):
    made = write_group(tmp_path / "m.zarr", Contents("Thing", {}, {"a": np.ones(3)}))
    attack = unsafe_stores.as_attack(made, tmp_path / "a.zarr", mark)
    refuse(mark, read_group, attack)
    refuse(mark, bigtensor.load, attack)


def test_model__of_zarr_v2_is_none_of_ours(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.create_group(tmp_path / "m.zarr", zarr_format=2, attributes={"bigtensor_format": 2})
    with pytest.raises(BigtensorError, match="Zarr group of format 2, which"):
        read_group(tmp_path / "m.zarr")


def anndata_store(path: Path) -> Path:
    """Write an AnnData store of Zarr v2."""
    import anndata

    rows = write_labels(path.with_name("rows.zarr"))
    names = pd.DataFrame(index=[f"gene{j}" for j in range(3)])
    obs = pd.DataFrame(index=[f"cell{i}" for i in range(open_labels(rows).rows)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with anndata.settings.override(zarr_write_format=2):
            anndata.AnnData(np.ones((len(obs), 3), "f4"), obs=obs, var=names).write_zarr(path)
    (path / ".zmetadata").unlink(missing_ok=True)
    return path


@pytest.mark.parametrize("place", ["var/_index", "var/hidden/inside"])
def test_attack__on_anndata(tmp_path, mark, place):
    path = anndata_store(tmp_path / "a.zarr")
    attrs = {"encoding-type": "string-array", "encoding-version": "0.2.0"}
    attack = unsafe_stores.objects([], mark)
    unsafe_stores.write_array(path / place, (3,), attack, attrs=attrs)
    with pytest.raises(BigtensorError, match="could run code"):
        open_anndata(path)
    with pytest.raises(BigtensorError, match="could run code"):
        write_answers_to_anndata(tmp_path / "rows.zarr", path, {})
    assert not mark.exists()


def test_anndata__whose_index_lies_elsewhere_is_refused(tmp_path):
    path = anndata_store(tmp_path / "a.zarr")
    attrs = json.loads((path / "var" / ".zattrs").read_text())
    (path / "var" / ".zattrs").write_text(json.dumps(attrs | {"_index": "_index/0/inside"}))
    with pytest.raises(BigtensorError, match="is no column of it"):
        open_anndata(path)
    with pytest.raises(BigtensorError, match="is no column of it"):
        write_answers_to_anndata(tmp_path / "rows.zarr", path, {})


@pytest.mark.parametrize("codec", ["bytes", {"name": "numcodecs.pickle"}])
@pytest.mark.parametrize("inside", ["codecs", "shard", "consolidated"])
def test_codecs__of_zarr_v3_that_unpickle_are_refused(tmp_path, codec, inside):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("X", shape=(4, 2), chunks=(2, 2), shards=(4, 2), dtype="f4")
    if inside == "consolidated":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zarr.consolidate_metadata(group.store)
    path = tmp_path / "a.zarr" / ("zarr.json" if inside == "consolidated" else "X/zarr.json")
    root = json.loads(path.read_text())
    array = root["consolidated_metadata"]["metadata"]["X"] if inside == "consolidated" else root
    codecs = array["codecs"]
    (codecs[0]["configuration"]["codecs"] if inside == "shard" else codecs).append(codec)
    path.write_text(json.dumps(root))
    if codec == "bytes":
        with pytest.raises(StoreReadError, match="cannot be opened as a Zarr group"):
            open_group(tmp_path / "a.zarr")
    else:
        with pytest.raises(StoreReadError, match=r"'X' is .* codec 'numcodecs\.pickle"):
            open_group(tmp_path / "a.zarr")


@pytest.mark.parametrize("dtype", ["|O", "O", [["a", "<f4"], ["b", "|O"]]])
def test_objects__without_a_codec_for_strings_are_refused(tmp_path, dtype):
    unsafe_stores.write_group(tmp_path / "a.zarr")
    unsafe_stores.write_array(tmp_path / "a.zarr" / "names", (1,), b"", dtype=dtype, filters=())
    with pytest.raises(StoreReadError, match="'names' is stored with objects"):
        open_group(tmp_path / "a.zarr")


def test_fields__of_records_may_have_any_name(tmp_path):
    unsafe_stores.write_group(tmp_path / "a.zarr")
    fields = [["object_id", "<i4"], ["value", "<f4"]]
    unsafe_stores.write_array(tmp_path / "a.zarr" / "r", (1,), bytes(8), dtype=fields, filters=())
    assert open_group(tmp_path / "a.zarr")["r"].dtype.names == ("object_id", "value")


def test_strings__of_zarr_v2_still_open(tmp_path):
    data = xr.Dataset(
        {"X": (("sample", "feature"), np.ones((4, 2)))},
        {"feature": np.array(["a", "long name"], dtype=object)},
    )
    data.to_zarr(tmp_path / "a.zarr", zarr_format=2)
    document = json.loads((tmp_path / "a.zarr" / "feature" / ".zarray").read_text())
    assert document["dtype"] == "|O"
    assert document["filters"] == [{"id": "vlen-utf8"}]
    assert open_samples(tmp_path / "a.zarr").features == ("a", "long name")


NONSENSE = {
    "chunks of 0": lambda text: text.replace('"chunks": [6, 2]', '"chunks": [0, 2]'),
    "negative shape": lambda text: text.replace('"shape": [6, 2]', '"shape": [-6, 2]'),
    "chunks too few": lambda text: text.replace('"chunks": [6, 2]', '"chunks": [6]'),
    "no shape": lambda text: text.replace('"shape": [6, 2]', '"shape": "many"'),
    "not JSON": lambda _: "{",
    "no object": lambda _: "[1]",
    "no text": lambda _: "\x00\x01",
    "deep": lambda _: "[" * 100_000 + "]" * 100_000,
    "type": lambda text: text.replace('"<f4"', '"<q9"'),
}


@pytest.mark.parametrize("case", NONSENSE)
@pytest.mark.parametrize("opening", [open_samples, open_labels, open_group])
def test_nonsense__is_a_read_error_with_the_store(tmp_path, case, opening):
    path = unsafe_stores.samples(tmp_path / "a.zarr", tmp_path / "m", "none")
    document = path / "X" / ".zarray"
    document.write_text(NONSENSE[case](document.read_text()))
    with pytest.raises(StoreReadError, match=r"a\.zarr"):
        opening(path)


OTHER_NODE = '{"zarr_format": 3, "node_type": "x"}'


@pytest.mark.parametrize("content", ["{", "[" * 100_000, OTHER_NODE, "7"])
def test_nonsense__of_the_root_of_version_3(tmp_path, content):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "zarr.json").write_text(content)
    with pytest.raises(StoreReadError, match=r"a\.zarr"):
        open_group(tmp_path / "a.zarr")
    with pytest.raises(BigtensorError, match="holds no saved model"):
        read_group(tmp_path / "a.zarr")


def test_nonsense__of_chunks_of_version_3(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("X", shape=(4, 2), chunks=(2, 2), shards=(4, 2), dtype="f4")
    path = tmp_path / "a.zarr" / "X" / "zarr.json"
    text = path.read_text()
    compact = json.dumps(json.loads(text))
    for before in ('"chunk_shape": [4, 2]', '"chunk_shape": [2, 2]'):
        path.write_text(compact.replace(before, '"chunk_shape": [0, 2]'))
        with pytest.raises(StoreReadError, match=r"has chunks of \[0, 2\]"):
            open_dataset(str(tmp_path / "a.zarr"))


@pytest.mark.parametrize("attributes", [0, 1e308, "text", [], True])
@pytest.mark.parametrize("where", ["", "a/"])
def test_nonsense__of_attributes(tmp_path, attributes, where):
    path = tmp_path / "s.zarr"
    zarr.create_group(path).create_array("a", shape=(3, 2), dtype="f4")
    document = json.loads((path / f"{where}zarr.json").read_text()) | {"attributes": attributes}
    (path / f"{where}zarr.json").write_text(json.dumps(document))
    with pytest.raises(StoreReadError, match="attributes"):
        open_group(path)


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
@pytest.mark.parametrize("width", [2, 4, True])
def test_array__of_another_width_than_the_group_says_is_refused(tmp_path, width):
    path = tmp_path / "s.zarr"
    values = np.random.default_rng(0).normal(size=(20, 3))
    xr.Dataset({"X": (("sample", "feature"), values)}).to_zarr(path, consolidated=True)
    samples = open_samples(path)
    document = json.loads((path / "X/zarr.json").read_text())
    (path / "X/zarr.json").write_text(json.dumps(document | {"shape": [20, width]}))
    # the oldest Zarr refuses a width of True when it opens the array
    words = r"have the shape \(\d,\) in place of \(3,\)|has the shape \(20, True\)"
    with pytest.raises(StoreReadError, match=words):
        samples.sources[0].read(0, 20)
