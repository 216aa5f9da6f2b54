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


def least_shares(weights: SampleWeights, matrix: FloatArray) -> FloatArray:
    """Return the smallest shares at which logits of samples are linearised.

    They are half a cell in all samples of a group together, so that sizes of samples in the group
    do not matter. In general, they are half the leverage of a sample, divided by its rows.

    Parameters
    ----------
    weights : SampleWeights
        Weights of n samples.
    matrix : (n, coefficients) float64 array
        Design matrix of full rank.
    """
    information = (matrix.T * weights.rows) @ matrix
    return LEAST_CELLS * np.asarray(
        np.einsum("ip,pq,iq->i", matrix, np.linalg.inv(information), matrix)
    )


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
        Smallest shares of a population, and of all others, at which logits are linearised.

    Returns
    -------
    response, variance : (k, n) float64 arrays
        Logits and their sampling variances.
    """
    share, rest = np.maximum(expit(fitted), least), np.maximum(expit(-fitted), least)
    rows = weights.rows.astype(np.float64)
    effective = rows / (1.0 + rows * _excess_variance(weights).T / (share * rest))
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
    """Return the variances of the weights in excess of binomial variances.

    A weight of zero has the standard error zero. It gets the mean excess of other samples.
    """
    rows = weights.rows[:, None]
    binomial = weights.weight * (1.0 - weights.weight) / rows
    stated = weights.standard_error > 0
    excess = np.where(stated, np.maximum(weights.standard_error**2 - binomial, 0.0), 0.0)
    mean = (excess * rows).sum(axis=0) / np.maximum(stated.sum(axis=0), 1)
    return np.where(stated, excess, mean / rows)
