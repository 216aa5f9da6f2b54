"""Rows whose variables a latent chain runs along, with their exact density."""

from __future__ import annotations

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
    code_names,
    documented_writer,
    true_parameters,
)
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.data.values.random_states import RandomState, integer_seed
from bigtensor.errors import ParameterError, Setting

_OUTERMOST = 2.2
"""Mean of the last of the equally spaced means of a variable."""

_DEVIATION = 0.6
"""Standard deviation of a variable given the latent state."""


def latent_chain(
    rows: int,
    n_components: int,
    n_features: int = 10,
    stay: float = 0.7,
    random_state: RandomState = 0,
) -> xr.Dataset:
    """Draw rows of variables that are Gaussian given the states of a latent chain along them.

    Between one variable and the next, the state stays with a probability, and is otherwise drawn
    from a distribution of its own. The means of every variable are a permutation of equally spaced
    points. `latent_chain_density` is the density of the rows.

    One generator, ``numpy.random.default_rng(random_state)``, drives everything, in this order:
    means, transition matrix, then states and noise of every block of 65,536 rows.

    Parameters
    ----------
    rows : int
        Number of rows, at least 1.
    n_components : int
        Number of latent states k, at least 1.
    n_features : int, default 10
        Number of variables d, at least 1: ``x0``, ``x1``, ...
    stay : float, default 0.7
        Probability that the state stays in any case, from 0 to 1.
    random_state : int, RandomState or Generator, default 0
        Seed, at least 0.

    Returns
    -------
    xarray.Dataset
        ``X`` (sample, feature) float32; ``label`` (sample) int32, the state of the first variable;
        the truth in ``true_means`` (feature, component) and ``true_transition`` (component,
        next_component) float64; attributes ``simulator``, ``stay`` and ``random_state``.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> data = latent_chain(1000, 4, n_features=6, random_state=7)
    >>> latent_chain_density(data, data["X"].values).shape
    (1000,)
    """
    return _simulation(rows, n_components, n_features, stay, random_state).dataset()


@documented_writer
def write_latent_chain(
    path: str | os.PathLike[str],
    rows: int,
    n_components: int,
    n_features: int = 10,
    stay: float = 0.7,
    random_state: RandomState = 0,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the rows of :func:`latent_chain` to a Zarr store, in memory independent of `rows`."""
    simulation = _simulation(rows, n_components, n_features, stay, random_state)
    simulation.write(path, overwrite=overwrite, progress=progress)


def latent_chain_density(truth: xr.Dataset, values: FloatArray) -> FloatArray:
    """Return the logarithm of the density of rows, in nats: ``(n,)`` float64.

    Parameters
    ----------
    truth : Dataset
        From `latent_chain`.
    values : (n, d) array
        NaN is missing, and summed over.
    """
    means, transition = truth["true_means"].values, truth["true_transition"].values
    state = np.full((len(values), means.shape[1]), 1 / means.shape[1])
    log_density = np.zeros(len(values))
    for j, of_variable in enumerate(means):
        if j:
            state = state @ transition
        column = np.asarray(values[:, j], np.float64)
        distance = (column[:, None] - of_variable) / _DEVIATION
        density = np.exp(-0.5 * np.square(distance)) / (_DEVIATION * np.sqrt(2 * np.pi))
        state = state * np.where(np.isnan(column)[:, None], 1, density)
        total = state.sum(axis=1)
        log_density += np.log(total)
        state /= total[:, None]
    return log_density


def _simulation(
    rows: int, n_components: int, n_features: int, stay: float, random_state: RandomState
) -> Simulation:
    """Check the parameters; return the truth and the rows to come."""
    check_integer("rows", rows, 1)
    k = check_integer("n_components", n_components, 1)
    d = check_integer("n_features", n_features, 1)
    seed = integer_seed(random_state)
    if not 0 <= stay <= 1:
        raise ParameterError(Setting("stay") + f" must be between 0 and 1, not {stay!r}")
    rng = np.random.default_rng(seed)
    points = np.linspace(-_OUTERMOST, _OUTERMOST, k) if k > 1 else np.zeros(1)
    means = np.stack([rng.permutation(points) for _ in range(d)])
    transition = stay * np.eye(k) + (1 - stay) * rng.dirichlet(np.ones(k), k)
    truth = true_parameters(
        "latent_chain",
        {
            "true_means": ((FEATURE_DIM, "component"), means),
            "true_transition": (("component", "next_component"), transition),
        },
        [f"x{j}" for j in range(d)],
        seed=seed,
        attrs={"stay": float(stay)},
    )
    codes = {"label": code_names("state", k)}
    return Simulation(truth, _blocks(rng, means, transition, rows), rows, np.float32, codes)


def _blocks(
    rng: np.random.Generator, means: FloatArray, transition: FloatArray, rows: int
) -> Iterator[RowBlock]:
    """Yield rows and the states of their first variable."""
    d, k = means.shape
    steps = transition.cumsum(axis=1)
    for start, stop in block_bounds(rows):
        n = stop - start
        first = state = rng.integers(k, size=n)
        values = _DEVIATION * rng.standard_normal((n, d), np.float32)
        for j in range(d):
            if j:
                state = (rng.random(n)[:, None] > steps[state]).sum(axis=1)
                state = np.minimum(state, k - 1)
            values[:, j] += means[j, state].astype(np.float32)
        yield {"X": values.astype(np.float32, copy=False), "label": first}
