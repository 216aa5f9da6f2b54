"""Cells as a cytometer sees them: populations of very different sizes, skewed and heavy-tailed."""

import os

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import stats

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.data.simulate.rows import (
    Progress,
    Simulation,
    block_generator,
    check_integer,
    documented_writer,
)
from bigtensor.data.simulate.skewed_cells import (
    DIRICHLET_CONCENTRATION,
    PARAMETERS,
    SHAPES,
    CellPopulations,
    simulation_of,
)
from bigtensor.data.simulate.truth import feature_truth
from bigtensor.data.values.random_states import RandomState, integer_seed
from bigtensor.errors import ParameterError

_MARKERS = (
    *("CD3", "CD4", "CD8", "CD19", "CD45", "CD56", "CD14", "CD16", "HLA-DR", "CD11c"),
    *("CD11b", "CD20", "CD27", "CD38", "CD45RA", "CD45RO", "CCR7", "CD25", "CD127", "CD123"),
    *("CD57", "CD161", "CD66b", "CD34", "CD24", "CD33", "CD64", "CD69", "PD-1", "TIGIT"),
)

# Off, dim and bright on the arcsinh scale: location and its spread between populations.
_LOCATIONS = np.array([0.3, 2.3, 4.3])
_LOCATION_SPREADS = np.array([0.15, 0.3, 0.4])
_LEVEL_SHARES = np.array([0.5, 0.2, 0.3])
_SMALLEST_TO_LARGEST = 1 / 80
"""Size of the smallest population, relative to the largest."""


def cytometry(
    rows: int,
    n_components: int = 8,
    *,
    markers: int = 6,
    samples: int = 4,
    random_state: RandomState = 0,
) -> xr.Dataset:
    """Draw cells of a cytometry-like experiment.

    A population is a pattern of markers that are off, dim or bright, around 0.3, 2.3 and 4.3 on
    the arcsinh scale; no two populations share a pattern. Given the population, markers are
    independent, skewed and heavy-tailed. Population sizes fall geometrically, the largest being
    80 times the smallest (a factor of 2 from each to the next for fewer than 8 populations). The
    proportions of every sample are drawn from a Dirichlet distribution around them. Samples
    follow one another and have equally many rows.

    Randomness is keyed by (random_state, purpose, block of 65,536 rows); with one sample, fewer
    rows are the first of more.

    Parameters
    ----------
    rows : int
        Number of cells, at least 1.
    n_components : int, default 8
        Number of populations, at least 1 and at most ``2**markers``.
    markers : int, default 6
        Number of markers, at least 1.
    samples : int, default 4
        Number of samples, at least 1.
    random_state : int, RandomState or Generator, default 0
        Seed, at least 0.

    Returns
    -------
    xarray.Dataset
        ``X`` (sample, feature) float32, arcsinh scale; ``label`` and ``sample_id`` (sample) int32
        with the attribute ``categories``; the truth in ``true_weights`` (component: share of all
        rows), ``true_sample_weights`` (specimen, component), ``true_locations``, ``true_scales``,
        ``true_skews``, ``true_tails`` (component, feature) float64; attributes ``simulator`` and
        ``random_state``. The coordinate ``specimen`` holds the categories of ``sample_id``.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> cells = cytometry(1000, n_components=3, random_state=1)
    >>> [str(name) for name in cells["feature"].values]
    ['CD3', 'CD4', 'CD8', 'CD19', 'CD45', 'CD56']
    """
    return _simulation(rows, n_components, markers, samples, random_state).dataset()


