"""Windows of consecutive rows: each is summed once, or left out, however the rows are cut."""

from dataclasses import dataclass
from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtensor.data.opening import open_samples
from bigtensor.data.rows import samples as samples_module
from bigtensor.engine.reduce import accumulate, job_of
from bigtensor.statistics.base import SumStatistic
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.validity import Checked
from bigtensor.testing import check_statistic
from tests.engine.sums import ColumnSums
from tests.laws.strategies import cuts
from tests.parameters import few_examples

LENGTH = 4


@dataclass(frozen=True)
class WindowProducts(SumStatistic):
    """Weighted products of the rows of every window, and what was shown of rows."""

    block_rows: int = 5
    halo = LENGTH - 1

    def state_arrays(self):
        return {"products": ((2,), "float64"), "windows": ((), "int64"), "first": ((), "int64")}

    def update(self, state, block, _work):
        assert np.isfinite(block.values).all()
        starts = np.flatnonzero(block.window_starts(LENGTH))
        product = np.ones((len(starts), 2))
        for lag in range(LENGTH):
            product *= block.values[starts + lag]
        weight = 1.0 if block.weight is None else block.weight[starts, None]
        state["products"] += (weight * product).sum(axis=0)
        state["windows"] += len(starts)
        state["first"] += block.row_index()[starts].sum()

    def finalize(self, state):
        return state

    def work_nbytes(self, _rows):
        return 0


@dataclass(frozen=True)
class Drawn:
    """Rows of which some cannot be used, for a value or for a weight."""

    values: np.ndarray
    sequence: np.ndarray | None
    weight: np.ndarray | None

    def expected(self):
        """Return the sums over all windows, one by one."""
        products, windows, first = np.zeros(2), 0, 0
        for start in range(len(self.values) - LENGTH + 1):
            rows = slice(start, start + LENGTH)
            weight = np.ones(LENGTH) if self.weight is None else self.weight[rows]
            one_sequence = self.sequence is None or len({*self.sequence[rows].tolist()}) == 1
            if one_sequence and np.isfinite(self.values[rows]).all() and weight.min() >= 0:
                products += weight[0] * self.values[rows].prod(axis=0)
                windows += 1
                first += start
        return {"products": products, "windows": windows, "first": first}

    def bad(self):
        """Return which rows cannot be used."""
        bad = ~np.isfinite(self.values).all(axis=1)
        return bad if self.weight is None else bad | (self.weight < 0)

    def samples(self, kind, chunk):
        """Return the rows in memory or behind a graph."""
        data = xr.Dataset({"X": (("sample", "feature"), self.values)})
        for name, array in {"sequence": self.sequence, "weight": self.weight}.items():
            if array is not None:
                data[name] = ("sample", array)
        return open_samples(data.chunk({"sample": chunk}) if kind == "lazy" else data)


@st.composite
def drawn(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**20), label="seed"))
    n = draw(st.integers(1, 40), label="rows")
    values = rng.integers(1, 9, (n, 2)) / 8
    values[rng.random(n) < draw(st.sampled_from([0, 0.1, 0.5]), label="bad"), 1] = np.nan
    sequence = weight = None
    if draw(st.booleans(), label="sequences"):
        # a sequence comes again after another one
        sequence = np.cumsum(rng.random(n) < 0.15) % 2
    if draw(st.booleans(), label="weighted"):
        weight = rng.integers(-1, 9, n) / 4.0
    return Drawn(values, sequence, weight)


@pytest.mark.parametrize("kind", ["array", "lazy"])
@pytest.mark.parametrize("together", [False, True])
@settings(max_examples=3 * few_examples())
@given(data=st.data())
def test_law__every_window_of_valid_rows_is_summed_once(kind, together, data):
    rows = data.draw(drawn())
    n = len(rows.values)
    samples = rows.samples(kind, data.draw(st.integers(1, n), label="chunk"))
    inner = WindowProducts(data.draw(st.integers(1, 12), label="block rows"))
    statistic = Checked(Together.named(windows=inner, rows=ColumnSums(2)) if together else inner)
    state = statistic.init()
    borders = data.draw(cuts(n))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples_module, "READ_NBYTES", data.draw(st.integers(1, 400), label="read"))
        for start, stop in pairwise(borders):
            if start < stop:
                part, *arrays = job_of(samples, ((start, stop),), statistic.halo)
                arrays = [a.compute() if isinstance(a, da.Array) else a for a in arrays]
                task, _ = accumulate((samples, statistic), part, *arrays)
                state = statistic.combine(state, task)
    validity, found = statistic.finalize(state)
    expected, bad = rows.expected(), rows.bad()
    assert (validity.rows, validity.dropped) == (n, np.count_nonzero(bad))
    assert validity.bad_weights == (0 if rows.weight is None else (rows.weight < 0).sum())
    if together:
        assert found["rows"]["index"] == np.flatnonzero(~bad).sum()
        found = found["windows"]
    assert found["windows"] == expected["windows"]
    assert found["first"] == expected["first"]
    np.testing.assert_allclose(found["products"], expected["products"], rtol=1e-12)


def test_windows__obey_the_laws_of_statistics():
    values = np.random.default_rng(0).integers(1, 9, (200, 2)) / 8
    data = xr.Dataset({"X": (("sample", "feature"), values)})
    data["sequence"] = ("sample", np.repeat([3, 1, 1, 2], 50))
    check_statistic(WindowProducts(), data)
