"""Passes that a fit of a discrete mixture may ask for, with statistics of the sizes to come."""

from __future__ import annotations

import numpy as np

from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.discrete_mixture.core import EXACT_SYMBOLS, POWER_PASSES
from bigtensor.models.discrete_mixture.expectation_maximisation import EM_PASSES
from bigtensor.models.discrete_mixture.settings import PILOT_ROWS, DiscreteSettings, three_groups
from bigtensor.models.discrete_mixture.solution import DiscreteSolution
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.statistics.base import Pass
from bigtensor.statistics.codes.code_counts import CodeCounts, table_cells
from bigtensor.statistics.codes.code_moments import Groups, ProjectedSymbols, SketchedPairs
from bigtensor.statistics.densities.posterior_sums import PosteriorSums

_CODE_NBYTES = 32
"""Bytes a row and view that the driver holds while it orders rows by their content: the codes four
times, and two arrays of float64."""

_ROW_ARRAYS = 12
"""Arrays of a number a row and component that the driver holds while it estimates in memory."""

_SYMBOL_ARRAYS = 24
"""Arrays of a number a symbol and direction that the driver holds while it solves the moments."""


def planned_preparation(settings: DiscreteSettings) -> list[PlannedPass]:
    """Return upper bounds of the passes before the sums over all rows."""
    if settings.counted:
        return []
    return [PlannedPass(pilot_pass(settings), driver_nbytes=_driver_nbytes(settings, PILOT_ROWS))]


def planned_refinement(settings: DiscreteSettings) -> list[PlannedPass]:
    """Return upper bounds of the sums over all rows."""
    if settings.counted:
        held = _driver_nbytes(settings, table_cells(settings.sizes))
        return [PlannedPass(Pass("counts", CodeCounts(settings.sizes)), driver_nbytes=held)]
    if settings.shape.rows <= PILOT_ROWS:
        return []
    groups, k = three_groups(settings.sizes, _used(settings)), settings.most_components
    directions = 2 * k
    planned = []
    if settings.method != "em":
        exact = max(group.size for group in groups) <= EXACT_SYMBOLS
        blank = _blank(groups, None if exact else directions)
        planned.append(PlannedPass(Pass("sketches", SketchedPairs(groups, blank))))
        if not exact:
            planned.append(PlannedPass(Pass("power", SketchedPairs(groups, blank)), POWER_PASSES))
        projected = ProjectedSymbols(groups, _blank(groups, directions))
        planned.append(PlannedPass(Pass("moments", projected)))
    times = settings.max_iter
    if times is None:
        spectral = k <= min(group.size for group in groups)
        times = EM_PASSES.get(settings.method if spectral else "em", 0)
    solution = DiscreteSolution(
        np.full(k, 1 / k), tuple(np.full((size, k), 1 / size) for size in settings.sizes)
    )
    planned.append(PlannedPass(Pass("posterior", PosteriorSums(solution.mixture())), max(times, 1)))
    return planned


def _driver_nbytes(settings: DiscreteSettings, most: int) -> int:
    """Return an upper bound of what the driver makes of at most so many distinct rows."""
    rows, k = min(settings.shape.rows, most), settings.most_components
    groups = three_groups(settings.sizes, _used(settings))
    symbols = sum(group.size * min(2 * k, group.size) for group in groups)
    of_rows = rows * (_CODE_NBYTES * len(settings.sizes) + 8 * (_ROW_ARRAYS + k))
    return of_rows + 8 * _SYMBOL_ARRAYS * symbols


def _used(settings: DiscreteSettings) -> tuple[int, ...]:
    """Return the views that may tell anything."""
    return tuple(view for view, size in enumerate(settings.sizes) if size > 1)


def _blank(groups: Groups, columns: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return projections of the right sizes; None stands for unit matrices."""
    first, second, third = (
        np.zeros((group.size, min(columns or group.size, group.size))) for group in groups
    )
    return first, second, third
