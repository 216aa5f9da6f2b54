"""Stores of this package: arrays with checksums, and a manifest that tells what is gone."""

import warnings
from collections.abc import Callable
from pathlib import Path

import fsspec
import numpy as np
import pytest
import xarray as xr
import zarr
from zarr.codecs import Crc32cCodec

from bigtensor import simulate
from bigtensor.data.opening import open_samples
from bigtensor.data.stores import layout
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.data.stores.manifest import MANIFEST, check_manifest, seal
from bigtensor.data.stores.stored_arrays import create_array
from bigtensor.errors import ParameterError, StoreReadError
from bigtensor.store import Contents, write_group


def own_store(path: Path, rows: int = 60) -> Path:
    codes = {"sample_id": ("int32", {"categories": ["p"]})}
    attrs = {"transform": {"name": "arcsinh"}}
    with SampleStoreWriter(path, ["a", "b"], row_variables=codes, attrs=attrs) as store:
        store.append(np.ones((rows, 2)), sample_id=0)
    return path


def cytometry_store(path: Path) -> Path:
    record = {"name": "arcsinh", "untransformed": ["FSC-A", "Time"]}
    with SampleStoreWriter(path, ["FSC-A", "CD3", "Time"], attrs={"transform": record}) as store:
        store.append(np.ones((60, 3)))
    return path


def unsealed(path: Path) -> Path:
    """Make a store one that was written before there were manifests."""
    group = zarr.open_group(path)
    del group[MANIFEST]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(group.store)
    return path


def missing_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "_SHARD_BYTES", 2**15)
    monkeypatch.setattr(layout, "_CHUNK_BYTES", 2**14)
    variables = {"label": "int32", "weight": "float64", "flag": "uint8"}
    with SampleStoreWriter(path, ["", "b"], row_variables=variables, keep_raw=True) as store:
        nothing = np.full((10_000, 2), np.nan)
        store.append(nothing, raw=nothing, label=-1, weight=np.nan, flag=0)


STORES: dict[str, Callable[[Path, pytest.MonkeyPatch], object]] = {
    "samples": missing_rows,
    "simulated": lambda path, _: simulate.write_cytometry(path, 2000, random_state=0),
    "model": lambda path, _: write_group(
        path, Contents("Thing", {}, {"zeros": np.zeros((3, 2)), "none": np.empty((0, 2))})
    ),
}


