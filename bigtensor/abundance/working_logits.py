"""Logits of weights of samples, corrected for small counts, with their sampling variances."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from bigtensor.abundance.count_transform import log_count_moments
from bigtensor.abundance.sample_weights import SampleWeights
from bigtensor.array_types import FloatArray

LEAST_CELLS = 0.5
"""Cells that a population without any has in a group at least."""


def pooled_logits(weights: SampleWeights) -> FloatArray:
    """Return the logit of every population in all rows, with half a row more on either side."""
    cells = weights.rows @ weights.weight
    return np.asarray(np.log(cells + 0.5) - np.log(weights.rows.sum() - cells + 0.5))


def least_cells(weights: SampleWeights, matrix: FloatArray) -> FloatArray:
    """Return the smallest numbers of cells at which logits of samples are linearised: ``(n,)``.

    They are half a cell in all samples of a group together, in proportion to their rows, so that
    sizes of samples in the group do not matter. In general, they are half the leverage of a sample.

    Parameters
    ----------
    weights : SampleWeights
        Weights of n samples.
    matrix : (n, coefficients) float64 array
        Design matrix of full rank.
    """
    information = (matrix.T * weights.rows) @ matrix
    leverage = np.einsum("ip,pq,iq->i", matrix, np.linalg.inv(information), matrix) * weights.rows
    return LEAST_CELLS * np.asarray(leverage)


def working_logits(
    weights: SampleWeights, fitted: FloatArray, least: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return responses of a linear model of logits, linearised at fitted logits.

    A weight with a standard error stands for a count of fewer, effective rows. The logit of that
    count plus a half is corrected for its bias at the fitted weight. The variance is that at the
    fitted weight too, because a variance at the observed weight would depend on the response.

    Parameters
    ----------
    weights : SampleWeights
        Weights of n samples and k populations.
    fitted : (k, n) float64 array
        Fitted logits.
    least : (n,) float64 array
        Smallest numbers of cells at which logits are linearised.

    Returns
    -------
    response, variance : (k, n) float64 arrays
        Logits and their sampling variances.
    """
    excess, deff = _excess_variance(weights).T, _design_effect(weights)[:, None]
    rows = np.where(weights.standard_error.T > 0, weights.rows, weights.rows / deff)
    # the share of which the effective rows have the least number of cells
    alone = least / rows
    smallest = 0.5 * (alone + np.sqrt(alone**2 + 4.0 * least * excess))
    share, rest = np.maximum(expit(fitted), smallest), np.maximum(expit(-fitted), smallest)
    effective = rows / (1.0 + rows * excess / (share * rest))
    response, variance = np.zeros_like(fitted), np.zeros_like(fitted)
    sides = (1.0, share, weights.weight.T), (-1.0, rest, 1.0 - weights.weight.T)
    for sign, expected_share, observed_share in sides:
        mean = effective * expected_share
        expected, slope, of_log = log_count_moments(mean)
        distance = np.log(effective * observed_share + 0.5) - expected
        response += sign * (np.log(mean) + distance / slope)
        variance += of_log / slope**2
    return response, variance


def _excess_variance(weights: SampleWeights) -> FloatArray:
    """Return the variances of the weights in excess of binomial variances: ``(n, k)``."""
    binomial = weights.weight * (1.0 - weights.weight) / weights.rows[:, None]
    return np.maximum(weights.standard_error**2 - binomial, 0.0)


def _design_effect(weights: SampleWeights) -> FloatArray:
    """Return variances of weights over binomial variances in samples with standard errors: (k,).

    A weight of zero has the standard error zero. It stands for fewer rows in this ratio.
    """
    rows = weights.rows[:, None]
    stated = weights.standard_error > 0
    binomial = np.where(stated, weights.weight * (1.0 - weights.weight), 0.0).sum(axis=0)
    excess = (_excess_variance(weights) * rows).sum(axis=0)
    return np.asarray(1.0 + excess / np.where(binomial > 0, binomial, 1.0))
