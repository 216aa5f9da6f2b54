"""Sparse rows: sums of CSR blocks are those of dense ones, however the rows are cut and kept."""

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bigtensor.data.opening import open_samples
from bigtensor.data.rows import samples as samples_module
from bigtensor.data.sources import csr_source
from bigtensor.data.sources.csr_source import CsrSource
from bigtensor.engine import ranges
from bigtensor.engine.ranges import pass_parts
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.statistics.base import Pass, SumStatistic
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.validity import Checked

WORDS, GROUPS = 7, 3
VIEWS = {"rest": [5, 0, 2], "first": [6], "others": [1, 3, 4]}
ORDER = [5, 0, 2, 6, 1, 3, 4]


@dataclass(frozen=True)
class CountMoments(SumStatistic):
    """Weighted column sums, by group too, and second moments of sparse rows."""

    block_rows: int = 5

    def state_arrays(self):
        return {
            "first": ((WORDS,), "float64"),
            "second": ((WORDS, WORDS), "float64"),
            "of_group": ((GROUPS + 1, WORDS), "float64"),
            "rows": ((), "int64"),
        }

    def update(self, state, block, _work):
        values = block.values[: block.rows]
        assert isinstance(values, sp.csr_array)
        assert values.has_canonical_format
        weight = np.ones(block.rows) if block.weight is None else block.weight[: block.rows]
        weighted = sp.csr_array(values.astype(float).multiply(weight[:, None]))
        state["first"] += weighted.sum(axis=0)
        state["second"] += (weighted.T @ values).toarray()
        group = np.full(block.rows, -1) if block.group is None else block.group[: block.rows]
        for code in np.unique(group):
            state["of_group"][code] += weighted[group == code].sum(axis=0)
        state["rows"] += block.rows

    def finalize(self, state):
        return state

    def work_nbytes(self, _rows):
        return 0


def expected(values, weight, group):
    """Return the sums by direct formulas on dense rows."""
    values = values[:, ORDER].astype(float)
    weighted = values * weight[:, None]
    of_group = np.array([weighted[group == code].sum(axis=0) for code in [0, 1, 2, -1]])
    return {
        "first": weighted.sum(axis=0),
        "second": weighted.T @ values,
        "of_group": of_group,
        "rows": len(values),
    }


def assert_sums(found, wanted):
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-12, err_msg=name)


