"""Rows that meet a condition are read as those of data that hold nothing else."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bigtensor.data.opening import open_samples
from bigtensor.data.rows import rows_where
from bigtensor.data.rows.row_sequences import names_of_sequences
from bigtensor.data.rows.rows_where import RowsWhere
from bigtensor.data.rows.samples import Samples
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.engine.ranges import pass_parts
from bigtensor.errors import ConditionError, DataChangedError, DataError, ParameterError

ROWS = 3_000
RANDOM = np.random.default_rng(11)
VALUES = RANDOM.normal(size=(ROWS, 3)).astype("float32")
CODES = np.repeat(np.arange(3, dtype=np.int32), ROWS // 3)
WEIGHT = RANDOM.uniform(0.5, 2, ROWS)
SEQUENCE = np.repeat(np.arange(ROWS // 10), 10)
NAMES = ["ann", "bob", "cy"]
CONDITION = "`b-A` > 0.2 and sample_id != 'ann'"
KEPT = (VALUES[:, 1] > np.float32(0.2)) & (CODES != 0)


def dataset(rows: Any = slice(None)) -> xr.Dataset:
    along = {
        "sample_id": ("sample", CODES[rows], {"categories": NAMES}),
        "weight": ("sample", WEIGHT[rows]),
        "sequence": ("sample", SEQUENCE[rows]),
        "day": ("sample", np.array(["mon", "tue", "wed"])[CODES[rows]]),
    }
    values = ("sample", "feature"), VALUES[rows]
    return xr.Dataset({"X": values, **along}, {"feature": ["a", "b-A", "c"]})


def written(path: Path, rows: Any = slice(None)) -> str:
    variables = {"weight": "float64", "sequence": "int64"}
    sample_id = ("int32", {"categories": NAMES})
    with SampleStoreWriter(
        path, ["a", "b-A", "c"], row_variables={**variables, "sample_id": sample_id}
    ) as store:
        store.append(
            VALUES[rows], weight=WEIGHT[rows], sequence=SEQUENCE[rows], sample_id=CODES[rows]
        )
    return str(path)


def in_anndata(rows: Any = slice(None)) -> anndata.AnnData:
    obs = pd.DataFrame({"sample_id": pd.Categorical.from_codes(CODES[rows], NAMES)})
    obs.index = obs.index.astype(str)
    return anndata.AnnData(VALUES[rows], obs=obs, var=pd.DataFrame(index=["a", "b-A", "c"]))


@pytest.fixture
def store(tmp_path: Path) -> str:
    return written(tmp_path / "cells.zarr")


def h5ad(folder: Path) -> str:
    in_anndata().write_h5ad(folder / "cells.h5ad")
    return str(folder / "cells.h5ad")


def foreign(folder: Path) -> str:
    # rows of other chunks than this package writes, and names that are no codes
    dataset().drop_vars("sequence").to_zarr(
        folder / "foreign.zarr", zarr_format=2, encoding={"X": {"chunks": (70, 2)}}
    )
    return str(folder / "foreign.zarr")


DATA: dict[str, Callable[[Path], Any]] = {
    "store": lambda folder: written(folder / "cells.zarr"),
    "foreign": foreign,
    "xarray": lambda _: dataset(),
    "anndata": lambda _: in_anndata(),
    "h5ad": h5ad,
}


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows have several windows."""
    monkeypatch.setattr(rows_where, "WINDOW_ROWS", 128)
    monkeypatch.setattr(rows_where, "READ_NBYTES", 4096)


def values_of(samples: Samples) -> NDArray[Any]:
    return np.concatenate(
        [block.values for block in samples.blocks([(0, samples.rows)], 100)], axis=0
    )


@pytest.mark.parametrize("kind", DATA)
def test_rows__are_those_that_meet_the_condition(kind: str, tmp_path: Path) -> None:
    samples = open_samples(DATA[kind](tmp_path), where=CONDITION)
    samples = pickle.loads(pickle.dumps(samples))
    assert samples.rows == KEPT.sum()
    np.testing.assert_array_equal(values_of(samples), VALUES[KEPT])
    np.testing.assert_array_equal(samples.rows_of_sources(0, samples.rows), np.flatnonzero(KEPT))


