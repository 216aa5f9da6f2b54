"""Loops along tensor trains against sums over all latent paths."""

from itertools import product

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.data.block import Block
from bigtensor.features.modes import Nodes, Symbols
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.tensor_train.conditional_curves import ConditionalCurves
from bigtensor.statistics.tensor_train.imputation import ImputedRows, PredictedVariable
from bigtensor.statistics.tensor_train.log_densities import LogDensities, TrainTables
from bigtensor.statistics.tensor_train.surprises import Surprises
from bigtensor.testing import (
    ROW_FUNCTION_LAWS,
    STATISTIC_LAWS,
    RowFunctionCase,
    StatisticCase,
)
from tests.laws.strategies import N_FEATURES, train_counts


def rows(n=60, missing=0.2, seed=0):
    """Return rows of three measured variables and a symbol, some of which are missing."""
    rng = default_rng(seed)
    values = rng.normal(scale=3, size=(n, N_FEATURES))
    values[:, 3] = rng.integers(-2, 2, n)
    values[rng.random(values.shape) < missing] = np.nan
    return values


def located_matrices(statistic, values):
    """Return the matrix of every train, variable and row, and the logarithm of derivatives."""
    block = Block(values, {}, 0, len(values))
    at = statistic.rows.located(block, Workspace())
    matrices = [
        [
            at.left[:, j, None, None] * table[at.point[:, j]]
            + at.right[:, j, None, None] * table[at.point[:, j] + 1]
            for j in range(N_FEATURES)
        ]
        for table in statistic.tables
    ]
    return matrices, at


def density_by_paths(order, matrices, row, r):
    """Return the sum over all latent paths of the product of matrix entries."""
    total = 0.0
    for path in product(range(r), repeat=N_FEATURES):
        states = (0, *path)
        total += np.prod([matrices[j][row][states[i], states[i + 1]] for i, j in enumerate(order)])
    return total


def tables_of(statistic):
    return TrainTables(statistic.rows, statistic.orders, statistic.tables, statistic.shares)


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


def test_log_densities__are_sums_over_paths():
    statistic, values = train_counts(0.0), rows(20)
    matrices, at = located_matrices(statistic, values)
    direct = [
        sum(
            share * density_by_paths(order, of_train, row, table.shape[1])
            for share, order, of_train, table in zip(
                statistic.shares, statistic.orders, matrices, statistic.tables, strict=True
            )
        )
        for row in range(len(values))
    ]
    found = evaluated(everything(statistic), values)["log_density"]
    assert found == pytest.approx(np.log(direct) + at.log_slope, abs=1e-12)


def test_counts__are_derivatives_of_the_log_likelihood():
    statistic, values = train_counts(0.0), rows(15, seed=1)
    weight = default_rng(2).random(15)
    found = sum_in_memory(statistic, Block(values, {}, 0, 15, weight))
    for k, (order, table) in enumerate(zip(statistic.orders, statistic.tables, strict=True)):
        for j in range(N_FEATURES):
            first, last = statistic.rows.locator.first[j : j + 2]
            # the derivative by a factor of all entries of one variable is the weight of the rows
            sums = (found.counts[k] * table)[first:last].sum()
            assert sums == pytest.approx(weight.sum(), rel=1e-12)
        step, point = 1e-6, int(statistic.rows.locator.first[order[1]]) + 5
        changed = []
        for sign in (1, -1):
            other = table.copy()
            other[point, 1, 2] += sign * step
            alone = TrainTables(statistic.rows, (order,), (other,), np.ones(1))
            one = LogDensities(alone, np.ones(N_FEATURES, bool), np.zeros(N_FEATURES, bool))
            changed.append(weight @ evaluated(one, values)["log_density"])
        slope = (changed[0] - changed[1]) / (2 * step)
        assert found.counts[k][point, 1, 2] == pytest.approx(slope, rel=1e-5, abs=1e-7)


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
def test_curves__are_ratios_of_densities(variable):
    statistic, values = train_counts(0.0), rows(10, missing=0.0)
    mode = small_modes()[variable]
    curves = ConditionalCurves(tables_of(statistic), variable, mode)
    at = statistic.rows.located(Block(values, {}, 0, 10), Workspace())
    found = curves.write(at, Workspace()).copy()
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
    at = statistic.rows.located(Block(values, {}, 0, 8), Workspace())
    found = curves.write(at, Workspace()).copy()
    # many levels in the tails, where quantiles grow with the third root
    parts = np.linspace(1e-4, 1 - 1e-4, 400_001)
    levels = parts**3 / (parts**3 + (1 - parts) ** 3)
    for row in range(8):
        drawn = curves.quantiles(np.repeat(found[[row]], len(levels), axis=0), levels)
        assert (np.diff(drawn) >= 0).all()
        # the mean is the integral of the quantiles
        assert np.trapezoid(drawn, levels) == pytest.approx(curves.means(found)[row], abs=1e-5)


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
    "surprise": lambda statistic: Surprises(tables_of(statistic), small_modes()),
    "symbol": lambda statistic: PredictedVariable(
        ConditionalCurves(tables_of(statistic), 3, small_modes()[3]), 0.8
    ),
}


@pytest.mark.parametrize("law", STATISTIC_LAWS, ids=lambda law: law.__name__)
def test_statistic_laws__hold_with_rows_held_out(law):
    law(StatisticCase(train_counts(0.0, hold_out=3), rows(150, missing=0.0)))


@pytest.mark.parametrize("law", ROW_FUNCTION_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_row_function_laws__hold(law, kind):
    law(RowFunctionCase(FUNCTIONS[kind](train_counts(0.0)), rows(150)))
