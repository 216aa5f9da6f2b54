"""Groups of rows: the same code for the same name, wherever and however they are stored."""

import pickle
from pathlib import Path
from typing import Any

import anndata
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray as xr

from bigtensor.data.opening import open_samples
from bigtensor.data.rows import row_groups
from bigtensor.data.rows.block_cutting import cut_blocks
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.row_sources import Columns, LazySource
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.errors import DataError, ParameterError, StoreReadError
from bigtensor.statistics.base import Pass
from tests.engine.sums import ColumnSums

ROWS = 50
VALUES = np.random.default_rng(3).normal(size=(ROWS, 2)).astype("float32")
DONORS = np.random.default_rng(4).choice(["ann", "bob", "cy"], ROWS)
CATEGORIES = ["cy", "ann", "bob"]
CODES = np.array([CATEGORIES.index(donor) for donor in DONORS], np.int32)


def names_of(samples: Samples, block_rows: int = 7) -> list[str | None]:
    """Return the name of the group of every row, as blocks show it."""
    assert samples.groups is not None
    found = []
    for source, offset in zip(samples.sources, samples.offsets, strict=True):
        stop = offset + source.rows
        if isinstance(source, LazySource):
            values, _, _, group = source.parts(0, source.rows)
            columns = Columns(np.asarray(values), group=np.asarray(group))
            blocks = cut_blocks(samples.views, iter([columns]), offset, stop, block_rows)
        else:
            blocks = samples.blocks([(offset, stop)], block_rows)
        for block in blocks:
            assert block.group.dtype == np.int32
            found += [
                None if code < 0 else samples.groups.names[code] for code in block.group.tolist()
            ]
    return found


def dataset(donor: Any, **attrs: Any) -> xr.Dataset:
    data = xr.Dataset({"X": (("sample", "feature"), VALUES)}, {"feature": ["a", "b"]})
    return data.assign(donor=("sample", donor, attrs))


def store(path: Path, donor: Any = CODES, categories: Any = CATEGORIES) -> str:
    variables = {"donor": "int32", "weight": "float64"}
    with SampleStoreWriter(path, ["a", "b"], row_variables=variables) as writer:
        writer.append(VALUES, donor=donor, weight=1.0)
        writer.set_categories("donor", categories)
    return str(path)


def foreign_store(path: Path, data: xr.Dataset) -> str:
    names = data["feature"].astype(object)
    data.assign_coords(feature=names).to_zarr(path, consolidated=False)
    return str(path)


def test_codes__of_a_store_have_the_names_of_their_categories(tmp_path: Path) -> None:
    samples = open_samples(store(tmp_path / "s.zarr"), groups="donor")
    assert samples.groups.variable == "donor"
    assert samples.groups.names == tuple(CATEGORIES)
    assert names_of(samples) == DONORS.tolist()
    assert names_of(pickle.loads(pickle.dumps(samples))) == DONORS.tolist()
    assert names_of(samples.with_views(samples.views)) == DONORS.tolist()


def test_codes__of_several_stores_are_unified_by_name(tmp_path: Path) -> None:
    others = ["bob", "dan"]
    code = np.arange(ROWS) % 2
    parts = [store(tmp_path / "a.zarr"), store(tmp_path / "b.zarr", code, others)]
    samples = open_samples(parts, groups="donor")
    assert samples.groups.names == ("cy", "ann", "bob", "dan")
    assert names_of(samples) == [*DONORS.tolist(), *[others[c] for c in code]]


@pytest.mark.parametrize("kind", ["store", "dataset", "lazy"])
def test_codes__without_a_category_are_no_group(tmp_path: Path, kind: str) -> None:
    codes = CODES.copy()
    codes[:5] = [-1, 3, 9, -7, 2]
    data = dataset(codes, categories=CATEGORIES)
    given = {"store": store(tmp_path / "s.zarr", codes), "dataset": data, "lazy": data.chunk()}
    samples = open_samples(given[kind], groups="donor")
    assert names_of(samples)[:6] == [None, None, None, None, "bob", DONORS[5]]


