"""Gaussian mixtures with one spherical covariance, and more components than features if need be."""

import os
from dataclasses import replace

import xarray as xr

from bigtensor.data.simulate.noisy_columns import noisy_columns
from bigtensor.data.simulate.rows import Progress, Simulation, documented_writer
from bigtensor.data.values.random_states import RandomState


def gaussian_mixture(
    rows: int,
    n_components: int,
    n_features: int = 10,
    noise: float = 1.0,
    random_state: RandomState = 0,
) -> xr.Dataset:
    """Draw rows of a Gaussian mixture whose components share one spherical covariance.

    Means are uniform on the unit sphere and components equally probable, as in the analysis of
    Anandkumar, Ge and Janzamin, *Sample Complexity Analysis for Learning Overcomplete Latent
    Variable Models through Tensor Methods*, 2015. ``noise`` is the length of the noise of a row,
    whatever the number of features.

    One generator, ``numpy.random.default_rng(random_state)``, drives everything, in this order:
    means, then labels and noise of every block of 65,536 rows.

    Parameters
    ----------
    rows : int
        Number of rows, at least 1.
    n_components : int
        Number of components k, at least 1.
    n_features : int, default 10
        Number of features, at least 1: ``x0``, ``x1``, ...
    noise : float, default 1.0
        Root of the mean squared length of the noise of a row, positive.
    random_state : int, RandomState or Generator, default 0
        Seed, at least 0.

    Returns
    -------
    xarray.Dataset
        ``X`` (sample, feature) float32; ``label`` (sample) int32; the truth in ``true_weights``
        (component) and ``true_means`` (feature, component) float64; attributes ``simulator``,
        ``noise``, ``variance`` of a feature given the component, and ``random_state``.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> data = gaussian_mixture(1000, 6, n_features=4, random_state=7)
    >>> data["true_means"].shape
    (4, 6)
    """
    return _simulation(rows, n_components, n_features, noise, random_state).dataset()


@documented_writer
def write_gaussian_mixture(
    path: str | os.PathLike[str],
    rows: int,
    n_components: int,
    n_features: int = 10,
    noise: float = 1.0,
    random_state: RandomState = 0,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the rows of :func:`gaussian_mixture` to a Zarr store, block by block."""
    simulation = _simulation(rows, n_components, n_features, noise, random_state)
    simulation.write(path, overwrite=overwrite, progress=progress)


def _simulation(
    rows: int, n_components: int, n_features: int, noise: float, random_state: RandomState
) -> Simulation:
    """Return the truth, with the variance of a feature, and the rows to come."""
    simulation = noisy_columns(
        "gaussian_mixture", rows, n_components, n_features, noise, random_state, views=("x",)
    )
    truth = simulation.truth
    variance = truth.attrs["noise"] ** 2 / n_features
    return replace(simulation, truth=truth.assign_attrs(variance=variance))
