"""Shrinkage of covariances of components of few rows towards one covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray


@dataclass(frozen=True, eq=False)
class CovarianceShrinkage:
    """Shrinkage of the covariances of components towards a common covariance.

    The covariance of a component of weight w is ``(w S + a C) / (w + a)``, with S of its rows. It
    is the maximum of the likelihood with an inverse Wishart density around C.

    Attributes
    ----------
    centre : (d, d) float64 array
        The covariance C.
    weight : float
        Positive weight a, as a part of all rows.
    """

    centre: FloatArray
    weight: float

    def towards_centre(self, weights: FloatArray, covariances: FloatArray) -> FloatArray:
        """Return the covariances of components of such weights with shrinkage.

        Parameters
        ----------
        weights : (k,) float64 array
            Mixing weights.
        covariances : (k, d, d) float64 array
            Covariances of the rows.
        """
        own = (weights / (weights + self.weight))[:, None, None]
        return np.asarray(own * covariances + (1 - own) * self.centre)

    def log_density(self, covariances: FloatArray) -> float:
        """Return the log density of covariances a row, in nats, less its maximum.

        It is ``-a / 2 sum_h [tr(S_h^-1 C) - log |S_h^-1 C| - d]``, and zero if all are the centre.

        Parameters
        ----------
        covariances : (k, d, d) float64 array
            Positive definite covariances.
        """
        ratios = np.linalg.solve(covariances, self.centre[None])
        divergences = np.trace(ratios, axis1=1, axis2=2) - len(self.centre)
        divergences += np.linalg.slogdet(covariances)[1] - np.linalg.slogdet(self.centre)[1]
        return float(-0.5 * self.weight * divergences.sum())
