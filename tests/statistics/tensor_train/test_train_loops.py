"""Loops along tensor trains against sums over all latent paths."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.tensor_train.structure import balanced, chain
from bigtensor.features.modes import Nodes, Symbols
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.combinators import AnswersTogether
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.tensor_train.conditional_curves import (
    ConditionalCurves,
    ConditionalDensity,
)
from bigtensor.statistics.tensor_train.contributions import Contributions
from bigtensor.statistics.tensor_train.imputation import ImputedRows, PredictedVariable
from bigtensor.statistics.tensor_train.located_rows import LocatedRows
from bigtensor.statistics.tensor_train.log_densities import LogDensities, TrainTables
from bigtensor.statistics.tensor_train.messages import messages_of
from bigtensor.statistics.tensor_train.state_posteriors import StatePosteriors
from bigtensor.statistics.tensor_train.surprises import Surprises
from bigtensor.statistics.tensor_train.tabulated_train import TabulatedTrain
from bigtensor.testing import (
    ROW_FUNCTION_LAWS,
    STATISTIC_LAWS,
    RowFunctionCase,
    StatisticCase,
)
from tests.laws.strategies import N_FEATURES, K, train_counts

STRUCTURES = {"chain": chain, "balanced": balanced}


@pytest.fixture(params=STRUCTURES)
def statistic(request):
    """Return the counts of two trains along a chain or a tree."""
    return train_counts(0.0, structure=STRUCTURES[request.param])


def rows(n=60, missing=0.2, seed=0):
    """Return rows of three measured variables and a symbol, some of which are missing."""
    rng = default_rng(seed)
    values = rng.normal(scale=3, size=(n, N_FEATURES))
    values[:, 3] = rng.integers(-2, 2, n)
    values[rng.random(values.shape) < missing] = np.nan
    return values


def located(statistic, values):
    return statistic.rows.located(Block(values, {}, 0, len(values)), Workspace())


def matrices_of(train, at, row):
    """Return the matrix of every variable at one row."""
    return [
        at.left[row, j] * train.points[at.point[row, j]]
        + at.right[row, j] * train.points[at.point[row, j] + 1]
        for j in range(N_FEATURES)
    ]


def paths(train, matrices):
    """Yield every assignment of states to nodes, and the product of entries that it has."""
    for states in product(range(K), repeat=len(train.nodes) - 1):
        entering = (0, *states)
        entry = 1.0
        for node, (j, first, second) in enumerate(train.nodes):
            before = entering[node]
            if j < 0:
                entry *= train.branches[-1 - j, before, entering[first], entering[second]]
            else:
                entry *= matrices[j][before, entering[first] if first >= 0 else 0]
        yield entering, entry


def tables_of(statistic):
    return TrainTables(statistic.rows, statistic.trains, statistic.shares)


def everything(statistic):
    d = N_FEATURES
    return LogDensities(tables_of(statistic), np.ones(d, np.bool_), np.zeros(d, np.bool_))


def evaluated(function, values):
    out = {
        output.name: np.empty((len(values), *output.dims.values()), output.dtype)
        for output in function.outputs
    }
    function.evaluate(Block(values, {}, 0, len(values)), out, Workspace())
    return out


def test_log_densities__are_sums_over_paths(statistic):
    values = rows(8)
    at = located(statistic, values)
    direct = [
        sum(
            share * sum(entry for _, entry in paths(train, matrices_of(train, at, row)))
            for share, train in zip(statistic.shares, statistic.trains, strict=True)
        )
        for row in range(len(values))
    ]
    found = evaluated(everything(statistic), values)["log_density"]
    assert found == pytest.approx(np.log(direct) + at.log_slope, abs=1e-12)


def test_messages__are_sums_over_paths_by_state(statistic):
    values = rows(4)
    at = located(statistic, values)
    for of_train in messages_of(tables_of(statistic), at, Workspace()):
        for row in range(len(values)):
            direct = np.zeros((len(of_train.train.nodes), K))
            for entering, entry in paths(of_train.train, matrices_of(of_train.train, at, row)):
                direct[np.arange(len(entering)), entering] += entry
            scale = np.exp(of_train.logs[row].sum(axis=1, keepdims=True))
            found = of_train.below[row] * of_train.above[row] * scale
            assert found == pytest.approx(direct, rel=1e-10)


def test_counts__are_derivatives_of_the_log_likelihood(statistic):
    values = rows(15, seed=1)
    weight = default_rng(2).random(15)
    found = sum_in_memory(statistic, Block(values, {}, 0, 15, weight))
    for train, (counts, branchings) in zip(statistic.trains, found.sums, strict=True):
        for j in range(N_FEATURES):
            first, last = statistic.rows.locator.first[j : j + 2]
            # the derivative by a factor of all entries of one variable is the weight of the rows
            sums = (counts * train.points)[first:last].sum()
            assert sums == pytest.approx(weight.sum(), rel=1e-12)
        for of_branching, table in zip(branchings, train.branches, strict=True):
            assert (of_branching * table).sum() == pytest.approx(weight.sum(), rel=1e-12)
        # the state after a last variable has one value
        is_leaf = train.nodes[train.node_of(1), 1] < 0
        entries = [
            ("points", counts, (int(statistic.rows.locator.first[1]) + 5, 1, 2 - 2 * is_leaf))
        ]
        if len(branchings):
            entries.append(("branches", branchings, (0, 0, 1, 2)))
        for name, sums, at in entries:
            direct = slope(statistic, train, name, at, weight, values)
            assert sums[at] == pytest.approx(direct, rel=1e-5, abs=1e-7)


def slope(statistic, train, name, at, weight, values):
    """Return the numerical derivative of a log-likelihood by one entry of a table."""
    changed, step = [], 1e-6
    for sign in (1, -1):
        tables = {"points": train.points.copy(), "branches": train.branches.copy()}
        tables[name][at] += sign * step
        other = TabulatedTrain(train.nodes, **tables)
        alone = TrainTables(statistic.rows, (other,), np.ones(1))
        one = LogDensities(alone, np.ones(N_FEATURES, bool), np.zeros(N_FEATURES, bool))
        changed.append(weight @ evaluated(one, values)["log_density"])
    return (changed[0] - changed[1]) / (2 * step)


@pytest.mark.slow  # double precision is quick
def test_single_precision__gives_the_same_counts():
    statistic, n = train_counts(0.0), 20_000
    at, weight = located(statistic, rows(n)), np.ones(n)
    train = statistic.trains[0]
    sums, logs = [], []
    for dtype in ("float64", "float32"):
        single = TabulatedTrain(
            train.nodes, train.points.astype(dtype), train.branches.astype(dtype)
        )
        shares = at.left.astype(dtype), at.right.astype(dtype)
        sums.append(np.zeros_like(train.points))
        logs.append(np.empty(n))
        of_rows = LocatedRows(at.point, *shares, at.log_slope, at.values)
        branchings = np.zeros((0, K, K, K))
        single.add_counts(of_rows, weight, (sums[-1], branchings), logs[-1], Workspace())
    assert np.abs(sums[1] - sums[0]).max() < 1e-5 * sums[0].max()
    assert logs[1].mean() == pytest.approx(logs[0].mean(), rel=1e-7)
    # single precision it was
    assert (logs[1] != logs[0]).any()


def test_held_out_rows__add_to_their_own_sum_alone():
    all_rows, some = train_counts(0.0), train_counts(0.0, hold_out=4)
    block = Block(rows(200), {}, 0, 200)
    whole, part = sum_in_memory(all_rows, block), sum_in_memory(some, block)
    assert np.isnan(whole.held_out)
    assert 0 < part.weight < whole.weight == 200
    held = 200 - part.weight
    together = (part.weight * part.fitted + held * part.held_out) / 200
    assert together == pytest.approx(whole.fitted, rel=1e-12)


@pytest.mark.parametrize("variable", range(N_FEATURES))
def test_curves__are_ratios_of_densities(statistic, variable):
    values = rows(10, missing=0.0)
    mode = small_modes()[variable]
    curves = ConditionalCurves(tables_of(statistic), variable, mode)
    at = located(statistic, values)
    messages = messages_of(tables_of(statistic), at, Workspace())
    found = curves.write(messages, at, Workspace()).curves.copy()
    masses = getattr(mode, "masses", np.ones(mode.count))
    assert found @ masses == pytest.approx(np.ones(10), rel=1e-12)
    known = np.arange(N_FEATURES) == variable
    given = LogDensities(tables_of(statistic), known, ~known)
    conditional = evaluated(given, values)["log_density"]
    at_values = (
        at.left[:, variable]
        * found[np.arange(10), at.point[:, variable] - statistic.rows.locator.first[variable]]
    )
    above = at.point[:, variable] + 1 - statistic.rows.locator.first[variable]
    inside = np.minimum(above, mode.count - 1)
    at_values += at.right[:, variable] * found[np.arange(10), inside]
    one = values[:, [variable]].copy()
    slope = np.zeros(10)
    curves.coordinates.write(one.copy(), one, slope, Workspace())
    assert np.log(at_values) + slope == pytest.approx(conditional, abs=1e-10)


def small_modes():
    """Return the modes of the small statistic."""
    return (*(Nodes(-3, 0.5, 13, 1.0) for _ in range(3)), Symbols(np.array([-1.0, 0, 1])))


def test_quantiles__invert_the_integral():
    statistic, values = train_counts(0.0), rows(8, missing=0.0)
    curves = ConditionalCurves(tables_of(statistic), 1, small_modes()[1])
    at = located(statistic, values)
    messages = messages_of(tables_of(statistic), at, Workspace())
    found = curves.write(messages, at, Workspace()).curves.copy()
    # many levels in the tails, where quantiles grow with the third root
    parts = np.linspace(1e-4, 1 - 1e-4, 400_001)
    levels = parts**3 / (parts**3 + (1 - parts) ** 3)
    for row in range(8):
        one = ConditionalDensity(np.repeat(found[[row]], len(levels), axis=0), None)
        drawn = curves.quantiles(one, levels)
        assert (np.diff(drawn) >= 0).all()
        # the mean is the integral of the quantiles
        assert np.trapezoid(drawn, levels) == pytest.approx(curves.means(one)[0], abs=1e-5)


FUNCTIONS = {
    "log_densities": everything,
    "conditional": lambda statistic: LogDensities(
        tables_of(statistic), np.array([1, 0, 0, 1], bool), np.array([0, 1, 0, 0], bool)
    ),
    "mean": lambda statistic: ImputedRows(tables_of(statistic), small_modes(), "mean"),
    "median": lambda statistic: ImputedRows(tables_of(statistic), small_modes(), "median"),
    "sample": lambda statistic: ImputedRows(tables_of(statistic), small_modes(), "sample", 3),
    "prediction": lambda statistic: PredictedVariable(
        ConditionalCurves(tables_of(statistic), 0, small_modes()[0]), 0.8
    ),
    "contribution": lambda statistic: Contributions(tables_of(statistic), np.array([2, 0, 3, 1])),
    "posterior": lambda statistic: StatePosteriors(tables_of(statistic)),
    "together": lambda statistic: AnswersTogether(
        (everything(statistic), Surprises(tables_of(statistic), small_modes()))
    ),
    "surprise": lambda statistic: Surprises(tables_of(statistic), small_modes()),
    "symbol": lambda statistic: PredictedVariable(
        ConditionalCurves(tables_of(statistic), 3, small_modes()[3]), 0.8
    ),
}


@pytest.mark.parametrize("law", STATISTIC_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_statistic_laws__hold_with_rows_held_out(structure, law):
    make = partial(train_counts, hold_out=3, structure=STRUCTURES[structure])
    # the folds of rows that are repeated are others
    law(StatisticCase(make(0.0), rows(150, missing=0.0), unweighted=None))


@pytest.mark.parametrize("law", ROW_FUNCTION_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_row_function_laws__hold(law, kind, statistic):
    law(RowFunctionCase(FUNCTIONS[kind](statistic), rows(150)))