NAMES = {
    "fixed strings": (DONORS, DONORS),
    "objects": (DONORS.astype(object), DONORS),
    "bytes": (DONORS.astype("S3"), DONORS),
    "integers": (CODES.astype("int64"), CODES.astype(str)),
    "unsigned": (CODES.astype("uint8"), CODES.astype(str)),
    "floats": (CODES + 0.5, (CODES + 0.5).astype(str)),
    "whole floats": (CODES.astype("float32"), CODES.astype(str)),
    "booleans": (CODES > 0, (CODES > 0).astype(str)),
}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (values, kind)
        for values in NAMES
        for kind in ("store", "dataset", "lazy", "coordinate", "array")
        # Zarr v3 has no specified type for strings of a fixed length
        if kind != "store" or values not in ("fixed strings", "bytes")
    ],
)
def test_names__are_found_in_the_variable(
    tmp_path: Path, values: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_groups, "_STEP", 13)
    stored, expected = NAMES[values]
    data = dataset(stored)
    if kind == "store":
        samples = open_samples(foreign_store(tmp_path / "s.zarr", data), groups="donor")
    elif kind == "lazy":
        samples = open_samples(data.chunk(sample=20), groups="donor")
    elif kind == "coordinate":
        samples = open_samples(data.set_coords("donor")["X"], groups="donor")
    elif kind == "array":
        samples = open_samples(VALUES, groups=stored)
        assert samples.groups.variable == "group"
    else:
        samples = open_samples(data, groups="donor")
    assert names_of(samples) == expected.tolist()
    assert list(samples.groups.names) == sorted(set(expected.tolist()))


def test_names__numbers_are_in_their_order_and_meet_those_of_other_types() -> None:
    parts = [dataset(np.arange(ROWS) % 12), dataset((np.arange(ROWS) % 12).astype(float))]
    samples = open_samples(parts, groups="donor")
    assert samples.groups.names == tuple(map(str, range(12)))
    assert names_of(samples) == 2 * [str(row % 12) for row in range(ROWS)]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, "", b"", -1, -1.0])
def test_names__missing_ones_are_no_group(missing: Any) -> None:
    donor = DONORS.astype(object)
    donor[3] = missing
    found = names_of(open_samples(dataset(donor), groups="donor"))
    assert found[3] is None
    assert found[:3] + found[4:] == [*DONORS[:3], *DONORS[4:]]


@pytest.mark.parametrize("missing", [np.nan, -1.0])
def test_names__missing_numbers_are_no_group(missing: float) -> None:
    donor = CODES.astype(float)
    donor[7] = missing
    assert names_of(open_samples(dataset(donor), groups="donor"))[7] is None


def test_names__negative_measures_are_names() -> None:
    doses = np.where(CODES == 0, -1.5, 0.5)
    names = open_samples(dataset(doses), groups="donor").groups.names
    assert names == ("-1.5", "0.5")


def test_array__of_groups_goes_with_anything_in_memory() -> None:
    series = pd.Series(pd.Categorical(DONORS), name="donor")
    frame = pd.DataFrame(VALUES, columns=["a", "b"])
    for data in (VALUES, frame, dataset(CODES)["X"], da.from_array(VALUES, chunks=(20, -1))):
        samples = open_samples(data, groups=series)
        assert samples.groups.variable == "donor"
        assert names_of(samples) == DONORS.tolist()
    coded = xr.DataArray(CODES, dims=["sample"], attrs={"categories": CATEGORIES})
    assert names_of(open_samples([VALUES[:20], VALUES[20:]], groups=coded)) == DONORS.tolist()


@pytest.mark.parametrize("kind", ["array", "store", "data set", "lazy"])
def test_groups__are_shown_beside_sequences(tmp_path: Path, kind: str) -> None:
    sequence = np.arange(ROWS) // 8
    data: Any = dataset(DONORS).assign(sequence=("sample", sequence))
    if kind == "lazy":
        data = data.chunk({"sample": 9})
    elif kind == "store":
        data = str(tmp_path / "both.zarr")
        with SampleStoreWriter(
            data, ["a", "b"], row_variables={"donor": "int32", "sequence": "int64"}
        ) as writer:
            writer.append(VALUES, donor=CODES, sequence=sequence)
            writer.set_categories("donor", CATEGORIES)
    samples = open_samples(
        VALUES if kind == "array" else data, groups="donor" if kind != "array" else DONORS
    )
    seen: dict[str, list[Any]] = {"sequence": [], "group": []}

    class Seen(ColumnSums):
        def update(self, state: Any, block: Any, work: Any) -> None:
            seen["group"] += [samples.groups.names[code] for code in block.group]
            seen["sequence"] += [None] if block.sequence is None else block.sequence.tolist()
            super().update(state, block, work)

    run_pass(samples, Pass("p", Seen(2)), ThreadedRuntime(1))
    assert seen["group"] == DONORS.tolist()
    assert seen["sequence"] == ([None] if kind == "array" else sequence.tolist())


