"""Mixtures of three views whose components are columns, with more components than features."""

import os
from dataclasses import replace

import numpy as np
import xarray as xr

from bigtensor.data.simulate.noisy_columns import noisy_columns
from bigtensor.data.simulate.rows import Progress, Simulation, documented_writer
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.data.values.random_states import RandomState

_VIEWS = ("a", "b", "c")


def linear_mixture(
    rows: int,
    n_components: int,
    n_features: int = 10,
    noise: float = 1.0,
    random_state: RandomState = 0,
) -> xr.Dataset:
    """Draw rows of three views: a column of every view's factor, and Gaussian noise.

    Columns are uniform on the unit sphere and components equally probable, as in the analysis of
    Anandkumar, Ge and Janzamin, *Sample Complexity Analysis for Learning Overcomplete Latent
    Variable Models through Tensor Methods*, 2015. ``noise`` is the length of the noise of a view,
    whatever the number of features.

    One generator, ``numpy.random.default_rng(random_state)``, drives everything, in this order:
    columns view by view, then labels and noise of every block of 65,536 rows.

    Parameters
    ----------
    rows : int
        Number of rows, at least 1.
    n_components : int
        Number of components k, at least 1.
    n_features : int, default 10
        Features of every view, at least 1: ``a0``, ``a1``, ..., ``b0``, ..., ``c0``, ...
    noise : float, default 1.0
        Root of the mean squared length of the noise of a view, positive.
    random_state : int, RandomState or Generator, default 0
        Seed, at least 0.

    Returns
    -------
    xarray.Dataset
        ``X`` (sample, feature) float32; ``label`` (sample) int32; the truth in ``true_weights``
        (component) and ``true_means`` (feature, component) float64; the coordinate ``view``
        (feature); attributes ``simulator``, ``noise`` and ``random_state``.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> data = linear_mixture(1000, 6, n_features=4, random_state=7)
    >>> data["true_means"].shape
    (12, 6)
    """
    return _simulation(rows, n_components, n_features, noise, random_state).dataset()


@documented_writer
def write_linear_mixture(
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
    """Write the rows of :func:`linear_mixture` to a Zarr store, in memory independent of `rows`."""
    simulation = _simulation(rows, n_components, n_features, noise, random_state)
    simulation.write(path, overwrite=overwrite, progress=progress)


def _simulation(
    rows: int, n_components: int, n_features: int, noise: float, random_state: RandomState
) -> Simulation:
    """Return the truth, with the views of the features, and the rows to come."""
    simulation = noisy_columns(
        "linear_mixture", rows, n_components, n_features, noise, random_state, views=_VIEWS
    )
    view_of_feature = np.repeat(np.array(_VIEWS, object), n_features)
    truth = simulation.truth.assign_coords(view=(FEATURE_DIM, view_of_feature))
    return replace(simulation, truth=truth)
