"""Distances between compositions of samples, and a map of samples that keeps them."""

from __future__ import annotations

import numpy as np

from bigtensor.abundance.sample_weights import SampleWeights
from bigtensor.array_types import FloatArray


def composition_distances(weights: SampleWeights) -> FloatArray:
    """Return Aitchison distances between samples, without what counting alone explains.

    A composition is the centred logarithms of counts plus a half. Each population enters with the
    share of its variance between samples that exceeds the sampling variance, so that populations
    of a few cells, whose logarithms are noise, count little.

    Parameters
    ----------
    weights : SampleWeights
        Of n samples.

    Returns
    -------
    (n, n) float64 array
        Symmetric, zero on the diagonal.
    """
    cells = weights.weight * weights.rows[:, None] + 0.5
    logs = np.log(cells)
    centred = logs - logs.mean(axis=1, keepdims=True)
    deviation = centred - centred.mean(axis=0)
    variance = (deviation**2).sum(axis=0) / max(len(cells) - 1, 1)
    uncertain = np.maximum(weights.standard_error * weights.rows[:, None], 0.0) ** 2
    sampling = (np.maximum(uncertain, cells) / cells**2).mean(axis=0)
    reliable = np.divide(
        np.maximum(variance - sampling, 0.0),
        variance,
        out=np.zeros_like(variance),
        where=variance > 0,
    )
    differences = centred[:, None] - centred
    return np.asarray(np.sqrt((differences**2 * reliable).sum(axis=-1)))


def classical_scaling(distances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Place points in a plane so that their distances are about as given (Torgerson, 1952).

    Parameters
    ----------
    distances : (n, n) float64 array
        Symmetric.

    Returns
    -------
    coordinates : (n, 2) float64 array
        Zeros in dimensions that the distances do not need. In every one, the coordinate with the
        largest absolute value is positive.
    shares : (2,) float64 array
        Share of the sum of squares along each dimension.
    """
    count = len(distances)
    centring = np.eye(count) - 1.0 / count
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    order = np.argsort(values)[::-1][:2]
    scale = np.sqrt(np.maximum(values[order], 0.0))
    coordinates = np.zeros((count, 2))
    coordinates[:, : len(order)] = vectors[:, order] * scale
    largest = np.abs(coordinates).argmax(axis=0)
    sign = np.where(coordinates[largest, np.arange(2)] < 0, -1.0, 1.0)
    shares = np.zeros(2)
    total = np.maximum(values, 0.0).sum()
    if total > 0:
        shares[: len(order)] = scale**2 / total
    return coordinates * sign, shares
