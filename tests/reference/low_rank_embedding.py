"""Nested kernel singular value decompositions in Gram matrices: Song and Dai 2013, Algorithm 3.

Corrected: the elementwise product with the Gram matrix of the earlier features, and 1/n once.
"""

import numpy as np


def kernel_svd(gram, later, rank, cut=1e-10):
    """Return coefficients and features of the leading directions of one split."""
    n = len(gram)
    eigenvalues, vectors = np.linalg.eigh(gram)
    kept = eigenvalues > cut * eigenvalues[-1]
    root = np.sqrt(eigenvalues[kept])[:, None] * vectors[:, kept].T
    leading = np.linalg.eigh(root @ later @ root.T / n**2)[1][:, ::-1][:, :rank]
    theta = (np.linalg.pinv(root) @ leading).T
    return theta, leading.T @ root


def low_rank_density(grams, at_points, rank):
    """Return the density at points.

    Parameters
    ----------
    grams : list of (n, n) arrays
        Kernel of every variable at the rows.
    at_points : list of (n, m) arrays
        Kernel between rows and points.
    rank : int
    """
    n = len(grams[0])
    later = [np.multiply.reduce([np.ones((n, n)), *grams[j + 1 :]]) for j in range(len(grams))]
    theta, gamma = kernel_svd(grams[0], later[0], rank)
    state = theta @ at_points[0]
    for j in range(1, len(grams) - 1):
        theta, onward = kernel_svd(grams[j] * (gamma.T @ gamma), later[j], rank)
        weights = (gamma.T @ state) * at_points[j]
        state, gamma = theta @ weights, onward
    return ((gamma.T @ state) * at_points[-1]).sum(axis=0) / n
