"""Rows of the pilot sample, with expected values in place of missing entries for clusterings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IndexArray
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.gaussian.shared_covariance_m_step import TotalMoments
from bigtensor.errors import DataError
from bigtensor.models.contract.script import in_memory
from bigtensor.models.gaussian.em_iterations import EmIterate, em_iterations
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.own_covariance.em import OwnCovarianceEm
from bigtensor.models.gaussian_mixture.regularisation import Regularisation
from bigtensor.models.gaussian_mixture.settings import GaussianSettings
from bigtensor.statistics.gaussian.incomplete_rows import completed_rows
from bigtensor.statistics.gaussian.own_covariance_densities import Frame
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.moments.covariances import Covariances
from bigtensor.statistics.row_copies import distinct_rows
from bigtensor.statistics.within_reach import Reach

_ITERATIONS, _TOLERANCE = 100, 1e-4
"""EM iterations for one Gaussian of all rows, and the gain at which they end, in nats a row."""

_RIDGE = 1e-6
"""Part of the variances that is added to them."""


@dataclass(frozen=True, eq=False)
class SampleRows:
    """Rows of a sample that are not far out.

    Attributes
    ----------
    block : Block
        The rows. NaN is missing.
    complete : (rows, d) array
        The rows with expected values in place of missing entries, given the others.
    """

    block: Block
    complete: NDArray[np.floating]

    @property
    def is_complete(self) -> bool:
        """True if no entry is missing."""
        return not np.isnan(self.block.dense_values[: self.block.rows]).any()

    @cached_property
    def total(self) -> TotalMoments:
        """Mean and covariance of the complete rows."""
        rows = replace(self.block, values=self.complete)
        columns = ((0, self.complete.shape[1]),)
        point = self.complete.mean(axis=0, dtype=np.float64)
        moments = sum_in_memory(Covariances(columns, point), rows)
        return TotalMoments(moments.mean, moments.covariance)

    @cached_property
    def distinct(self) -> IndexArray:
        """Number of every row among the distinct rows, which are in the order of the sample.

        Equal rows are held out together, whether they are copies or equal by chance: the narrower
        a component on such rows, the larger their density.
        """
        return distinct_rows(self.block.dense_values[: self.block.rows])

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows."""
        return int(self.distinct.max()) + 1

    def of_features(self, positions: NDArray[np.intp]) -> SampleRows:
        """Return rows with features in another order.

        Parameters
        ----------
        positions : (d,) integer array
            Position of every feature in the present order.
        """
        values, complete = (
            np.ascontiguousarray(rows[:, positions])
            for rows in (self.block.dense_values, self.complete)
        )
        return SampleRows(replace(self.block, values=values), complete)

    def part(self, chosen: NDArray[np.bool_]) -> SampleRows:
        """Return some rows.

        Parameters
        ----------
        chosen : (rows,) bool array
            True for the rows that are returned.
        """
        block = self.block
        values = np.ascontiguousarray(block.dense_values[: block.rows][chosen])
        weight = None if block.weight is None else block.weight[: block.rows][chosen]
        return SampleRows(
            Block(values, block.slices, 0, len(values), weight=weight), self.complete[chosen]
        )


def completed_sample(block: Block, reach: Reach, settings: GaussianSettings) -> SampleRows:
    """Return rows of a sample, with conditional means in place of missing entries.

    The means are those of one Gaussian, of which EM iterations find the parameters.

    Parameters
    ----------
    block : Block
        Rows of the pilot sample.
    reach : Reach
        The rows that count.
    settings : GaussianSettings
        Resolved parameters of the fit.

    Raises
    ------
    DataError
        When a feature has no entry in the sample.
    """
    values = block.dense_values[: block.rows]
    missing = np.isnan(values)
    if not missing.any():
        return SampleRows(block, values)
    if missing.all(axis=0).any():
        name = settings.features[int(np.argmax(missing.all(axis=0)))]
        raise DataError(f"feature {name!r} has no entry in {len(values):,} rows: leave it out")
    entries = np.asarray(values, np.float64)
    mean, variances = np.nanmean(entries, axis=0), np.nanvar(entries, axis=0)
    variances[variances == 0] = 1.0
    full = settings.covariance_type == "full"
    scaling = variances**-0.5
    first = OwnCovarianceComponents(
        np.ones(1),
        mean[None],
        np.diag(variances)[None] if full else variances[None],
        Frame(mean, np.diag(scaling) if full else scaling),
        settings.shape.views,
        settings.shape.dtype,
    )
    script = em_iterations(
        EmIterate(first),
        OwnCovarianceEm(reach, Regularisation(_RIDGE * variances)),
        max_iter=_ITERATIONS,
        tolerance=_TOLERANCE,
    )
    gaussian = in_memory(script, block).state.components
    return SampleRows(block, completed_rows(entries, gaussian.means[0], gaussian.covariances[0]))
