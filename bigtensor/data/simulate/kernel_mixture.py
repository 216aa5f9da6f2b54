"""Multi-view mixtures of Gaussian and shifted Gamma components with a chosen overlap.

One-dimensional views, independent given the component, with independent parameters per view, as in
the experiments of Song, Anandkumar, Dai and Xie, *Nonparametric Estimation of Multi-view Latent
Variable Models*, ICML 2014, sec. 5.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.simulate.rows import (
    Progress,
    RowBlock,
    Simulation,
    block_bounds,
    check_integer,
    check_positive,
    code_names,
    true_parameters,
)
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.data.values.random_states import RandomState, integer_seed
from bigtensor.errors import ParameterError

Family = Literal["gaussian", "gamma"]


@dataclass(frozen=True)
class _Parameters:
    """The mixture that rows are drawn from; arrays are (component, feature)."""

    weights: FloatArray
    means: FloatArray
    sds: FloatArray
    is_gamma: NDArray[np.bool_]
    gamma_shape: float


def kernel_mixture(
    rows: int,
    n_components: int,
    family: Family = "gaussian",
    separation: float = 4.0,
    views: int = 3,
    symmetric: bool = False,
    random_state: RandomState = 0,
    *,
    gamma_shape: float = 1.0,
) -> xr.Dataset:
    """Draw rows of a mixture whose one-dimensional views are independent given the component.

    In every view the standard deviations are uniform on [0.6, 1.6], and the components follow one
    another in random order with gaps ``sqrt(separation * (sd_a**2 + sd_b**2))`` between their
    means, the first mean being zero. The weights are ``2 h / (k (k + 1))`` for h = 1 ... k.

    One generator, ``numpy.random.default_rng(random_state)``, drives everything, in this order:
    the parameters view by view (standard deviations, order, then which components are Gamma), the
    labels, the rows. Beyond 65,536 rows, labels and rows of one block of that many rows are
    followed by those of the next.

    Parameters
    ----------
    rows : int
        Number of rows, at least 1.
    n_components : int
        Number of components k, at least 1.
    family : {"gaussian", "gamma"}, default "gaussian"
        With "gamma", floor(k / 2) randomly chosen components of each view, at least one, are
        shifted Gamma distributions with the mean and standard deviation they would have had.
    separation : float, default 4.0
        Fisher ratio of neighbouring components, ``(mean_a - mean_b)**2 / (sd_a**2 + sd_b**2)``:
        4 is easy, 1.5 hard, 0.7 very hard.
    views : int, default 3
        Number of views, one feature each, at least 1.
    symmetric : bool, default False
        Give all views the parameters of the first.
    random_state : int, RandomState or Generator, default 0
        Seed, at least 0.
    gamma_shape : float, default 1.0
        Shape of the Gamma components.

    Returns
    -------
    xarray.Dataset
        ``X`` (sample, feature) float64; ``label`` (sample) int32 with the attribute
        ``categories``; the truth in ``true_weights`` (component), ``true_means``, ``true_sds``
        (component, feature) float64 and ``true_is_gamma`` (component, feature) bool; attributes
        ``simulator``, ``family``, ``separation``, ``symmetric``, ``gamma_shape`` and
        ``random_state``.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> data = kernel_mixture(1000, 3, family="gamma", random_state=7)
    >>> data["X"].shape
    (1000, 3)
    >>> data["true_weights"].values.round(3)
    array([0.167, 0.333, 0.5  ])
    """
    return _simulation(
        rows, n_components, family, separation, views, symmetric, random_state, gamma_shape
    ).dataset()


def write_kernel_mixture(
    path: str | os.PathLike[str],
    rows: int,
    n_components: int,
    family: Family = "gaussian",
    separation: float = 4.0,
    views: int = 3,
    symmetric: bool = False,
    random_state: RandomState = 0,
    *,
    gamma_shape: float = 1.0,
    dtype: Literal["float32", "float64"] = "float64",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the rows of :func:`kernel_mixture` to a Zarr store, in memory independent of `rows`.

    Parameters
    ----------
    path : str or path-like
        The store to make; its folder must exist.
    rows, n_components, family, separation, views, symmetric, random_state, gamma_shape
        As for :func:`kernel_mixture`.
    dtype : {"float32", "float64"}, default "float64"
        Type of the stored values.
    overwrite : bool, default False
        Replace an existing store once the new one is whole.
    progress : callable (done, rows) -> None, optional
        Called after every 65,536 rows.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    OutputError
        If the store exists or cannot be written.
    """
    simulation = _simulation(
        rows, n_components, family, separation, views, symmetric, random_state, gamma_shape
    )
    replace(simulation, dtype=dtype).write(path, overwrite=overwrite, progress=progress)