@given(ends=st.tuples(st.integers(0, int(KEPT.sum())), st.integers(0, int(KEPT.sum()))))
def test_range__is_that_of_the_kept_rows(ends: tuple[int, int]) -> None:
    (source,) = open_samples(dataset(), where=CONDITION).sources
    assert isinstance(source, RowsWhere)
    start, stop = sorted(ends)
    columns = source.read(start, stop)
    np.testing.assert_array_equal(columns.values, VALUES[KEPT][start:stop])
    np.testing.assert_array_equal(columns.weight, WEIGHT[KEPT][start:stop])
    np.testing.assert_array_equal(source.read_weight(start, stop), WEIGHT[KEPT][start:stop])
    np.testing.assert_array_equal(source.read_sequence(start, stop), SEQUENCE[KEPT][start:stop])
    rows = np.flatnonzero(KEPT)
    np.testing.assert_array_equal(source.source_rows(start, stop), rows[start:stop])
    assert source.cuts(start, stop, 2000)[::-1][0] == stop


@given(row=st.integers(0, ROWS))
def test_rows_before__are_counted_within_windows(row: int) -> None:
    samples = open_samples(dataset(), where=CONDITION)
    assert samples.kept_before(row) == KEPT[:row].sum()


def test_tasks__are_those_of_a_store_of_the_kept_rows(store: str, tmp_path: Path) -> None:
    alone = open_samples(written(tmp_path / "kept.zarr", KEPT))
    assert pass_parts(open_samples(store, where=CONDITION)) == pass_parts(alone)


def test_condition_on_variables_alone__reads_no_values(store: str) -> None:
    (source,) = open_samples(store, where="sample_id == 'bob'").sources
    assert isinstance(source, RowsWhere)
    assert not source.where.features
    assert source.rows == ROWS // 3


def test_data_sets__have_conditions_of_their_own_categories() -> None:
    other = dataset(slice(500)).assign(sample_id=("sample", CODES[1000:1500] - 1))
    other.sample_id.attrs["categories"] = ["bob"]
    samples = open_samples([dataset(), other], where="sample_id == 'bob'")
    assert samples.rows == ROWS // 3 + 500
    expected = [*range(1000, 2000), *range(ROWS, ROWS + 500)]
    np.testing.assert_array_equal(samples.rows_of_sources(0, samples.rows), expected)
    assert samples.kept_before(ROWS + 10) == 1010


def test_data_set_without_kept_rows__keeps_its_place() -> None:
    few = open_samples([dataset(slice(1000)), dataset()], where="sample_id == 'cy'")
    assert few.rows == 1000
    assert few.source_rows == 1000 + ROWS
    np.testing.assert_array_equal(values_of_all(few), VALUES[2000:])
    np.testing.assert_array_equal(few.rows_of_sources(0, 1000), np.arange(3000, 4000))


def values_of_all(samples: Samples) -> NDArray[Any]:
    parts = [part for ranges in pass_parts(samples) for part in ranges]
    return np.concatenate([block.values for block in samples.blocks(parts, 100)])


def test_shares__are_counted_by_sample(store: str) -> None:
    shares = open_samples(store, where=CONDITION).shares
    assert shares is not None
    assert (shares.rows, shares.kept) == (ROWS, KEPT.sum())
    assert shares.rows_by == dict.fromkeys(NAMES, 1000)
    kept = {name: int(KEPT[code == CODES].sum()) for code, name in enumerate(NAMES)}
    assert shares.kept_by == kept


def test_groups_and_views__come_before_or_after(store: str) -> None:
    before = open_samples(store, {"v": ["c"]}, groups="sample_id", where=CONDITION)
    selected = open_samples(store, where=CONDITION)
    after = open_samples(selected, {"v": ["c"]}, groups="sample_id")
    for samples in (before, after):
        (block,) = samples.blocks([(0, samples.rows)], samples.rows)
        np.testing.assert_array_equal(block.values[:, 0], VALUES[KEPT, 2])
        np.testing.assert_array_equal(block.group, CODES[KEPT])


