"""Mixtures of categorical views that are independent given the component, with missing answers."""

import os
from collections.abc import Iterator

import numpy as np
import xarray as xr

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.data.simulate.rows import (
    Progress,
    RowBlock,
    Simulation,
    block_bounds,
    check_integer,
    check_positive,
    check_share,
    code_names,
    documented_writer,
    true_parameters,
)
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.data.values.categories import MISSING_CODE, MOST_CATEGORIES
from bigtensor.data.values.random_states import RandomState, integer_seed


def discrete_mixture(
    rows: int,
    n_components: int,
    n_categories: int = 10,
    views: int = 3,
    concentration: float = 1.0,
    missing: float = 0.0,
    random_state: RandomState = 0,
) -> xr.Dataset:
    """Draw rows of a mixture of categorical views.

    Weights are uniform on the simplex, and the probabilities of the categories of every view and
    component are drawn from a symmetric Dirichlet distribution, as in the experiments of Shaban,
    Farajtabar, Xie, Song and Boots, *Learning Latent Variable Models by Improving Spectral
    Solutions with Exterior Point Methods*, UAI 2015. Components are in the order of their weights,
    descending.

    One generator, ``numpy.random.default_rng(random_state)``, drives everything, in this order:
    weights, probabilities view by view, then labels, codes and missing entries of every block of
    65,536 rows.

    Parameters
    ----------
    rows : int
        Number of rows, at least 1.
    n_components : int
        Number of components k, at least 1.
    n_categories : int, default 10
        Categories of every view, at least 2.
    views : int, default 3
        Number of views, one feature each, at least 1.
    concentration : float, default 1.0
        Of the Dirichlet distribution: small values make components with few categories each.
    missing : float, default 0.0
        Share of the entries that are missing, at random, below 1.
    random_state : int, RandomState or Generator, default 0
        Seed, at least 0.

    Returns
    -------
    xarray.Dataset
        ``X`` (sample, feature) in the smallest integer type, -1 where missing, with the attribute
        ``categories``; ``label`` (sample) int32; the truth in ``true_weights`` (component) and
        ``true_probabilities`` (feature, category, component) float64; attributes ``simulator``,
        ``concentration``, ``missing`` and ``random_state``.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> data = discrete_mixture(1000, 3, n_categories=4, random_state=7)
    >>> data["X"].dtype, data["true_probabilities"].shape
    (dtype('int8'), (3, 4, 3))
    """
    return _simulation(
        rows, n_components, n_categories, views, concentration, missing, random_state
    ).dataset()


@documented_writer
def write_discrete_mixture(
    path: str | os.PathLike[str],
    rows: int,
    n_components: int,
    n_categories: int = 10,
    views: int = 3,
    concentration: float = 1.0,
    missing: float = 0.0,
    random_state: RandomState = 0,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the rows of :func:`discrete_mixture` to a Zarr store, block by block."""
    simulation = _simulation(
        rows, n_components, n_categories, views, concentration, missing, random_state
    )
    simulation.write(path, overwrite=overwrite, progress=progress)


def _simulation(
    rows: int,
    n_components: int,
    n_categories: int,
    views: int,
    concentration: float,
    missing: float,
    random_state: RandomState,
) -> Simulation:
    """Check the parameters; return the truth and the rows to come."""
    check_integer("rows", rows, 1)
    k = check_integer("n_components", n_components, 1)
    n = check_integer("n_categories", n_categories, 2, MOST_CATEGORIES)
    check_integer("views", views, 1)
    seed = integer_seed(random_state)
    check_positive("concentration", concentration)
    check_share("missing", missing)
    rng = np.random.default_rng(seed)
    weights = np.sort(rng.dirichlet(np.ones(k)))[::-1]
    probabilities = np.stack(
        [rng.dirichlet(np.full(n, concentration), size=k).T for _ in range(views)]
    )
    features = [f"view{t + 1}" for t in range(views)]
    truth = true_parameters(
        "discrete_mixture",
        {
            "true_weights": ("component", weights),
            "true_probabilities": ((FEATURE_DIM, "category", "component"), probabilities),
        },
        features,
        seed=seed,
        attrs={"concentration": float(concentration), "missing": float(missing)},
    )
    return Simulation(
        truth,
        _blocks(rng, weights, probabilities, float(missing), rows),
        rows,
        np.min_scalar_type(-n),
        {"label": code_names("component", k)},
        {feature: tuple(map(str, range(n))) for feature in features},
    )


def _blocks(
    rng: np.random.Generator,
    weights: FloatArray,
    probabilities: FloatArray,
    missing: float,
    rows: int,
) -> Iterator[RowBlock]:
    """Yield the codes of rows and their labels."""
    views, _, k = probabilities.shape
    for start, stop in block_bounds(rows):
        label = np.sort(rng.choice(k, size=stop - start, p=weights))
        codes = np.empty((stop - start, views), np.int32)
        edges = np.searchsorted(label, np.arange(k + 1))
        for h in range(k):
            members = slice(edges[h], edges[h + 1])
            for t in range(views):
                codes[members, t] = _drawn(rng, probabilities[t, :, h], edges[h + 1] - edges[h])
        order = rng.permutation(stop - start)
        codes, label = codes[order], label[order]
        if missing:
            codes[rng.random(codes.shape) < missing] = MISSING_CODE
        yield {"X": codes, "label": label}


def _drawn(rng: np.random.Generator, p: FloatArray, rows: int) -> IndexArray:
    """Draw codes by inversion of the distribution."""
    return np.searchsorted(np.cumsum(p)[:-1], rng.random(rows), side="right")