def _simulation(
    rows: int,
    n_components: int,
    family: Family,
    separation: float,
    views: int,
    symmetric: bool,
    random_state: RandomState,
    gamma_shape: float,
) -> Simulation:
    """Check the parameters; return the truth and the rows to come."""
    check_integer("rows", rows, 1)
    check_integer("n_components", n_components, 1)
    check_integer("views", views, 1)
    seed = integer_seed(random_state)
    if family not in ("gaussian", "gamma"):
        raise ParameterError(f"family must be 'gaussian' or 'gamma', not {family!r}")
    check_positive("separation", separation)
    check_positive("gamma_shape", gamma_shape)
    rng = np.random.default_rng(seed)
    parameters = _draw_parameters(
        rng, n_components, family, float(separation), views, symmetric, float(gamma_shape)
    )
    grid = ("component", FEATURE_DIM)
    truth = true_parameters(
        "kernel_mixture",
        {
            "true_weights": ("component", parameters.weights),
            "true_means": (grid, parameters.means),
            "true_sds": (grid, parameters.sds),
            "true_is_gamma": (grid, parameters.is_gamma),
        },
        [f"view{t + 1}" for t in range(views)],
        seed=seed,
        attrs={
            "family": family,
            "separation": float(separation),
            "symmetric": bool(symmetric),
            "gamma_shape": float(gamma_shape),
        },
    )
    codes = {"label": code_names("component", n_components)}
    return Simulation(truth, _blocks(rng, parameters, rows), rows, np.float64, codes)


def _draw_parameters(
    rng: np.random.Generator,
    k: int,
    family: Family,
    separation: float,
    views: int,
    symmetric: bool,
    gamma_shape: float,
) -> _Parameters:
    """Draw the parameters of every view, or of the first one for all."""
    means, sds = np.zeros((k, views)), np.empty((k, views))
    is_gamma = np.zeros((k, views), dtype=bool)
    for t in range(1 if symmetric else views):
        sds[:, t] = rng.uniform(0.6, 1.6, k)
        order = rng.permutation(k)
        variances = sds[order, t] ** 2
        means[order[1:], t] = np.cumsum(np.sqrt(separation * (variances[1:] + variances[:-1])))
        if family == "gamma":
            is_gamma[rng.choice(k, size=max(k // 2, 1), replace=False), t] = True
    if symmetric:
        means[:], sds[:], is_gamma[:] = means[:, :1], sds[:, :1], is_gamma[:, :1]
    weights = 2.0 * np.arange(1, k + 1) / (k * (k + 1))
    return _Parameters(weights, means, sds, is_gamma, gamma_shape)


def _blocks(rng: np.random.Generator, parameters: _Parameters, rows: int) -> Iterator[RowBlock]:
    """Yield the rows: standardised noise of the right family, scaled and shifted."""
    k, views = parameters.means.shape
    shape = parameters.gamma_shape
    for start, stop in block_bounds(rows):
        label = rng.choice(k, size=stop - start, p=parameters.weights)
        noise = rng.standard_normal((stop - start, views))
        for h, t in np.argwhere(parameters.is_gamma):
            members = np.flatnonzero(label == h)
            gamma = rng.standard_gamma(shape, len(members))
            noise[members, t] = (gamma - shape) / np.sqrt(shape)
        yield {"X": parameters.means[label] + parameters.sds[label] * noise, "label": label}