def test_fingerprint__tells_conditions_and_variables_apart(store: str) -> None:
    same = [open_samples(store, where=CONDITION).fingerprint() for _ in range(2)]
    others = [
        open_samples(store).fingerprint(),
        open_samples(store, where="`b-A` > 0.3 and sample_id != 'ann'").fingerprint(),
    ]
    assert len({*same, *others}) == 3


def test_changed_rows__are_an_error() -> None:
    values = VALUES.copy()
    data = xr.DataArray(values, dims=("sample", "feature"), coords={"feature": ["a", "b", "c"]})
    samples = open_samples(data, where="a > 0")
    data[:, 0] = 1.0
    with pytest.raises(DataChangedError, match="a > 0"):
        samples.sources[0].read(0, 5)


def test_missing_values__meet_no_comparison() -> None:
    values = np.array([[1.0, np.nan, 3.0, np.inf]]).T
    data = xr.DataArray(values, dims=("sample", "feature"), coords={"feature": ["a"]})
    assert open_samples(data, where="a != 1").rows == 2
    assert open_samples(data, where="a > 1").rows == 2
    assert open_samples(data, where="not a > 1").rows == 2


def test_named_categories_of_features__are_compared_by_name() -> None:
    frame = pd.DataFrame({"colour": ["red", "blue", "red", None], "size": ["s", "m", "s", "s"]})
    assert open_samples(frame, where="colour == 'red'").rows == 2
    assert open_samples(frame, where="colour != 'red'").rows == 1
    assert open_samples(frame, where="size in ['s', 'm']").rows == 4


@pytest.mark.parametrize(
    ("data", "where", "kind", "hint"),
    [
        (dataset(), "a > 100", DataError, "no row"),
        (dataset(), "d > 1", ConditionError, "neither"),
        (da.from_array(VALUES, chunks=(1000, 3)), "a > 1", DataError, "compute_chunk_sizes"),
        (scipy.sparse.csr_array(VALUES), "a > 1", DataError, "sparse"),
        (dataset(), 3, ParameterError, "text"),
    ],
)
def test_what_cannot_be_selected__is_refused(
    data: Any, where: Any, kind: type[Exception], hint: str
) -> None:
    with pytest.raises(kind, match=hint):
        open_samples(data, where=where)


def test_names_of_sequences__are_those_of_all_rows(store: str) -> None:
    samples = open_samples(store, sequence="sample_id", where="sample_id == 'bob'")
    assert names_of_sequences(samples) == tuple(NAMES)


def test_second_condition_and_new_sequences__are_refused() -> None:
    samples = open_samples(dataset(), where=CONDITION)
    with pytest.raises(DataError, match="one where"):
        open_samples(samples, where="a > 0")
    with pytest.raises(ParameterError, match="sequence"):
        open_samples(samples, sequence="sample_id")


@pytest.mark.parametrize(
    ("where", "gap"),
    [("sequence >= 7", None), ("a > 0", int(np.flatnonzero(VALUES[:, 0] <= 0)[0])), (None, None)],
)
def test_row_left_out_inside_a_sequence__is_known(where: str | None, gap: int | None) -> None:
    if where is None:
        # the ends of sequences may be left out
        data = dataset().assign(step=("sample", np.arange(ROWS) % 10))
        (source,) = open_samples(data, where="2 <= step < 9").sources
    else:
        (source,) = open_samples(dataset(), where=where).sources
    assert isinstance(source, RowsWhere)
    if gap is None:
        assert source.gap is None
    else:
        assert source.gap is not None
        assert not VALUES[source.gap, 0] > 0
        assert SEQUENCE[source.gap - 1] == SEQUENCE[source.gap]


def test_gap_between_stretches__is_a_gap() -> None:
    data = dataset().drop_vars("sequence").assign(row=("sample", np.arange(ROWS)))
    (source,) = open_samples(data, where="row < 5 or row > 2990").sources
    assert isinstance(source, RowsWhere)
    assert source.gap == 5
