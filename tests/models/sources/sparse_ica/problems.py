"""Rows of few of many sources, with known columns."""

import numpy as np


def sparse_problem(d, k, active, rows, noise=0.05, seed=0, amplitudes="normal", dtype="f4"):
    """Return rows, true unit columns and true sources."""
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((d, k))
    columns /= np.linalg.norm(columns, axis=0)
    if amplitudes == "positive":
        sources = rng.exponential(size=(rows, k))
    else:
        sources = rng.standard_normal((rows, k))
    sources[rng.random((rows, k)) >= active / k] = 0
    values = sources @ columns.T + noise * rng.standard_normal((rows, d))
    return values.astype(dtype), columns, sources
