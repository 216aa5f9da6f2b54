"""Sources of a kernel by the direct formulas, from the matrix of the kernel between all rows."""

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist


def gaussian_gram(x, y, bandwidth):
    return np.exp(-cdist(x, y, "sqeuclidean") / (2 * bandwidth**2))


class KernelPrincipalComponents(NamedTuple):
    """Largest principal components of the features of a kernel.

    Attributes
    ----------
    gram : (n, n) array
        Not centred.
    vectors : (n, k) array
        Of the centred matrix.
    values : (k,) array
    trace : float
        Of the centred matrix.
    """

    gram: np.ndarray
    vectors: np.ndarray
    values: np.ndarray
    trace: float

    @classmethod
    def of(cls, gram, k):
        means = gram.mean(axis=0)
        centred = gram - means - means[:, None] + gram.mean()
        values, vectors = np.linalg.eigh(centred)
        return cls(gram, vectors[:, ::-1][:, :k], values[::-1][:k], np.trace(centred))

    @property
    def whitened(self):
        """The rows, with the identity as covariance: sqrt(n) U."""
        return np.sqrt(len(self.gram)) * self.vectors

    def project(self, kernel):
        """Whiten new rows from their kernel with all rows, (m, n): sqrt(n) diag(1 / e) U' k~."""
        centred = (
            kernel - kernel.mean(axis=1, keepdims=True) - self.gram.mean(axis=0) + self.gram.mean()
        )
        return np.sqrt(len(self.gram)) * centred @ self.vectors / self.values


def feature_space_problem(rows, k, width, noise, seed):
    """Return points that are mixtures of skewed and heavy sources in a space of many features."""
    rng = np.random.default_rng(seed)
    hidden = rng.laplace(scale=np.sqrt(0.5), size=(rows, k))
    mixing = rng.standard_normal((width, k))
    mixing /= np.linalg.norm(mixing, axis=0)
    points = hidden @ mixing.T + noise / np.sqrt(width) * rng.standard_normal((rows, width))
    return points, mixing, hidden
