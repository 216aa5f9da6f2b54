"""Errors of the two estimators of mixing columns, by leaving out blocks of the sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.gauss_newton import gauss_newton_step
from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.decomposition.sources.independent_components import (
    RANK_CUT,
    symmetric_orthogonalisation,
)
from bigtensor.models.sources.whitened_sample import WhitenedSample, settled_rotation
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.moments.covariances import Covariances

BLOCKS = 8
"""Blocks of consecutive rows, each of which is left out once."""

_SUMS = 4
_STEPS = 2
"""Sums of fixed-point iterations, and Gauss-Newton steps, from the estimates of all blocks."""


def estimated_errors(
    sample: WhitenedSample, rotation: FloatArray, terms: Terms, rows: float
) -> tuple[float, float]:
    """Return the mean squared error of both estimators: whitened rows, and the fourth cumulant.

    Both are estimated without one block of consecutive rows at a time, which gives their variances
    (the jackknife of Quenouille and Tukey). The columns of the cumulant have no bias from Gaussian
    noise, so that the squared distance of both estimates, less the variance of their difference, is
    the squared bias of the whitened columns.

    Parameters
    ----------
    sample : WhitenedSample
        Along all axes.
    rotation : (q, k) array
        Orthonormal columns, zero along the axes after the first k.
    terms : Terms
        Terms of the cumulant, as many as columns and in their order.
    rows : float
        Rows of the fit. Variances are those of as many rows.
    """
    whitened, oblique = _unit(rotation, sample), _unit(terms.factors[0], sample)
    oblique *= np.sign((whitened * oblique).sum(axis=0))
    part = np.arange(sample.block.rows) * BLOCKS // sample.block.rows
    of_whitened: list[FloatArray] = []
    of_cumulant: list[FloatArray] = []
    for block in range(BLOCKS):
        kept = replace(sample, block=sample.block.keep(part != block))
        for estimates, centre, columns in (
            (of_whitened, whitened, _whitened_columns(kept, rotation)),
            (of_cumulant, oblique, _cumulant_columns(kept, terms)),
        ):
            unit = _unit(columns, sample)
            estimates.append(unit * np.sign((centre * unit).sum(axis=0)))
    share = sample.block.total_weight() / rows
    first, second = np.array(of_whitened), np.array(of_cumulant)
    distance = float(np.square(whitened - oblique).sum(axis=0).mean())
    squared_bias = max(distance - _variance(first - second), 0.0)
    return squared_bias + share * _variance(first), share * _variance(second)


def matched_terms(terms: Terms, columns: FloatArray) -> Terms:
    """Return terms in the order of the columns that they are nearest to.

    Parameters
    ----------
    terms : Terms
        As many as columns.
    columns : (q, k) array
        Orthonormal columns.
    """
    cosines = np.abs(columns.T @ terms.factors[0])
    return terms.take(linear_sum_assignment(-cosines)[1])


def _unit(columns: FloatArray, sample: WhitenedSample) -> FloatArray:
    """Return columns along the axes as unit columns of standardised features."""
    standardised = sample.axes.unwhitening @ columns / sample.axes.scales[:, None]
    return np.asarray(standardised / np.linalg.norm(standardised, axis=0))


def _variance(estimates: FloatArray) -> float:
    """Return the mean variance of columns, from estimates without a block each."""
    deviations = estimates - estimates.mean(axis=0)
    blocks = len(estimates)
    return float((blocks - 1) / blocks * np.square(deviations).sum(axis=(0, 1)).mean())


def _whitened_columns(kept: WhitenedSample, rotation: FloatArray) -> FloatArray:
    """Estimate columns from whitened rows, starting from the estimate of all rows."""
    k = rotation.shape[1]
    rows = kept.along(k)
    moments = sum_in_memory(Covariances(((0, k),), np.zeros(k)), rows.block)
    values, vectors = np.linalg.eigh(moments.covariance)
    # all rows that vary along an axis may be in the block that is left out
    roots = np.sqrt(np.maximum(values, RANK_CUT * values[-1]))
    again = (rows.block.dense_values[: rows.block.rows] - moments.mean) @ (vectors / roots)
    block = replace(rows.block, values=again.astype(rows.block.dense_values.dtype))
    sample = replace(rows, block=block)
    turned = symmetric_orthogonalisation((vectors / roots).T @ rotation[:k])
    turned = settled_rotation(sample, turned, _SUMS, still=0.0)
    columns = np.zeros_like(rotation)
    columns[:k] = (vectors * roots) @ turned
    return columns


def _cumulant_columns(kept: WhitenedSample, terms: Terms) -> FloatArray:
    """Estimate columns from the fourth cumulant, starting from the estimate of all rows."""
    contract = kept.cumulant()
    for _ in range(_STEPS):
        terms = gauss_newton_step(terms, contract(terms.factors)).terms
    return terms.factors[0]
