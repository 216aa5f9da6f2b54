"""Samples: blocks hold the same rows however these are stored, cut and laid out."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bigtensor.data.opening import open_samples
from bigtensor.data.rows import samples as samples_module
from bigtensor.data.rows.block import Block
from bigtensor.data.rows.samples import Samples
from bigtensor.errors import DataError
from tests.engine.sums import write_store
from tests.parameters import few_examples

ROWS, FEATURES = 157, 5
VALUES = np.random.default_rng(7).normal(size=(ROWS, FEATURES)).astype("float32")
WEIGHT = np.random.default_rng(8).uniform(size=ROWS)
SEQUENCE = np.repeat(np.arange(10), 16)[:ROWS]
KINDS = ("array", "store", "transposed", "data set", "lazy")


def stored(folder: Path, kind: str, chunk: int, split: int) -> Any:
    """Return the rows in one of the ways in which they can be given."""
    variables = {"weight": WEIGHT, "sequence": SEQUENCE}
    if kind == "store":
        layout = {"chunks": (chunk, split), "variables": variables}
        return write_store(folder / "a.zarr", VALUES, **layout)
    if kind == "transposed":
        layout = {"chunks": (split, chunk), "variables": variables, "dims": ("feature", "sample")}
        return write_store(folder / "a.zarr", np.ascontiguousarray(VALUES.T), **layout)
    dataset = xr.Dataset(
        {
            "X": (("sample", "feature"), VALUES),
            "weight": ("sample", WEIGHT.astype("float32" if chunk % 2 else "float64")),
            "sequence": ("sample", SEQUENCE),
        }
    )
    return dataset.chunk({"sample": chunk}) if kind == "lazy" else dataset


@settings(
    max_examples=2 * few_examples(),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    kind=st.sampled_from(KINDS),
    chunk=st.integers(1, ROWS + 20),
    split=st.integers(1, FEATURES),
    ends=st.tuples(st.integers(0, ROWS - 1), st.integers(1, ROWS)),
    block_rows=st.integers(1, ROWS + 10),
    halo=st.integers(0, 9),
    read_nbytes=st.integers(1, 4000),
    order=st.permutations(range(FEATURES)),
    used=st.integers(1, FEATURES),
)
def test_blocks__are_slices_of_the_rows(
    tmp_path: Path,
    kind: str,
    chunk: int,
    split: int,
    ends: tuple[int, int],
    block_rows: int,
    halo: int,
    read_nbytes: int,
    order: list[int],
    used: int,
) -> None:
    start, stop = min(ends), max(ends)
    start = min(start, stop - 1)
    columns = order[:used]
    views = {"first": columns[:1]} | ({"rest": columns[1:]} if used > 1 else {})
    data = VALUES if kind == "array" else stored(tmp_path, kind, chunk, split)
    samples = open_samples(data, views, weight=WEIGHT if kind == "array" else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples_module, "READ_NBYTES", read_nbytes)
        for expected, block in zip(
            range(start, stop, block_rows),
            samples.blocks([(start, stop)], block_rows, halo),
            strict=True,
        ):
            rows = min(block_rows, stop - expected)
            shown = slice(expected, min(expected + rows + halo, ROWS))
            assert (block.start, block.rows) == (expected, rows)
            np.testing.assert_array_equal(block.values, VALUES[shown][:, columns])
            np.testing.assert_array_equal(block.view("first"), VALUES[shown][:, columns[:1]])
            np.testing.assert_array_equal(block.row_index(), np.arange(expected, expected + rows))
            assert block.weight is not None
            assert block.weight.dtype == np.float64
            np.testing.assert_allclose(block.weight, WEIGHT[shown], rtol=1e-7)
            if kind != "array":
                np.testing.assert_array_equal(block.sequence, SEQUENCE[shown])


def test_blocks__go_on_over_several_sources_and_end_with_each() -> None:
    samples = open_samples([VALUES[:40], VALUES[40:41], VALUES[41:]])
    assert samples.offsets == (0, 40, 41)
    block = next(iter(samples.blocks([(38, 40)], 10, halo=3)))
    np.testing.assert_array_equal(block.values, VALUES[38:40])
    assert next(iter(samples.blocks([(41, 44)], 10))).start == 41
    with pytest.raises(DataError, match=r"row 157 was .*; there are 157"):
        samples.locate(157)


def test_has_weight__counts_rows_without_a_weight_once(tmp_path: Path) -> None:
    layout = {"variables": {"weight": WEIGHT[:20]}}
    weighted = write_store(tmp_path / "w.zarr", VALUES[:20], **layout)
    plain = write_store(tmp_path / "p.zarr", VALUES[20:])
    samples = open_samples([weighted, plain])
    assert samples.has_weight
    assert next(iter(samples.blocks([(0, 20)], 20))).total_weight() == pytest.approx(
        WEIGHT[:20].sum()
    )
    assert next(iter(samples.blocks([(20, ROWS)], ROWS))).total_weight() == ROWS - 20


def test_block__keeps_chosen_rows_with_their_global_index() -> None:
    samples = open_samples(VALUES, weight=WEIGHT)
    block = next(iter(samples.blocks([(50, 90)], 40)))
    mask = VALUES[50:90, 0] > 0
    kept = block.keep(mask)
    np.testing.assert_array_equal(kept.values, VALUES[50:90][mask])
    np.testing.assert_array_equal(kept.row_index(), 50 + np.flatnonzero(mask))
    assert kept.total_weight() == pytest.approx(WEIGHT[50:90][mask].sum())
    again = kept.keep(np.arange(kept.rows) % 2 == 0)
    np.testing.assert_array_equal(again.row_index(), (50 + np.flatnonzero(mask))[::2])


def test_block__starts_windows_in_one_sequence_and_without_gaps() -> None:
    sequence = np.array([0, 0, 0, 0, 1, 0, 0, 0, 2, 2])
    block = Block(VALUES[:10], {"a": slice(0, FEATURES)}, 7, 8, sequence=sequence)
    assert np.flatnonzero(block.window_starts(1)).tolist() == [*range(8)]
    assert np.flatnonzero(block.window_starts(2)).tolist() == [0, 1, 2, 5, 6]
    assert np.flatnonzero(block.window_starts(3)).tolist() == [0, 1, 5]
    assert not block.window_starts(11).any()
    kept = block.keep(np.arange(10) != 6)
    assert (kept.rows, len(kept.values)) == (7, 9)
    assert kept.row_index().tolist() == [7, 8, 9, 10, 11, 12, 14]
    assert np.flatnonzero(kept.window_starts(2)).tolist() == [0, 1, 2]
    bare = replace(block, sequence=None)
    assert np.flatnonzero(bare.window_starts(4)).tolist() == [*range(7)]
    assert np.flatnonzero(bare.keep(np.arange(10) != 9).window_starts(3)).tolist() == [*range(7)]


@pytest.mark.parametrize("kind", KINDS)
def test_fingerprint__changes_with_a_value_a_weight_or_a_name(tmp_path: Path, kind: str) -> None:
    def opened(values: np.ndarray, weight: np.ndarray, name: str) -> Samples:
        names = [name, *"bcde"]
        dataset = xr.Dataset(
            {"X": (("sample", "feature"), values), "weight": ("sample", weight)},
            {"feature": names},
        )
        if kind == "array":
            return open_samples(values, weight=weight)
        if kind in ("store", "transposed"):
            path = write_store(
                tmp_path / "f.zarr",
                values if kind == "store" else np.ascontiguousarray(values.T),
                variables={"weight": weight},
                dims=("sample", "feature") if kind == "store" else ("feature", "sample"),
            )
            return open_samples(path)
        return open_samples(dataset.chunk({"sample": 50}) if kind == "lazy" else dataset)

    other = VALUES.copy()
    other[150, 4] += 1
    heavier = WEIGHT.copy()
    heavier[3] += 1
    prints = {
        opened(VALUES, WEIGHT, "a").fingerprint(),
        opened(other, WEIGHT, "a").fingerprint(),
        opened(VALUES, heavier, "a").fingerprint(),
    }
    assert len(prints) == 3
    if kind not in ("store", "transposed"):
        assert opened(VALUES, WEIGHT, "a").fingerprint() in prints
    if kind in ("data set", "lazy"):
        assert opened(VALUES, WEIGHT, "z").fingerprint() not in prints


def test_fingerprint__of_a_store_stays_until_it_is_written(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s.zarr", VALUES, chunks=(50, FEATURES))
    samples = open_samples(path)
    assert samples.stamp() == open_samples(path).stamp()
    assert samples.fingerprint() == open_samples(path).fingerprint()
    before = samples.stamp()
    zarr.open_group(path)["X"][10, 0] = 3.0
    assert samples.stamp() != before


def test_without_lazy_rows__leaves_the_graph_behind() -> None:
    lazy = open_samples(da.from_array(VALUES, chunks=(20, FEATURES)))
    assert lazy.without_lazy_rows().sources == ()
    assert lazy.without_lazy_rows().views == lazy.views
    in_memory = open_samples(VALUES)
    assert in_memory.without_lazy_rows() is in_memory


def test_representation__is_a_line_of_rows_and_features():
    data = xr.Dataset(
        {"X": (("sample", "feature"), np.zeros((400, 12)))},
        coords={
            "feature": [f"f{j}" for j in range(12)],
            "is_live": ("sample", np.arange(400) % 4 == 0),
        },
    )
    shown = repr(open_samples(data, where="is_live == True"))
    for part in ("100 rows", "is_live == True", "f0, f1,", "f9 and 2 more"):
        assert part in shown
    assert "f10" not in shown
