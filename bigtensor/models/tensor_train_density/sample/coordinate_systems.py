"""Coordinates of the rows of a pilot sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.features.coordinates import Coordinates
from bigtensor.models.tensor_train_density.sample.pilot import PilotRows
from bigtensor.statistics.base import Workspace

SHRINKAGES = (0.0, 0.01, 0.03, 0.08, 0.2)
"""Shares of the identity in the correlation of rotated coordinates, to choose from."""

_LEAST_EIGENVALUE = 1e-4
"""Of a correlation matrix, so that no axis is stretched more than a hundredfold."""

_WIDTHS_OF_AXIS = 2.0
"""Standard deviations of the data along the narrowest axis, in units of the least width."""


def is_rotated(system: str) -> bool:
    """Return True for coordinates that are no functions of single variables."""
    return system.endswith(("pca", "zca"))


def coordinates_of(rows: PilotRows, system: str, shrinkage: float) -> Coordinates:
    """Return coordinates of the kind that a name stands for.

    Parameters
    ----------
    rows : PilotRows
        Pilot sample that the coordinates are estimated from.
    system : {"z", "ns", "pca", "ns-pca", "zca", "ns-zca"}
        Name of the coordinates, as in `TensorTrainDensity`.
    shrinkage : float
        Share of the identity in the correlation of rotated coordinates.
    """
    coordinates = rows.standard
    if not len(rows.measured):
        return coordinates
    if system.startswith("ns"):
        coordinates = replace(coordinates, scores=rows.normal_scores)
    if is_rotated(system):
        values = rows.standardised.copy()
        if coordinates.scores is not None:
            coordinates.scores.write(values, np.zeros(len(values)))
        values = values[:, rows.rotatable]
        mean = np.average(values, axis=0, weights=rows.weight)
        least = max(_LEAST_EIGENVALUE, ((rows.least_width or 0.0) / _WIDTHS_OF_AXIS) ** 2)
        correlation = _correlation(values - mean, rows.weight, shrinkage)
        axes = _axes(correlation, least, symmetric=system.endswith("zca"))
        coordinates = replace(coordinates, axes=axes, mean=mean, rotated=rows.rotatable)
    return coordinates


def coordinates_in_memory(
    coordinates: Coordinates, values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the coordinates of rows, and the logarithms of their derivatives."""
    transformed, log_slope = np.empty_like(values), np.empty(len(values))
    coordinates.write(values, transformed, log_slope, Workspace())
    return transformed, log_slope


def _correlation(centred: FloatArray, weight: FloatArray, shrinkage: float) -> FloatArray:
    """Return the correlation of standardised variables, with a share of the identity."""
    covariance = (centred.T * weight) @ centred / weight.sum()
    deviations = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviations, deviations)
    return np.asarray((1 - shrinkage) * correlation + shrinkage * np.eye(len(correlation)))


def _axes(correlation: FloatArray, least: float, *, symmetric: bool) -> FloatArray:
    """Return a matrix that makes rows uncorrelated, (m, m).

    Principal axes, or the whitening that is closest to the variables (Kessy, Lewin and Strimmer
    2018).
    """
    eigenvalues, vectors = np.linalg.eigh(correlation)
    whitening = vectors / np.sqrt(np.maximum(eigenvalues, least))
    return np.asarray(whitening @ vectors.T if symmetric else whitening)