@documented_writer
def write_cytometry(
    path: str | os.PathLike[str],
    rows: int,
    n_components: int = 8,
    *,
    markers: int = 6,
    samples: int = 4,
    random_state: RandomState = 0,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the cells of :func:`cytometry` to a Zarr store, in memory independent of `rows`."""
    simulation = _simulation(rows, n_components, markers, samples, random_state)
    simulation.write(path, overwrite=overwrite, progress=progress)


def cytometry_density(dataset: xr.Dataset, feature: str, points: ArrayLike) -> FloatArray:
    """Evaluate the true population densities of one marker of simulated cells.

    Parameters
    ----------
    dataset : xarray.Dataset
        Data of :func:`cytometry`, in memory or from its store.
    feature : str
        Name of the marker.
    points : array-like of shape (points,)
        Where to evaluate, on the arcsinh scale.

    Returns
    -------
    (points, components) float64 array
        Densities with respect to the arcsinh scale, one column a population.

    Raises
    ------
    DataError
        If the data set does not hold the truth of simulated cells.
    ParameterError
        If there is no such marker.
    """
    location, scale, skew, tail = feature_truth(dataset, SHAPES, feature)
    x = np.asarray(points, dtype=np.float64)[:, None]
    y = (x - location) / scale + np.sinh(skew / tail)
    power = tail * np.arcsinh(y) - skew
    jacobian = tail * np.cosh(power) / (scale * np.sqrt(1.0 + y**2))
    return np.asarray(stats.norm.pdf(np.sinh(power)) * jacobian)


def _simulation(
    rows: int, n_components: int, markers: int, samples: int, random_state: RandomState
) -> Simulation:
    """Check the parameters; return the truth and the rows to come."""
    check_integer("rows", rows, 1)
    check_integer("n_components", n_components, 1)
    check_integer("markers", markers, 1)
    check_integer("samples", samples, 1)
    seed = integer_seed(random_state)
    if n_components > 2**markers:
        raise ParameterError(
            f"{markers} markers tell at most {2**markers} populations apart, and "
            f"{n_components} were asked for; give more markers or fewer components"
        )
    names = [*_MARKERS, *(f"marker{j + 1}" for j in range(len(_MARKERS), markers))][:markers]
    cells = _draw_populations(block_generator(seed, PARAMETERS), n_components, names, samples)
    specimens = [f"sample{s + 1}" for s in range(samples)]
    return simulation_of("cytometry", cells, names, specimens, rows, seed)


def _draw_populations(
    rng: np.random.Generator, k: int, markers: list[str], samples: int
) -> CellPopulations:
    """Draw patterns, shapes and proportions."""
    levels = _draw_patterns(rng, k, len(markers))
    off = levels == 0
    shape = levels.shape
    locations = _LOCATIONS[levels] + _LOCATION_SPREADS[levels] * rng.standard_normal(shape)
    scales = np.where(off, rng.uniform(0.3, 0.5, shape), rng.uniform(0.4, 0.7, shape))
    # Cells without a marker pile up near zero with a tail to the right; bright ones lean left.
    skews = np.where(off, rng.uniform(0.2, 0.6, shape), rng.uniform(-0.4, 0.1, shape))
    tails = rng.uniform(0.75, 0.95, shape)
    ratio = max(_SMALLEST_TO_LARGEST ** (1 / max(k - 1, 1)), 0.5)
    shares = ratio ** np.arange(k)
    shares /= shares.sum()
    weights = rng.dirichlet(DIRICHLET_CONCENTRATION * shares, size=samples)
    signs = ("", "dim", "+")
    names = [
        " ".join(f"{marker}{signs[i]}" for marker, i in zip(markers, row, strict=True) if i)
        or "negative"
        for row in levels
    ]
    return CellPopulations(names, weights, locations, scales, skews, tails)


def _draw_patterns(rng: np.random.Generator, k: int, markers: int) -> IndexArray:
    """Draw (k, markers) levels 0, 1, 2: distinct rows, a whole step in one marker apart if found.

    Candidates come in batches; the first that differs by two levels in total from all earlier
    patterns is taken, otherwise the one that differs most.
    """
    patterns = np.zeros((0, markers), dtype=np.intp)
    while len(patterns) < k:
        batch = rng.choice(3, size=(64, markers), p=_LEVEL_SHARES)
        gaps = np.abs(batch[:, None] - patterns).sum(axis=2).min(axis=1, initial=2)
        best = int(np.argmax(gaps))
        if gaps[best] > 0:
            patterns = np.vstack([patterns, batch[best]])
    return patterns
