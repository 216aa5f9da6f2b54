"""Rows that are linear mixtures of independent sources, and Gaussian noise."""

import os
from collections.abc import Iterator

import numpy as np
import xarray as xr

from bigtensor.array_types import FloatArray
from bigtensor.data.simulate.rows import (
    Progress,
    RowBlock,
    Simulation,
    block_bounds,
    check_integer,
    documented_writer,
    true_parameters,
)
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.data.values.random_states import RandomState, integer_seed
from bigtensor.errors import ParameterError, Setting

SOURCES = ("laplace", "uniform", "sparse")
"""Distributions of a source; all have the mean 0 and the variance 1."""

SHARE = 0.1
"""Share of the rows in which a sparse source is not zero."""


def ica(
    rows: int,
    n_components: int,
    n_features: int = 10,
    noise: float = 0.0,
    sources: str = "laplace",
    random_state: RandomState = 0,
) -> xr.Dataset:
    """Draw rows of independent sources, mixed by columns on the unit sphere, and Gaussian noise.

    The noise has another variance in every feature: its standard deviations are log-uniform over a
    factor of e squared, with ``noise`` as root mean square.

    One generator, ``numpy.random.default_rng(random_state)``, drives everything, in this order:
    columns, standard deviations of the noise, then sources and noise of every block of 65,536 rows.

    Parameters
    ----------
    rows : int
        Number of rows, at least 1.
    n_components : int
        Number of sources k, at least 1.
    n_features : int, default 10
        Number of features, at least 1.
    noise : float, default 0.0
        Root mean square of the standard deviations of the noise, not negative.
    sources : {"laplace", "uniform", "sparse"}, default "laplace"
        Distribution of all sources: heavy tails, light tails, or a Gaussian that is zero in nine of
        ten rows.
    random_state : int, RandomState or Generator, default 0
        Seed, at least 0.

    Returns
    -------
    xarray.Dataset
        ``X`` (sample, feature) float32; the truth in ``true_mixing`` (feature, component) and
        ``true_noise`` (feature) float64, the standard deviations of the noise; attributes
        ``simulator``, ``noise``, ``sources`` and ``random_state``.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> data = ica(1000, 6, n_features=4, random_state=7)
    >>> data["X"].shape, data["true_mixing"].shape
    ((1000, 4), (4, 6))
    """
    return _simulation(rows, n_components, n_features, noise, sources, random_state).dataset()


@documented_writer
def write_ica(
    path: str | os.PathLike[str],
    rows: int,
    n_components: int,
    n_features: int = 10,
    noise: float = 0.0,
    sources: str = "laplace",
    random_state: RandomState = 0,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the rows of :func:`ica` to a Zarr store, in memory independent of `rows`."""
    simulation = _simulation(rows, n_components, n_features, noise, sources, random_state)
    simulation.write(path, overwrite=overwrite, progress=progress)


def _simulation(
    rows: int,
    n_components: int,
    n_features: int,
    noise: float,
    sources: str,
    random_state: RandomState,
) -> Simulation:
    """Check the parameters; return the truth and the rows to come."""
    check_integer("rows", rows, 1)
    k = check_integer("n_components", n_components, 1)
    d = check_integer("n_features", n_features, 1)
    seed = integer_seed(random_state)
    if not (np.isfinite(noise) and noise >= 0):
        raise ParameterError(Setting("noise") + f" must not be negative, and is {noise!r}")
    if sources not in SOURCES:
        raise ParameterError(
            Setting("sources") + f" is {sources!r}; expected one of {', '.join(SOURCES)}"
        )
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((d, k))
    mixing /= np.linalg.norm(mixing, axis=0)
    deviations = np.exp(rng.uniform(-1, 1, d))
    deviations *= noise / np.sqrt(np.mean(deviations**2))
    truth = true_parameters(
        "ica",
        {
            "true_mixing": ((FEATURE_DIM, "component"), mixing),
            "true_noise": (FEATURE_DIM, deviations),
        },
        [f"x{i}" for i in range(d)],
        seed=seed,
        attrs={"noise": float(noise), "sources": sources},
    )
    return Simulation(truth, _blocks(rng, mixing, deviations, sources, rows), rows, np.float32)


def _blocks(
    rng: np.random.Generator,
    mixing: FloatArray,
    deviations: FloatArray,
    sources: str,
    rows: int,
) -> Iterator[RowBlock]:
    """Yield rows."""
    d, k = mixing.shape
    for start, stop in block_bounds(rows):
        values = _drawn(rng, sources, (stop - start, k)) @ mixing.T
        if deviations.any():
            values += deviations * rng.standard_normal((stop - start, d))
        yield {"X": values.astype(np.float32)}


def _drawn(rng: np.random.Generator, sources: str, shape: tuple[int, int]) -> FloatArray:
    """Draw sources of unit variance."""
    if sources == "laplace":
        return rng.laplace(scale=np.sqrt(0.5), size=shape)
    if sources == "uniform":
        return np.asarray(rng.uniform(-np.sqrt(3), np.sqrt(3), shape))
    values: FloatArray = rng.standard_normal(shape) / np.sqrt(SHARE)
    values[rng.random(shape) >= SHARE] = 0
    return values
