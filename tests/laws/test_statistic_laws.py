"""What every statistic must obey; see `strategies` for the instances."""

from dataclasses import replace
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtensor import statistics
from bigtensor.statistics.base import AroundStatistic, OfOtherRows, Statistic, SumStatistic
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.folds import OfFold
from bigtensor.statistics.moments.triple_moments import TripleMoments
from bigtensor.statistics.row_sample import RowSample
from bigtensor.statistics.sequences.entries import EntryStatistic
from bigtensor.statistics.sequences.operators import BlockOperators
from bigtensor.statistics.validity import Checked
from bigtensor.testing import STATISTIC_LAWS, StatisticCase
from bigtensor.testing.comparison import require_close
from bigtensor.testing.statistic_laws import (
    a_weight_of_two_is_a_row_twice,
    summed,
)
from tests.laws.strategies import CASES, Case, canonical, covariances, cuts, make_rows, rows_of
from tests.laws.test_code_statistic_laws import STATISTICS as STATISTICS_OF_CODES
from tests.laws.test_count_statistic_laws import STATISTICS as STATISTICS_OF_COUNTS
from tests.laws.test_sequence_laws import OF_MESSAGES
from tests.laws.test_sequence_laws import STATISTICS as STATISTICS_OF_SEQUENCES
from tests.parameters import few_examples

law = settings(max_examples=few_examples())


def offset_of(rows):
    finite = rows.values[np.isfinite(rows.values)]
    return 1e4 if finite.size and finite.min() > 5e3 else 0.0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@law
@given(data=st.data())
def test_laws__hold(case, data):
    rows = data.draw(rows_of(case), label="block")
    drawn = StatisticCase(
        case.build(offset_of(rows)),
        rows,
        rtol=case.rtol,
        borders=data.draw(cuts(rows.rows), label="borders"),
        # has a test of its own, on rows of the right kind
        unweighted=None,
        in_checkpoints=case.in_checkpoints,
        canonical=canonical,
    )
    for holds in STATISTIC_LAWS:
        holds(drawn)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.independent_of_offset], ids=lambda case: case.name
)
@law
@given(seed=st.integers(0, 2**20), n=st.integers(0, 40), weighted=st.booleans())
def test_law__an_offset_of_the_data_changes_nothing(case, seed, n, weighted):
    near, far = (make_rows(case, seed, n, weighted, offset) for offset in (0.0, 1e4))
    states = summed(case.build(0.0), [near]), summed(case.build(1e4), [far])
    try:
        require_close(*states, max(1e-9, case.rtol), "state of rows that were moved")
    except AssertionError as error:
        raise AssertionError(
            f"{error}; centre the sums by `offset`, or set independent_of_offset=False in the case "
            f"{case.name!r} of tests/laws/strategies.py"
        ) from error


@pytest.mark.parametrize("case", [c for c in CASES if c.is_sum], ids=lambda case: case.name)
@law
@given(seed=st.integers(0, 2**20), n=st.integers(0, 40))
def test_law__weight_two_is_a_row_twice(case, seed, n):
    rows = make_rows(replace(case, bad_rows=False), seed, n, False, 0.0)
    statistic = case.build(0.0)
    a_weight_of_two_is_a_row_twice(
        StatisticCase(statistic, rows, rtol=case.rtol, unweighted=("rows", "squared_weight"))
    )


@law
@given(data=st.data())
def test_case__says_which_values_rows_have(data):
    rows = data.draw(rows_of(Case("not_negative", covariances, lowest=0, highest=2)))
    values = rows.values - offset_of(rows)
    assert ((values >= 0) & (values < 2)).all()


def test_law__every_statistic_has_a_case():
    for module in walk_packages(statistics.__path__, "bigtensor.statistics."):
        import_module(module.name)
    built = set()

    def visit(statistic):
        built.add(type(statistic))
        for part in [p for _, p in getattr(statistic, "parts", ())]:
            visit(part)
        if hasattr(statistic, "statistic"):
            visit(statistic.statistic)

    for case in CASES:
        visit(case.build(0.0))
    assert built >= {Checked, OfFold, PosteriorSums, RowSample, Together, TripleMoments}
    bases = {Statistic, SumStatistic, AroundStatistic, OfOtherRows, EntryStatistic, BlockOperators}
    known = {s for base in bases for s in base.__subclasses__()} - bases
    public = {s for s in known if s.__module__.startswith("bigtensor.")}
    others = (*STATISTICS_OF_CODES, *STATISTICS_OF_COUNTS, *STATISTICS_OF_SEQUENCES)
    built |= {type(statistic) for statistic in others}
    names = sorted(statistic.__name__ for statistic in public - built - OF_MESSAGES)
    assert not names, (
        f"no case for {', '.join(names)}; add one to CASES of tests/laws/strategies.py, or to "
        "STATISTICS of the laws of codes, counts or sequences beside it"
    )
