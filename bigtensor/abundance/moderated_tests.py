"""Moderated F and t tests of coefficients, averaged over standard deviations between samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from bigtensor.abundance.between_samples import (
    DEVIATIONS,
    DeviationPriors,
    GridFits,
    grid_fits,
)
from bigtensor.abundance.sample_weights import SampleWeights
from bigtensor.abundance.working_logits import least_cells, pooled_logits, working_logits
from bigtensor.array_types import FloatArray

_MOST_ITERATIONS = 50
"""Iterations of the linearisation. Five to ten are usual."""

_TOLERANCE = 1e-4
"""Change of fitted logits at which iterations end: a hundredth of the standard error of a logit in
10,000 cells."""

_LARGEST_STEP = 2.0
"""Change of a fitted logit in one iteration at most. A cell where hardly any was expected asks for
far too large a step."""

_LEAST_VARIANCE = 2e-6
"""Smallest variance of a precision, at which a test has a million degrees of freedom."""


@dataclass(frozen=True, eq=False)
class PopulationFits:
    """Linear models of the logits of all populations.

    Attributes
    ----------
    fits : GridFits
        For every standard deviation between samples.
    posterior : (populations, grid) float64 array
        Probabilities of the standard deviations.
    """

    fits: GridFits
    posterior: FloatArray

    @property
    def deviations(self) -> FloatArray:
        """Mean standard deviation between samples of every population."""
        return np.asarray(self.posterior @ DEVIATIONS)


@dataclass(frozen=True, eq=False)
class CoefficientTests:
    """Tests of some coefficients together, for every population.

    Attributes
    ----------
    estimate : (populations, c) float64 array
        Coefficients, averaged with their precisions.
    standard_error : (populations, c) float64 array
        Roots of the inverse of the mean precision.
    degrees_of_freedom : (populations,) float64 array
        After Satterthwaite (1946), from the spread of the precision.
    statistic, p_value : (populations,) float64 array
        Of the F test that all c coefficients are zero.
    """

    estimate: FloatArray
    standard_error: FloatArray
    degrees_of_freedom: FloatArray
    statistic: FloatArray
    p_value: FloatArray

    def margin(self, level: float) -> FloatArray:
        """Half the length of confidence intervals of this level, (populations, c)."""
        quantile = np.asarray(stats.t.ppf(0.5 + level / 2, self.degrees_of_freedom))
        return np.asarray(quantile[:, None] * self.standard_error)


def fit_populations(weights: SampleWeights, matrix: FloatArray) -> PopulationFits:
    """Fit a linear model of logits to every population.

    Parameters
    ----------
    weights : SampleWeights
        Weights of all samples.
    matrix : (samples, coefficients) float64 array
        Design matrix of full rank, the first column of ones.
    """
    pooled = pooled_logits(weights)
    priors = DeviationPriors.of_shares(pooled)
    fitted = np.tile(pooled[:, None], len(weights.samples))
    least = least_cells(weights, matrix)
    previous, damping = np.zeros_like(fitted), np.ones((len(fitted), 1))
    for _ in range(_MOST_ITERATIONS):
        fits = grid_fits(*working_logits(weights, fitted, least), matrix)
        posterior = priors.posteriors(fits.log_likelihood, dependent=weights.is_whole)
        coefficients = np.einsum("jg,jgp->jp", posterior, fits.coefficients)
        step = coefficients @ matrix.T - fitted
        # cells of few samples alone can make fits jump back and forth
        back, size = -(step * previous).sum(axis=1), (previous**2).sum(axis=1)
        reverses = (2.0 * back > size)[:, None]
        damping = np.where(reverses, damping / 2, damping)
        previous, fitted = step, fitted + damping * np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
        if np.abs(step).max() < _TOLERANCE:
            break
    return PopulationFits(fits, posterior)


def coefficient_tests(fitted: PopulationFits, tested: slice) -> CoefficientTests:
    """Test coefficients together.

    If the variance of the coefficients is a scaled inverse chi squared, as without sampling error,
    these are the moderated F tests of limma.

    Parameters
    ----------
    fitted : PopulationFits
        Models of all populations.
    tested : slice
        Positions of the c coefficients.
    """
    posterior = fitted.posterior
    coefficients = fitted.fits.coefficients[..., tested]
    precision = np.linalg.inv(fitted.fits.covariance[..., tested, tested])
    mean_precision = np.einsum("jg,jgpq->jpq", posterior, precision)
    covariance = np.linalg.inv(mean_precision)
    moment = np.einsum("jg,jgpq,jgq->jp", posterior, precision, coefficients)
    estimate = np.einsum("jpq,jq->jp", covariance, moment)
    count = estimate.shape[1]
    relative = np.einsum("jpq,jgqp->jg", covariance, precision) / count
    spread = np.einsum("jg,jg->j", posterior, (relative - 1.0) ** 2)
    degrees = 2.0 / np.maximum(spread, _LEAST_VARIANCE)
    statistic = np.einsum("jp,jpq,jq->j", estimate, mean_precision, estimate) / count
    return CoefficientTests(
        estimate,
        np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)),
        degrees,
        statistic,
        stats.f.sf(statistic, count, degrees),
    )
