"""Rows of independent sources with known mixing columns, and the error of estimated columns."""

import numpy as np
from scipy.optimize import linear_sum_assignment


def sources(kind, rows, k, rng):
    heavy = rng.laplace(scale=np.sqrt(0.5), size=(rows, k))
    light = rng.uniform(-np.sqrt(3), np.sqrt(3), (rows, k))
    if kind == "mixed":
        heavy[:, ::2] = light[:, ::2]
    return light if kind == "uniform" else heavy


def problem(kind, d, k, rows, noise=0.0, seed=0, dtype="f4"):
    """Return rows, true columns and true sources; the noise is correlated between features."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((d, k))
    mixing /= np.linalg.norm(mixing, axis=0)
    hidden = sources(kind, rows, k, rng)
    values = hidden @ mixing.T
    if noise:
        axes, _ = np.linalg.qr(rng.standard_normal((d, d)))
        deviations = np.exp(rng.uniform(-1, 1, d))
        deviations *= noise / np.sqrt(np.mean(deviations**2))
        values = values + (rng.standard_normal((rows, d)) * deviations) @ axes.T
    return values.astype(dtype), mixing, hidden


def column_error(true, found):
    """Return the mean sine of the angle between matched columns, whatever their signs."""
    true, found = (columns / np.linalg.norm(columns, axis=0) for columns in (true, found))
    cosines = np.abs(true.T @ found)
    ours, theirs = linear_sum_assignment(-cosines)
    sines = np.ones(true.shape[1])
    sines[ours] = np.sqrt(np.maximum(1 - cosines[ours, theirs] ** 2, 0))
    return sines.mean()
