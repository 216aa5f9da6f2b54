import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.densities.log_likelihood import LogLikelihood
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.folds import OfFold, fold_of_block, fold_of_rows
from bigtensor.statistics.row_sample import RowSample
from tests.statistics.densities.test_view_densities import MIXTURES, SLICES
from tests.statistics.test_combinators import Lagged, Mean

FOLDS, SEED, START, N = 5, 11, 70_001, 3000
X = default_rng(3).normal(size=(N, 4)) * 2 + [0, 0, 0, 14]
WEIGHT = default_rng(4).uniform(0, 3, N)
EVERYTHING = RowSample(N, 4, "float64", random_state=2, has_weight=True)


def accumulate(statistic, step=N):
    state, work = statistic.init(), Workspace()
    for start in range(0, N, step):
        rows = slice(start, min(start + step, N))
        block = Block(X[rows], SLICES, START + start, rows.stop - start, WEIGHT[rows])
        statistic.update(state, block, work)
    return state


def rows_of(fold, inside, step=N):
    """Return the global index of the rows that a fold, or its complement, is shown."""
    statistic = OfFold(EVERYTHING, FOLDS, fold, inside, SEED)
    return statistic.finalize(accumulate(statistic, step)).index


@pytest.mark.parametrize("step", [61, 1000, N])
def test_of_fold__rows_are_those_of_their_fold(step):
    index = np.arange(START, START + N)
    fold_of_row = fold_of_rows(index, FOLDS, SEED)
    for fold in range(FOLDS):
        assert_array_equal(rows_of(fold, True, step), index[fold_of_row == fold])
        assert_array_equal(rows_of(fold, False, step), index[fold_of_row != fold])


def test_of_fold__every_row_is_inside_one_fold_and_outside_all_others():
    every = np.arange(START, START + N)
    inside = [rows_of(fold, inside=True) for fold in range(FOLDS)]
    assert_array_equal(np.sort(np.concatenate(inside)), every)
    assert min(map(len, inside)) > 0.8 * N / FOLDS
    for fold, rows in enumerate(inside):
        assert_array_equal(np.setdiff1d(every, rows), rows_of(fold, inside=False))


def test_fold__of_a_row_depends_on_its_index_and_the_seed_alone():
    index = np.arange(START, START + N)
    expected = fold_of_rows(index, FOLDS, SEED)
    block = Block(X, SLICES, START, N)
    assert_array_equal(fold_of_block(block, FOLDS, SEED), expected)
    odd = index % 2 == 1
    assert_array_equal(fold_of_block(block.keep(odd), FOLDS, SEED), expected[odd])
    assert_array_equal(fold_of_rows(index[::-1], FOLDS, SEED), expected[::-1])
    agreement = (fold_of_rows(index, FOLDS, SEED + 1) == expected).mean()
    # of independent folds a fifth agrees
    assert agreement == pytest.approx(1 / FOLDS, abs=0.04)


@pytest.mark.parametrize("step", [333, N])
@pytest.mark.parametrize(
    "statistic",
    [LogLikelihood(MIXTURES["both"]), PosteriorSums(MIXTURES["both"])],
    ids=["log_likelihood", "posterior_sums"],
)
def test_of_fold__states_of_all_folds_add_up_to_the_whole(statistic, step):
    whole = accumulate(statistic)
    inside, outside = (
        [accumulate(OfFold(statistic, FOLDS, f, kept, SEED), step) for f in range(FOLDS)]
        for kept in (True, False)
    )
    for name, expected in whole.items():
        atol = 1e-11 * np.abs(expected).max()
        assert_allclose(sum(state[name] for state in inside), expected, rtol=1e-11, atol=atol)
        total = sum(state[name] for state in outside)
        assert_allclose(total, (FOLDS - 1) * expected, rtol=1e-11, atol=atol)
        for one, rest in zip(inside, outside, strict=True):
            assert_allclose(one[name] + rest[name], expected, rtol=1e-11, atol=atol)


def test_of_fold__parameters_of_its_own_in_one_pass():
    """What cross-validation does: a statistic of its own for every fold, all in one read."""
    names = list(MIXTURES)
    together = Together(
        tuple(
            (name, OfFold(LogLikelihood(MIXTURES[name]), len(names), fold, True, SEED))
            for fold, name in enumerate(names)
        )
    )
    found = together.finalize(accumulate(together, 777))
    fold = fold_of_rows(np.arange(START, START + N), len(names), SEED)
    for position, name in enumerate(names):
        held_out = fold == position
        alone = LogLikelihood(MIXTURES[name])
        state = alone.init()
        rows = Block(X[held_out], SLICES, 0, int(held_out.sum()), WEIGHT[held_out])
        alone.update(state, rows, Workspace())
        assert found[name].rows == held_out.sum()
        assert found[name].mean == pytest.approx(alone.finalize(state).mean, rel=1e-12)


@pytest.mark.parametrize(("folds", "fold"), [(1, 0), (0, 0), (3, 3), (3, -1)])
def test_of_fold__refuses_a_fold_that_does_not_exist(folds, fold):
    with pytest.raises(ParameterError, match=f"fold {fold} of {folds} does .* two fold"):
        OfFold(Mean(), folds, fold, inside=True)


def test_of_fold__refuses_windows_of_rows():
    with pytest.raises(ParameterError, match="windows of rows cannot be folded"):
        OfFold(Lagged(), 2, 0, inside=True)
