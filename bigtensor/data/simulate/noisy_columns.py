"""Rows that are the mean of a component, drawn with equal probabilities, and Gaussian noise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from bigtensor.data.simulate.rows import FloatArray, RowBlock, block_bounds


def unit_columns(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Draw columns that are uniform on the unit sphere.

    Parameters
    ----------
    rng : Generator
    shape : tuple of int
        The last entry but one is the length of a column, the last one the number of columns.
    """
    columns = rng.standard_normal(shape)
    columns /= np.linalg.norm(columns, axis=-2, keepdims=True)
    return columns


def noisy_columns(
    rng: np.random.Generator, means: FloatArray, deviation: float, rows: int
) -> Iterator[RowBlock]:
    """Yield rows and their labels.

    Parameters
    ----------
    rng : Generator
    means : (features, k) float64 array
    deviation : float
        Standard deviation of the noise of a feature.
    rows : int
    """
    transposed = np.ascontiguousarray(means.T, np.float32)
    for start, stop in block_bounds(rows):
        label = rng.integers(len(transposed), size=stop - start)
        values = rng.standard_normal((stop - start, means.shape[0]), np.float32)
        values *= np.float32(deviation)
        values += transposed[label]
        yield {"X": values, "label": label}


def component_names(truth: xr.Dataset) -> dict[str, list[str]]:
    """Return the names of the labels."""
    return {"label": [f"component {h}" for h in range(truth.sizes["component"])]}
