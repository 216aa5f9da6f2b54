"""Gaussian densities of measured rows in every state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.gaussian.own_covariance_m_step import m_step
from bigtensor.models.contract.data_shape import NamedViews
from bigtensor.statistics.gaussian.own_covariance_densities import Frame, OwnCovarianceDensities
from bigtensor.statistics.gaussian.quadratic_features import QuadraticFeatures

REGULARISATION = 1e-6
"""Added to the variances, in parts of those of all rows: a state may hold equal rows."""


@dataclass(frozen=True, eq=False)
class GaussianEmissions:
    """Means and covariances of all features in every state.

    Attributes
    ----------
    means : (k, d) float64 array
        In the frame.
    covariances : (k, d, d) or (k, d) float64 array
        In the frame: matrices, or variances of the features.
    frame : Frame
        Coordinates in which all rows have the mean zero and variances of one.
    views : tuple of (name, features)
        Views with their features.
    """

    means: FloatArray
    covariances: FloatArray
    frame: Frame
    views: NamedViews

    @property
    def n_states(self) -> int:
        """Number of states k."""
        return len(self.means)

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        k, d = self.means.shape
        return int(k * (d + (d * (d + 1) // 2 if self.covariances.ndim == 3 else d)))

    def densities(self) -> OwnCovarianceDensities:
        """Return the log densities of rows, with weights of one."""
        ones = np.ones(self.n_states)
        return OwnCovarianceDensities(ones, self.means, self.covariances, self.frame)

    def ordered(self, order: NDArray[np.intp]) -> GaussianEmissions:
        """Return the states in an order."""
        return replace(self, means=self.means[order], covariances=self.covariances[order])

    def draw(self, states: NDArray[np.int32], rng: np.random.Generator) -> FloatArray:
        """Draw a row in every state: ``(rows, features)``."""
        drawn = rng.standard_normal((len(states), self.means.shape[1]))
        roots = np.linalg.cholesky(self.matrices())
        for state in range(self.n_states):
            rows = states == state
            drawn[rows] = drawn[rows] @ roots[state].T + self.means[state]
        return self.frame.to_data(drawn)

    def distance(self, a: int, b: int) -> float:
        """Return an upper bound of the total variation between two states.

        It is the root of one minus the square of the coefficient of Bhattacharyya (1943).
        """
        first, second = self.matrices()[[a, b]]
        mean = (first + second) / 2
        apart = self.means[a] - self.means[b]
        logarithms = [np.linalg.slogdet(matrix)[1] for matrix in (mean, first, second)]
        exponent = apart @ np.linalg.solve(mean, apart) / 8
        exponent += (logarithms[0] - (logarithms[1] + logarithms[2]) / 2) / 2
        return float(np.sqrt(max(0.0, 1 - np.exp(-2 * exponent))))

    def matrices(self) -> FloatArray:
        """Return the covariances in the frame as matrices: ``(k, d, d)``."""
        if self.covariances.ndim == 3:
            return self.covariances
        return np.asarray(self.covariances[:, :, None] * np.eye(self.means.shape[1]))

    def feature_means(self) -> FloatArray:
        """Return the mean of every feature in every state, in the units of the data: ``(k, d)``."""
        return self.frame.to_data(self.means)

    def feature_covariances(self) -> FloatArray:
        """Return the covariances in the units of the data: ``(k, d, d)`` or ``(k, d)``."""
        units = 1 / self.frame.scaling
        squares = units**2 if self.covariances.ndim == 2 else units[:, None] * units
        return np.asarray(self.covariances * squares)


@dataclass(frozen=True, eq=False)
class GaussianLaw:
    """Gaussian emissions of sums of features of order two.

    Attributes
    ----------
    covariance_type : {"full", "diag"}
        Type of the covariances.
    frame : Frame
        Coordinates in which all rows have the mean zero and variances of one.
    views : tuple of (name, features)
        Views with their features.
    """

    covariance_type: str
    frame: Frame
    views: NamedViews

    @property
    def features(self) -> QuadraticFeatures:
        """Features of a row in the frame."""
        return QuadraticFeatures(self.covariance_type, len(self.frame.centre))

    def features_of(self, values: NDArray[Any]) -> FloatArray:
        """Return the features of rows ``(n, d)``: ``(n, D)``."""
        features = np.empty((self.features.width, len(values)))
        entries = self.features.entries_of(features)
        entries[:] = self.frame.of_rows(np.asarray(values, np.float64)).T
        self.features.fill(features)
        return features.T

    def emissions(self, sums: FloatArray) -> GaussianEmissions:
        """Return the most likely emissions of sums of features ``(D, k)``."""
        features, d = self.features, len(self.frame.centre)
        ridge = np.eye(d) if self.covariance_type == "full" else np.ones(d)
        step = m_step(
            sums[-1],
            sums[features.n_quadratic : -1].T,
            features.second_moments(sums),
            REGULARISATION * ridge,
        )
        return GaussianEmissions(step.means, step.covariances, self.frame, self.views)