@st.composite
def documents(draw, dtype=None):
    """Return counts of documents of very different length; a few are empty, and one is long."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20), label="seed"))
    n = draw(st.integers(1, 60), label="rows")
    values = rng.poisson(rng.exponential(draw(st.sampled_from([0.1, 1.0])), (n, 1)), (n, WORDS))
    values[rng.integers(n)] = 9
    return values.astype(dtype or draw(st.sampled_from(["float32", "float64", "int32"])))


def run(samples, statistic, parts=None, threads=1):
    rows = None if parts is None else tuple(pair for pair in pairwise(parts) if pair[0] < pair[1])
    return run_pass(samples, Pass("sums", statistic, rows=rows), ThreadedRuntime(threads))


small = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@small
@given(data=st.data())
def test_law__any_cut_of_sparse_rows_gives_the_sums_of_dense_ones(data):
    values = data.draw(documents())
    n = len(values)
    rng = np.random.default_rng(n)
    weight, group = rng.integers(0, 5, n) / 4.0, rng.integers(0, GROUPS, n)
    group[:GROUPS] = np.arange(GROUPS)[: len(group)]
    samples = open_samples(sp.csr_array(values), VIEWS, weight=weight, groups=group)
    assert samples.kind == "counts"
    code = {int(name): place for place, name in enumerate(samples.groups.names)}
    coded = np.array([code[entry] for entry in group.tolist()])
    borders = [0, *sorted(data.draw(st.lists(st.integers(0, n), max_size=5))), n]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples_module, "READ_NBYTES", data.draw(st.integers(1, 500)))
        statistic = Checked(CountMoments(data.draw(st.integers(1, 20))))
        validity, found = run(samples, statistic, borders)
        again, together = run(samples, Checked(Together.named(f=CountMoments(4))), borders)
    wanted = expected(values, weight, coded)
    assert (validity.rows, validity.dropped) == (again.rows, again.dropped) == (n, 0)
    assert_sums(found, wanted)
    assert_sums(together["f"], wanted)


@small
@given(data=st.data())
def test_law__rows_with_bad_stored_values_are_left_out(data):
    values = data.draw(documents("float32"))
    n = len(values)
    bad = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=4, unique=True)), int)
    values[bad, bad % WORDS] = np.nan
    validity, found = run(open_samples(sp.csr_array(values), VIEWS), Checked(CountMoments()))
    kept = np.delete(values, bad, axis=0)
    assert (validity.rows, validity.dropped) == (n, len(bad))
    assert validity.first_row == (min(bad) if len(bad) else None)
    if len(bad):
        assert ORDER[validity.first_column] == min(bad) % WORDS
    assert_sums(found, expected(kept, np.ones(len(kept)), np.full(len(kept), -1)))


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("suffix", [".h5ad", ".zarr"])
@settings(parent=small, max_examples=8)
@given(data=st.data())
@pytest.mark.quick_cases(".h5ad")
def test_law__files_are_read_in_place_as_rows_in_memory(tmp_path: Path, suffix, data):
    values = data.draw(documents(), label="values")
    path = tmp_path / f"counts{suffix}"
    stored = anndata.AnnData(sp.csr_matrix(values))
    stored.write_h5ad(path) if suffix == ".h5ad" else stored.write_zarr(path)
    samples = open_samples(path, VIEWS)
    assert samples.kind == "counts"
    n = len(values)
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, n)] * 2)))
    read = samples.sources[0].read(start, stop).values
    assert isinstance(read, sp.csr_array)
    np.testing.assert_array_equal(read.toarray(), values[start:stop])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples_module, "READ_NBYTES", data.draw(st.integers(1, 500)))
        patch.setattr(csr_source, "_POINTERS", data.draw(st.integers(1, 20)))
        _, found = run(samples, Checked(CountMoments()))
    assert_sums(found, expected(values, np.ones(n), np.full(n, -1)))


@given(
    lengths=st.lists(st.integers(0, 50) | st.just(1000), min_size=1, max_size=200),
    nbytes=st.integers(1, 3000),
    pointers=st.integers(1, 64),
)
def test_cuts__hold_as_many_rows_as_fit(lengths, nbytes, pointers):
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    matrix = sp.csr_array(
        (np.ones(indptr[-1], "f4"), np.zeros(indptr[-1], "i4"), indptr), (len(lengths), 1)
    )
    source = CsrSource(matrix, ("x0",))
    start = len(lengths) // 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csr_source, "_POINTERS", pointers)
        edges = source.cuts(start, source.rows, nbytes)
    sizes = source.entry_nbytes * np.array(lengths) + 8
    assert (edges[0], edges[-1]) == (start, source.rows)
    for (first, last), following in zip(pairwise(edges), [*edges[2:], None], strict=False):
        assert first < last
        assert last == first + 1 or sizes[first:last].sum() <= nbytes
        if following is not None:
            assert sizes[first : last + 1].sum() > nbytes


def test_parts__of_sparse_rows_are_even_in_stored_values(monkeypatch):
    monkeypatch.setattr(ranges, "MIN_ROWS", 50)
    lengths = np.random.default_rng(0).pareto(1.2, 20_000).astype(int) % 5000
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    matrix = sp.csr_array(
        (np.ones(indptr[-1]), np.arange(indptr[-1]) % 5000, indptr), (20_000, 5000)
    )
    samples = replace(
        open_samples(np.zeros((1, 1))), sources=(CsrSource.from_scipy(matrix, tuple("x" * 5000)),)
    )
    parts = [whole for (whole,) in pass_parts(samples)]
    assert parts[0][0] == 0
    assert parts[-1][1] == 20_000
    assert all(left[1] == right[0] for left, right in pairwise(parts))
    stored = [indptr[stop] - indptr[start] for start, stop in parts]
    assert len(parts) <= 2 * ranges.EVEN_TASKS + 1
    assert max(stored) <= 1.2 * indptr[-1] / ranges.EVEN_TASKS + lengths.max()
    with monkeypatch.context() as patch:
        patch.setattr(ranges, "MAX_TASKS", 8)
        assert len(pass_parts(samples)) <= 8
