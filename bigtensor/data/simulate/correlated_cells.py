"""Cells whose markers are correlated inside populations, with rare populations and outliers."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.spatial.distance import pdist

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.data.simulate.rows import (
    Progress,
    RowBlock,
    Simulation,
    block_bounds,
    block_generator,
    check_integer,
    check_positive,
    documented_writer,
    true_parameters,
)
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.data.values.random_states import RandomState, integer_seed
from bigtensor.errors import ParameterError, Setting

SHARES = (0.4, 0.25, 0.15, 0.09, 0.05, 0.03, 0.016, 0.009, 0.0045, 0.0005)
"""Shares of ten populations, from two cells in five to one in two thousand."""

_CORRELATIONS = (0.3, 0.7)
"""Range of the magnitude of the correlations of a population."""

# Streams of randomness: each purpose has its own, so that none shifts another.
_PARAMETERS, _LABELS, _VALUES, _OUTLIERS = range(4)


@dataclass(frozen=True)
class _Populations:
    """Normal distributions: means (component, feature), covariances (component, feature, ...)."""

    shares: FloatArray
    means: FloatArray
    covariances: FloatArray


def correlated_cells(
    rows: int,
    shares: Sequence[float] = SHARES,
    *,
    markers: int = 8,
    separation: float = 3.0,
    outliers: int = 0,
    outlier_distance: float = 20.0,
    random_state: RandomState = 0,
) -> xr.Dataset:
    """Draw cells of normal populations with correlated markers.

    Every marker has the standard deviation one in every population. All correlations inside a
    population have one magnitude between 0.3 and 0.7, and signs that follow from a random sign of
    every marker. The means are normal deviates, scaled so that the nearest two are `separation`
    apart. An outlier lies `outlier_distance` from the mean of a random population, in a direction
    of its own.

    Randomness is keyed by (random_state, purpose, block of 65,536 rows).

    Parameters
    ----------
    rows : int
        Number of cells, outliers included.
    shares : sequence of float
        Share of every population, in any unit. By default ten, from 40 % to 0.05 %.
    markers : int, default 8
        Number of markers, at least 2.
    separation : float, default 3.0
        Distance of the nearest two means, in standard deviations of a marker.
    outliers : int, default 0
        Number of cells of no population, at random rows.
    outlier_distance : float, default 20.0
        In standard deviations of a marker.
    random_state : int, RandomState or Generator, default 0
        Seed, at least 0.

    Returns
    -------
    xarray.Dataset
        ``X`` (sample, feature) float32; ``label`` (sample) int32 with the attribute
        ``categories``, -1 for outliers; the truth in ``true_weights`` (component), ``true_means``
        (component, feature) and ``true_covariances`` (component, feature, other_feature) float64;
        attributes ``simulator`` and ``random_state``.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> cells = correlated_cells(1000, outliers=5, random_state=1)
    >>> int((cells["label"] < 0).sum())
    5
    """
    return _simulation(
        rows, shares, markers, separation, outliers, outlier_distance, random_state
    ).dataset()


@documented_writer
def write_correlated_cells(
    path: str | os.PathLike[str],
    rows: int,
    shares: Sequence[float] = SHARES,
    *,
    markers: int = 8,
    separation: float = 3.0,
    outliers: int = 0,
    outlier_distance: float = 20.0,
    random_state: RandomState = 0,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the cells of :func:`correlated_cells` to a Zarr store, block by block."""
    simulation = _simulation(
        rows, shares, markers, separation, outliers, outlier_distance, random_state
    )
    simulation.write(path, overwrite=overwrite, progress=progress)


def _simulation(
    rows: int,
    shares: Sequence[float],
    markers: int,
    separation: float,
    outliers: int,
    outlier_distance: float,
    random_state: RandomState,
) -> Simulation:
    """Check the parameters; return the truth and the rows to come."""
    check_integer("rows", rows, 1)
    check_integer("markers", markers, 2)
    check_integer("outliers", outliers, 0)
    seed = integer_seed(random_state)
    if not len(shares) or not all(share > 0 for share in shares):
        raise ParameterError(f"shares must be positive numbers, one a population, not {shares!r}")
    if outliers > rows:
        raise ParameterError(
            Setting("outliers", outliers)
            + " are more than "
            + Setting("rows", rows)
            + "; draw fewer"
        )
    check_positive("separation", separation)
    if not outlier_distance >= 0:
        raise ParameterError(
            Setting("outlier_distance") + f" must not be negative, not {outlier_distance!r}"
        )
    cells = _draw_populations(
        block_generator(seed, _PARAMETERS), np.asarray(shares), markers, separation
    )
    truth = true_parameters(
        "correlated_cells",
        {
            "true_weights": ("component", cells.shares),
            "true_means": (("component", FEATURE_DIM), cells.means),
            "true_covariances": (("component", FEATURE_DIM, "other_feature"), cells.covariances),
        },
        [f"marker{j + 1}" for j in range(markers)],
        seed=seed,
    )
    places = np.sort(block_generator(seed, _OUTLIERS).choice(rows, outliers, replace=False))
    names = [f"population{h + 1}" for h in range(len(cells.shares))]
    blocks = _blocks(seed, cells, rows, places, outlier_distance)
    return Simulation(truth, blocks, rows, np.float32, {"label": names})


def _draw_populations(
    rng: np.random.Generator, shares: FloatArray, markers: int, separation: float
) -> _Populations:
    """Draw means and correlations."""
    k = len(shares)
    means = rng.standard_normal((k, markers))
    if k > 1:
        means *= separation / pdist(means).min()
    signs = rng.choice([-1.0, 1.0], size=(k, markers))
    magnitude = rng.uniform(*_CORRELATIONS, size=k)
    products = signs[:, :, None] * signs[:, None, :]
    covariances = magnitude[:, None, None] * products
    covariances[:, np.arange(markers), np.arange(markers)] = 1.0
    return _Populations(shares / shares.sum(), means, covariances)


def _blocks(
    seed: int,
    cells: _Populations,
    rows: int,
    outlier_rows: IndexArray,
    outlier_distance: float,
) -> Iterator[RowBlock]:
    """Yield the rows."""
    factors = np.linalg.cholesky(cells.covariances)
    for block, (start, stop) in enumerate(block_bounds(rows)):
        label = block_generator(seed, _LABELS, block).choice(
            len(cells.shares), size=stop - start, p=cells.shares
        )
        rng = block_generator(seed, _VALUES, block)
        noise = rng.standard_normal((stop - start, cells.means.shape[1]))
        values = cells.means[label]
        for h, factor in enumerate(factors):
            members = label == h
            values[members] += noise[members] @ factor.T
        low, high = np.searchsorted(outlier_rows, [start, stop])
        outlying = outlier_rows[low:high] - start
        direction = rng.standard_normal((len(outlying), values.shape[1]))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        values[outlying] = cells.means[label[outlying]] + outlier_distance * direction
        label[outlying] = -1
        yield {"X": values.astype(np.float32), "label": label}
