"""What every statistic must obey; see `strategies` for the instances."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtensor.statistics.base import Statistic, SumStatistic, Workspace
from bigtensor.statistics.combinators import Folded, Together
from bigtensor.statistics.posterior_sums import PosteriorSums
from bigtensor.statistics.row_sample import RowSample
from bigtensor.statistics.triple_moments import TripleMoments
from bigtensor.statistics.validity import Checked
from tests.laws.strategies import (
    CASES,
    accumulate,
    assert_close,
    assert_same_bits,
    cuts,
    make_rows,
    rows_of,
)

law = settings(max_examples=25, deadline=None)
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def offset_of(rows):
    finite = rows.values[np.isfinite(rows.values)]
    return 1e4 if finite.size and finite.min() > 5e3 else 0.0


def statistic_for(case, rows):
    return case.build(offset_of(rows))


@every_case
@law
@given(data=st.data())
def test_law__any_chunking_gives_the_same(case, data):
    rows = data.draw(rows_of(case))
    statistic = statistic_for(case, rows)
    whole = accumulate(statistic, rows, [0, len(rows)])
    borders = data.draw(cuts(len(rows)))
    assert_close(accumulate(statistic, rows, borders), whole, case.rtol)
    tasks = [accumulate(statistic, rows, [first, last]) for first, last in pairwise(borders)]
    state = tasks[0]
    for task in tasks[1:]:
        state = statistic.combine(state, task)
    assert_close(state, whole, case.rtol)


@every_case
@law
@given(data=st.data())
def test_law__combine_is_associative_pure_and_has_an_identity(case, data):
    rows = data.draw(rows_of(case))
    statistic = statistic_for(case, rows)
    first, second = sorted(data.draw(st.tuples(*[st.integers(0, len(rows))] * 2)))
    a, b, c = (
        accumulate(statistic, rows, part)
        for part in ([0, first], [first, second], [second, len(rows)])
    )
    before = pickle.loads(pickle.dumps((a, b, c)))
    left = statistic.combine(statistic.combine(a, b), c)
    right = statistic.combine(a, statistic.combine(b, c))
    assert_close(left, right)
    assert_close(statistic.combine(statistic.init(), a), a, rtol=0)
    assert_close(statistic.combine(a, statistic.init()), a, rtol=0)
    # a task may go on adding to its own state after it was combined
    statistic.update(left, rows.block(0, len(rows)), Workspace())
    for state, old in zip((a, b, c), before, strict=True):
        assert_same_bits(state, old)


@every_case
@law
@given(data=st.data())
def test_law__an_empty_block_changes_nothing(case, data):
    rows = data.draw(rows_of(case))
    statistic = statistic_for(case, rows)
    state = accumulate(statistic, rows, [0, len(rows)])
    before = pickle.loads(pickle.dumps(state))
    statistic.update(state, rows.block(0, 0), Workspace())
    assert_same_bits(state, before)


@every_case
@law
@given(data=st.data())
def test_law__inputs_stay_as_they_are_and_the_state_keeps_no_window_on_them(case, data):
    rows = data.draw(rows_of(case))
    statistic = statistic_for(case, rows)
    values = rows.values.copy()
    weight = None if rows.weight is None else rows.weight.copy()
    buffered = replace(rows, values=values, weight=weight)
    work = Workspace()
    state = accumulate(statistic, buffered, [0, len(rows)], work)
    np.testing.assert_array_equal(values, rows.values)
    if weight is not None:
        np.testing.assert_array_equal(weight, rows.weight)
    before = pickle.loads(pickle.dumps(state))
    # the next block is read into the same buffer, and the workspace is used again
    values[:] = offset_of(rows)
    statistic.update(statistic.init(), buffered.block(0, len(rows)), work)
    assert_same_bits(state, before)


@every_case
@law
@given(data=st.data())
def test_law__a_pickled_statistic_gives_the_same_bits(case, data):
    rows = data.draw(rows_of(case))
    statistic = statistic_for(case, rows)
    again = pickle.loads(pickle.dumps(statistic))
    assert again.block_rows == statistic.block_rows
    borders = data.draw(cuts(len(rows)))
    assert_same_bits(accumulate(statistic, rows, borders), accumulate(again, rows, borders))


@every_case
@law
@given(data=st.data())
def test_law__declared_sizes_hold(case, data):
    rows = data.draw(rows_of(case, max_rows=300))
    statistic = statistic_for(case, rows)
    borders, work = data.draw(cuts(len(rows))), Workspace()
    state = accumulate(statistic, rows, borders, work)
    largest = int(np.diff(borders).max())
    assert sum(array.nbytes for array in state.values()) <= statistic.state_nbytes()
    assert work.nbytes <= statistic.work_nbytes(largest)


@pytest.mark.parametrize("case", [c for c in CASES if c.moves], ids=lambda case: case.name)
@law
@given(seed=st.integers(0, 2**20), n=st.integers(0, 40), weighted=st.booleans())
def test_law__an_offset_of_the_data_changes_nothing(case, seed, n, weighted):
    near, far = (
        make_rows(seed, n, weighted, offset, bad_rows=case.bad_rows) for offset in (0.0, 1e4)
    )
    assert_close(
        accumulate(case.build(0.0), near, [0, n]),
        accumulate(case.build(1e4), far, [0, n]),
        rtol=max(1e-9, case.rtol),
    )


@pytest.mark.parametrize("case", [c for c in CASES if c.is_sum], ids=lambda case: case.name)
@law
@given(seed=st.integers(0, 2**20), n=st.integers(0, 40))
def test_law__weight_two_is_a_row_twice(case, seed, n):
    rows = make_rows(seed, n, False, 0.0)
    twice = replace(rows, values=np.repeat(rows.values, 2, axis=0))
    heavy = replace(rows, weight=np.full(n, 2.0))
    statistic = case.build(0.0)
    assert_close(
        accumulate(statistic, heavy, [0, n]),
        accumulate(statistic, twice, [0, 2 * n]),
        case.rtol,
        ignore=["rows", "squared_weight"],
    )


def test_law__every_statistic_has_a_case():
    built = set()

    def visit(statistic):
        built.add(type(statistic))
        for part in [p for _, p in getattr(statistic, "parts", ())]:
            visit(part)
        if hasattr(statistic, "statistic"):
            visit(statistic.statistic)

    for case in CASES:
        visit(case.build(0.0))
    assert built >= {Checked, Folded, PosteriorSums, RowSample, Together, TripleMoments}
    known = {s for base in (Statistic, SumStatistic) for s in base.__subclasses__()}
    public = {s for s in known if s.__module__.startswith("bigtensor.")} - {SumStatistic}
    assert public <= built, f"no case for {public - built}"
