"""Section of the report of a density: one variable given its neighbour along the chain."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.modes import Nodes
from bigtensor.models.tensor_train_density.solution import TrainDensity
from bigtensor.models.words.report_blocks import Group, Section, Words
from bigtensor.models.words.report_figures import ConditionalPlot
from bigtensor.statistics.in_memory import outputs_in_memory
from bigtensor.statistics.tensor_train.conditional_curves import ConditionalCurves
from bigtensor.statistics.tensor_train.imputation import PREDICTION, PredictedVariable

MOST_PLOTS = 12
"""Pairs of variables that are drawn."""

INTERVAL = 0.8
"""Probability between the bounds."""

_LEVELS = np.linspace(0.01, 0.99, 99)


def conditional_sections(
    density: TrainDensity, drawn: FloatArray, values: FloatArray | None
) -> tuple[Section, ...]:
    """Return the section of neighbours along the chain, or none if there are no such pairs.

    Parameters
    ----------
    density : TrainDensity
        Without axes.
    drawn : (n, d) float64 array
        Rows drawn from the density.
    values : (m, d) float64 array, optional
        Rows of the data, shown behind the curves.
    """
    pairs = [_condition_first(density, *pair) for pair in pairwise(density.order.tolist())]
    plots = tuple(
        _plot(density, pair, drawn, values)
        for pair in islice((pair for pair in pairs if pair is not None), MOST_PLOTS)
    )
    if not plots:
        return ()
    words = (
        f"Median and {INTERVAL:.0%} interval of a variable by the value of another one that stands "
        f"beside it above{', over rows of the data' * (values is not None)}. All other variables "
        "may have any value."
    )
    blocks = (Words(words), Group(plots, layout="wide"))
    return (Section("conditionals", "One variable by another one", blocks),)


def conditional_quantiles(
    density: TrainDensity, condition: int, target: int, grid: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the median and the bounds of a variable at values of another one, (g,) each.

    Parameters
    ----------
    density : TrainDensity
        Without axes.
    condition, target : int
        Numbers of the conditioning variable and of the variable of the quantiles.
    grid : (g,) float64 array
        Values of the conditioning variable.
    """
    others = {j: None for j in range(len(density.features)) if j not in (condition, target)}
    pair = density.without(others) if others else density
    place = int(target > condition)
    rows = np.full((len(grid), 2), np.nan)
    rows[:, 1 - place] = grid
    curves = ConditionalCurves(pair.tables_of_rows, place, pair.modes.modes[place])
    function = PredictedVariable(curves, INTERVAL)
    predicted = outputs_in_memory(function, Block(rows, {}, 0, len(rows)))[PREDICTION]
    _, median, lower, upper = predicted.T
    return median, lower, upper


def _condition_first(density: TrainDensity, left: int, right: int) -> tuple[int, int] | None:
    """Return the variable that is given and the measured one that is asked for, if there is one."""
    modes = density.modes.modes
    if not isinstance(modes[right], Nodes):
        left, right = right, left
    mode = modes[left]
    # a constant variable tells nothing of its neighbour
    is_constant = not isinstance(mode, Nodes) and len(mode.values) < 2
    return None if is_constant or not isinstance(modes[right], Nodes) else (left, right)


def _plot(
    density: TrainDensity, pair: tuple[int, int], drawn: FloatArray, values: FloatArray | None
) -> ConditionalPlot:
    """Return the plot of one variable given another one."""
    condition, target = pair
    mode = density.modes.modes[condition]
    if isinstance(mode, Nodes):
        grid = np.unique(np.quantile(drawn[:, condition], _LEVELS))
    else:
        grid = np.asarray(mode.values, np.float64)
    median, lower, upper = conditional_quantiles(density, condition, target, grid)
    rows = np.empty((0, 2)) if values is None else values[:, pair]
    complete = rows[~np.isnan(rows).any(axis=1)]
    names = density.features[condition], density.features[target]
    return ConditionalPlot(
        f"{names[1]} given {names[0]}",
        grid,
        median,
        lower,
        upper,
        names,
        not isinstance(mode, Nodes),
        complete[:, 0],
        complete[:, 1],
    )