def test_groups__keep_weights_and_change_the_fingerprint(tmp_path: Path) -> None:
    paths = [store(tmp_path / "a.zarr"), store(tmp_path / "b.zarr", CODES, ["x", "y", "z"])]
    samples = open_samples(paths[0], groups="donor")
    (block,) = samples.blocks([(0, ROWS)], ROWS)
    np.testing.assert_array_equal(block.weight, np.ones(ROWS))
    second = open_samples(paths, groups="donor").sources[1]
    assert second.fingerprint() != open_samples(paths[1], groups="donor").sources[0].fingerprint()
    assert second.fingerprint() == open_samples(paths, groups="donor").sources[1].fingerprint()


def test_unknown_variable__is_answered_by_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'patient' along 'sample'; .* donor"):
        open_samples(store(tmp_path / "s.zarr"), groups="patient")
    with pytest.raises(DataError, match="there are donor"):
        open_samples([dataset(DONORS), dataset(DONORS)], groups="X")
    with pytest.raises(DataError, match=r"there are none.*array"):
        open_samples(VALUES, groups="donor")
    without = dataset(DONORS).drop_vars("donor")
    with pytest.raises(DataError, match="has no variable 'donor'"):
        open_samples([dataset(DONORS), without], groups="donor")


@pytest.mark.parametrize(
    ("donor", "message"),
    [
        (np.arange(ROWS).astype("datetime64[ns]"), "datetime64"),
        (np.full(ROWS, np.nan), "no row"),
        (np.full(ROWS, -1), "no row"),
        (np.array([()] * ROWS + [None], object)[:ROWS], "no names"),
    ],
)
def test_variable__that_names_no_groups_is_refused(donor: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        open_samples(dataset(donor), groups="donor")


def test_variable__that_is_a_measurement_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_groups, "MOST_GROUPS", 20)
    with pytest.raises(DataError, match="more than 20 different values"):
        open_samples(dataset(VALUES[:, 0]), groups="donor")


def test_array__of_another_length_or_for_a_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"shape \(49,\); expected \(50,\)"):
        open_samples(VALUES, groups=DONORS[:-1])
    with pytest.raises(DataError, match="goes with data in memory"):
        open_samples(store(tmp_path / "s.zarr"), groups=DONORS)


def test_array__goes_with_sparse_rows() -> None:
    adata = anndata.AnnData(scipy.sparse.csr_matrix(VALUES))
    samples = open_samples(adata, groups=DONORS)
    expected = open_samples(VALUES, groups=DONORS)
    assert samples.groups == expected.groups
    codes = [
        np.concatenate([block.group for block in each.blocks([(0, len(VALUES))], 20)])
        for each in (samples, expected)
    ]
    np.testing.assert_array_equal(*codes)


def test_variable__that_is_stored_with_a_scale_is_refused(tmp_path: Path) -> None:
    data = dataset(CODES.astype(float))
    data["donor"].encoding = {"dtype": "int16", "scale_factor": 0.5, "_FillValue": -9}
    path = foreign_store(tmp_path / "s.zarr", data)
    with pytest.raises(DataError, match="stored as int16"):
        open_samples(path, groups="donor")


def scaled_store(path: Path, **attrs: Any) -> Path:
    """Write a store whose values xarray has to decode, with the donors beside them."""
    data = xr.Dataset(
        {"X": (("sample", "feature"), VALUES), "donor": ("sample", CODES, attrs)},
    )
    encoding = {"X": {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -9999}}
    data.to_zarr(path, encoding=encoding, zarr_format=3, consolidated=False)
    return path


def test_codes__of_a_damaged_chunk_name_the_variable_and_the_store(tmp_path: Path) -> None:
    path = scaled_store(tmp_path / "x.zarr", categories=CATEGORIES)
    (path / "donor" / "c" / "0").write_bytes(b"damaged")
    with pytest.raises(StoreReadError, match=r"'donor' of .* cannot be read"):
        open_samples(path, groups="donor")


def test_categories__that_are_no_list_are_refused(tmp_path: Path) -> None:
    path = scaled_store(tmp_path / "x.zarr", categories=5)
    with pytest.raises(DataError, match=r"the categories of 'donor' of .* are 5"):
        open_samples(path, groups="donor")
