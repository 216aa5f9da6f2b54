"""Passes that a fit may ask for, with statistics of the sizes to come."""

from __future__ import annotations

import numpy as np

from bigtensor.decomposition.tensor_train.variable_order import MOST_FEATURES
from bigtensor.features.bumps import MOST_NODES
from bigtensor.features.coordinates import Coordinates
from bigtensor.features.margins.normal_scores import CELLS, NormalScores
from bigtensor.features.modes import Locator
from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.models.tensor_train_density.sample.atoms import MOST_ATOMS
from bigtensor.models.tensor_train_density.sample.kernel_fit import MOST_KERNELS
from bigtensor.models.tensor_train_density.sample.stack import COMPONENTS
from bigtensor.models.tensor_train_density.sample_fit import REACH, ROWS_OF_ORDER, STRUCTURES
from bigtensor.models.tensor_train_density.settings import TrainSettings
from bigtensor.statistics.base import Pass
from bigtensor.statistics.tensor_train.located_rows import RowLocator
from bigtensor.statistics.tensor_train.tabulated_train import TabulatedTrain
from bigtensor.statistics.tensor_train.train_counts import TrainCounts

_COPIES = 12
"""Numbers that the driver holds for every entry of the sample: values, points and shares."""

_FEATURE_COPIES = 7
"""Copies of the features of a variable, and of the leading features of all."""

_PAIR_COPIES = 4
"""Arrays of all pairs of rows beside the kernel of every variable."""

_KERNEL_COPIES = 8
"""Arrays of all pairs of rows with a kernel, and of such rows and points."""

_TABLES = 4
"""Tables of a train that the driver holds at once."""


def planned_preparation(settings: TrainSettings) -> list[PlannedPass]:
    """Return upper bounds of the passes before the sums over all rows."""
    d, bumps = len(settings.features), _most_bumps(settings)
    if settings.method == "embedding":
        # the kernels of all pairs of rows, for every variable, and products of them
        pairs = 8 * (d + _PAIR_COPIES) * settings.shape.rows**2
        return [PlannedPass(pilot_pass(settings), driver_nbytes=pairs)]
    sample = 8 * _COPIES * settings.pilot_rows * d
    rows = min(settings.pilot_rows, ROWS_OF_ORDER)
    order = 8 * _FEATURE_COPIES * rows * (bumps + d * MOST_FEATURES)
    tables = _TABLES * (settings.n_trains * _table_nbytes(settings) + 8 * bumps * _points(settings))
    # responsibilities and whitened rows of Gaussian components, and their covariances
    k = max(COMPONENTS)
    gaussian = 8 * settings.pilot_rows * (4 * k + 6 * d) + 8 * 6 * k * (d**2 + _points(settings))
    # distances of rows with a kernel, and what follows from them
    n = min(settings.pilot_rows, MOST_KERNELS)
    kernels = 8 * _KERNEL_COPIES * n * (n + _points(settings))
    needed = sample + tables + max(order, gaussian, kernels)
    return [PlannedPass(pilot_pass(settings), driver_nbytes=needed)]


def planned_refinement(settings: TrainSettings) -> list[PlannedPass]:
    """Return upper bounds of the sums over all rows."""
    if settings.method == "embedding":
        return []
    d = len(settings.features)
    points, r = _points(settings), max(settings.ranks)
    splines = np.ones((d, CELLS + 1))
    scores = NormalScores(splines, splines, splines)
    coordinates = Coordinates(
        *(np.arange(d, dtype=np.int64), np.zeros(d), np.ones(d), scores, np.eye(d), np.zeros(d))
    )
    locator = Locator(
        *(np.zeros(d + 1, np.int64), np.ones(d, np.bool_), np.zeros((d, 4)), np.zeros(points))
    )
    # a view of one number stands for tables of the right size
    table = np.broadcast_to(np.zeros(()), (points + 1, r, r))
    nodes = STRUCTURES[settings.structure](range(d))
    branches = np.broadcast_to(np.zeros(()), (len(nodes) - d, r, r, r))
    trains = settings.n_trains
    sums = TrainCounts(
        RowLocator(coordinates, locator),
        (TabulatedTrain(nodes, table, branches),) * trains,
        np.full(trains, 1 / trains),
    )
    passes = settings.max_iter if settings.is_sampled else 1
    driver = _TABLES * trains * _table_nbytes(settings)
    return [PlannedPass(Pass("expectation", sums), passes, driver_nbytes=driver)]


def _most_bumps(settings: TrainSettings) -> int:
    """Return the largest number of bumps of a variable."""
    if settings.symbols:
        return max(settings.symbols) + 1
    # a bump may not be narrower than the distance of the nodes allows
    counts = (
        sum(min(MOST_NODES, int(2 * (REACH + widths[0]) / width) + 2) for width in widths)
        for widths in settings.widths
    )
    return max(counts) + 2 + MOST_ATOMS


def _points(settings: TrainSettings) -> int:
    """Return the largest number of points of all variables."""
    if settings.symbols:
        return sum(count + 2 for count in settings.symbols)
    return len(settings.features) * (MOST_NODES + MOST_ATOMS + 1)


def _table_nbytes(settings: TrainSettings) -> int:
    """Return the bytes of the matrices of one train at all points."""
    branchings = len(settings.features) - 1 if settings.structure == "balanced" else 0
    r = max(settings.ranks)
    return 8 * ((_points(settings) + 1) * r**2 + branchings * r**3)
