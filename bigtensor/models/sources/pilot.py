"""Pilot sample of a model of independent sources: the rows that count, and their axes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.sources.independent_components import PrincipalAxes
from bigtensor.features.column_order import content_order_of_columns
from bigtensor.models.contract.script import Script
from bigtensor.models.pilot.outliers import ordinary_rows
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.models.sources.passes import axes_of, products_in
from bigtensor.models.sources.rounding import rank_beyond_rounding
from bigtensor.models.sources.settings import SourceSettings, check_rows
from bigtensor.models.sources.whitened_sample import (
    WhitenedSample,
    independent_rotation,
)
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.moments.covariances import Covariances, CovariancesResult
from bigtensor.statistics.row_sample import Sample
from bigtensor.statistics.within_reach import Reach

_MOST_OCCURRENCES = 50_000
"""Rows that the weights of the sample stand for, at most."""


@dataclass(frozen=True, eq=False)
class Pilot:
    """Pilot sample without outlying rows.

    Attributes
    ----------
    rows : Block
        Rows that are not outlying.
    counted : Reach
        The rows that count.
    settings : SourceSettings
        Resolved parameters of the fit.
    diagnostics : dict
        ``pilot_rows``, and of them ``outlying_rows`` and ``first_outlying_rows``.
    independent_share : float
        Independent rows per unit of weight, 1 without copies and weights.
    """

    rows: Block
    counted: Reach
    settings: SourceSettings
    diagnostics: dict[str, Any]
    independent_share: float

    @cached_property
    def moments(self) -> CovariancesResult:
        """Mean and covariance of the rows."""
        # of these rows alone, so that an outlying row changes no bit of a sum
        point = np.median(self.rows.dense_values, axis=0).astype(np.float64)
        return sum_in_memory(Covariances(self.settings.columns, point), self.rows)

    @cached_property
    def _order(self) -> IndexArray:
        """Order of the features by their content.

        Iterations towards sources that are nearly Gaussian amplify rounding errors without bound.
        Sums over features are therefore taken in an order that does not depend on positions.
        """
        return content_order_of_columns(self.rows.dense_values, self.rows.weight)

    @cached_property
    def _ordered(self) -> Pilot:
        """The sample with features in the order of their content."""
        rows = replace(
            self.rows, values=np.ascontiguousarray(self.rows.dense_values[:, self._order])
        )
        return replace(self, rows=rows)

    @cached_property
    def axes(self) -> PrincipalAxes:
        """Principal axes of the rows."""
        axes = axes_of(self._ordered.moments, self.settings)
        axes = axes.within(rank_beyond_rounding(axes, self._ordered.rows.dense_values))
        return axes.of_features(np.argsort(self._order))

    @cached_property
    def whitened(self) -> WhitenedSample:
        """The rows along all axes."""
        dtype = products_in(self.axes, self.settings)
        ordered = self._ordered
        return WhitenedSample.of_block(
            ordered.rows, self.axes.of_features(self._order), ordered.moments.mean, dtype
        )


def drawn_pilot(settings: SourceSettings) -> Script:
    """Ask for a sample, and leave out outlying rows."""
    sample: Sample = yield pilot_pass(settings)
    # without those of weight zero, which the shape of the data counts
    check_rows(max(len(sample.values), float(sample.row_weights().sum())), 1)
    # the choice of the method compares blocks of consecutive rows, which may be a recording
    ordinary = ordinary_rows(
        sample, settings.columns, settings.shape, heavy_tails=True, keeps_order=True
    )
    diagnostics = {"pilot_rows": len(sample.values), **ordinary.diagnostics}
    rows = ordinary.sample.block(settings.shape.slices)
    # rows that counts stand for may be equal by chance, which the rows alone do not show
    share = ordinary.sample.by_occurrence(_MOST_OCCURRENCES).independent_share
    return Pilot(rows, ordinary.reach, settings, diagnostics, share)


def pilot_rotation(settings: SourceSettings, pilot: Pilot, n_components: int) -> FloatArray:
    """Return the orthonormal columns along the first axes whose sources are least Gaussian.

    Parameters
    ----------
    settings : SourceSettings
        Resolved parameters of the fit.
    pilot : Pilot
        The pilot sample.
    n_components : int
        At most the rank of the sample.
    """
    along = pilot.whitened.along(n_components)
    thinned = along.part(0, max(1, pilot.rows.rows // settings.rows_of_rotation))
    return independent_rotation(thinned, n_components, settings.random_state)