@pytest.mark.parametrize("kind", STORES)
def test_arrays__end_with_a_checksum_and_are_written_whole(tmp_path, monkeypatch, kind):
    STORES[kind](tmp_path / "a.zarr", monkeypatch)
    arrays = dict(zarr.open_group(tmp_path / "a.zarr", mode="r").arrays())
    manifest = zarr.open_group(tmp_path / "a.zarr" / MANIFEST, mode="r").attrs["manifest"]
    assert set(arrays) == set(manifest["arrays"])
    for name, array in arrays.items():
        assert isinstance(array.compressors[-1], Crc32cCodec), name
        files = [file for file in (tmp_path / "a.zarr" / name).rglob("*") if file.is_file()]
        edges = array.shards or array.chunks
        counts = [-(-length // edge) for length, edge in zip(array.shape, edges, strict=True)]
        assert len(files) - 1 == np.prod(counts, dtype=int), name
        assert manifest["arrays"][name]["files"] == len(files) - 1


def test_last_shard__is_not_filled_up(tmp_path):
    """Inner chunks behind the last row would be written too, if the shard were written whole."""
    rows = layout.shard_rows(2) + 10
    own_store(tmp_path / "a.zarr", rows)
    whole, rest = (tmp_path / "a.zarr" / "X" / "c" / str(shard) / "0" for shard in range(2))
    assert rest.stat().st_size < whole.stat().st_size / 4


def test_store__that_was_written_before_is_read(tmp_path):
    assert open_samples(unsealed(own_store(tmp_path / "a.zarr"))).rows == 60


def test_copy__that_xarray_makes_has_no_manifest(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = xr.open_zarr(own_store(tmp_path / "a.zarr"))
        data.drop_encoding().chunk({"sample": 7}).to_zarr(tmp_path / "b.zarr")
        data.isel(sample=slice(5)).to_zarr(tmp_path / "c.zarr")
    assert data.attrs.keys() == {"bigtensor_layout", "transform"}
    assert open_samples(tmp_path / "b.zarr").rows == 60
    assert open_samples(tmp_path / "c.zarr").rows == 5


def test_additions__are_passed_over(tmp_path):
    group = zarr.open_group(own_store(tmp_path / "a.zarr"), use_consolidated=False)
    group.attrs["note"] = "mine"
    weight = group.create_array("weight", data=np.ones(60), dimension_names=("sample",))
    weight.attrs["note"] = "mine"
    check_manifest(tmp_path / "a.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(group.store)
    assert open_samples(tmp_path / "a.zarr").has_weight


CHANGES = {
    "its attribute 'transform'": lambda group: group.attrs.update(transform={"name": "none"}),
    "the metadata of the array 'X'": lambda group: group["X"].attrs.update(unit="m"),
    "the array 'sample_id' or its": lambda group: group.__delitem__("sample_id"),
    "its manifest": lambda group: group[MANIFEST].attrs.update(digest="none"),
}


@pytest.mark.parametrize("words", CHANGES)
@pytest.mark.parametrize("renewed", [True, False])
def test_change__is_refused_until_it_is_accepted(tmp_path, words, renewed):
    path = own_store(tmp_path / "a.zarr")
    group = zarr.open_group(path, use_consolidated=False)
    CHANGES[words](group)
    if renewed:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zarr.consolidate_metadata(group.store)
    with pytest.raises(StoreReadError, match=rf"a\.zarr is damaged: {words}"):
        open_samples(path)
    seal(path)
    assert open_samples(path).rows == 60


def with_added_variable(path: Path) -> Path:
    """Add a variable in a way of xarray that erases the attributes of the store."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xr.Dataset({"gate": ("sample", np.zeros(60))}).to_zarr(path, mode="a")
    return path


def test_lost_attributes__are_refused_by_name_until_they_are_restored(tmp_path):
    path = with_added_variable(cytometry_store(tmp_path / "a.zarr"))
    for attempt in (open_samples, seal):
        with pytest.raises(StoreReadError, match=r"\['bigtensor_layout', 'transform'\] are absent"):
            attempt(path)
    seal(path, lost="restore")
    samples = open_samples(path)
    assert samples.untransformed == ("FSC-A", "Time")
    assert "gate" in xr.open_zarr(path)


def test_lost_attributes__of_an_array_are_refused_too(tmp_path):
    path = own_store(tmp_path / "a.zarr")
    del zarr.open_group(path, use_consolidated=False)["sample_id"].attrs["categories"]
    with pytest.raises(StoreReadError, match=r"\['sample_id/categories'\] are absent"):
        seal(path)
    seal(path, lost="restore")
    assert zarr.open_group(path)["sample_id"].attrs["categories"] == ["p"]


def test_lost_attributes__are_dropped_on_request(tmp_path):
    path = with_added_variable(cytometry_store(tmp_path / "a.zarr"))
    seal(path, lost="drop")
    assert open_samples(path).untransformed is None
    with_added_variable(path)
    seal(path)


def test_lost_attributes__without_recorded_values_are_refused(tmp_path):
    path = cytometry_store(tmp_path / "a.zarr")
    del zarr.open_group(path, use_consolidated=False)[MANIFEST].attrs["values"]
    with_added_variable(path)
    for lost in ("raise", "restore"):
        with pytest.raises(StoreReadError, match="'transform'"):
            seal(path, lost=lost)


def test_seal__refuses_an_unknown_treatment_of_lost_attributes(tmp_path):
    with pytest.raises(ParameterError, match="lost='raise' or 'restore' or 'drop'"):
        seal(own_store(tmp_path / "a.zarr"), lost="ignore")


def test_url__is_checked_too(tmp_path):
    path = own_store(tmp_path / "a.zarr")
    memory = fsspec.filesystem("memory")
    for file in path.rglob("*"):
        if file.is_file():
            memory.pipe_file(f"/manifest.zarr/{file.relative_to(path)}", file.read_bytes())
    assert open_samples("memory://manifest.zarr").rows == 60
    memory.rm("/manifest.zarr/feature/c/0")
    with pytest.raises(StoreReadError, match="feature/c/0, with rows 0 to 1"):
        open_samples("memory://manifest.zarr")


def test_create_array__fill_values_are_no_data(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    fills = {
        dtype: create_array(group, str(dtype), shape=(2,), dtype=dtype).fill_value
        for dtype in ("float32", "int16", "uint8", "bool", "string")
    }
    assert np.isnan(fills.pop("float32"))
    assert fills == {"int16": -1, "uint8": 0, "bool": False, "string": ""}
