"""Reference for an estimated mixture: true densities, the error, a labelled estimate."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import stats
from scipy.optimize import linear_sum_assignment

from bigtensor.array_types import FloatArray
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.errors import DataError, ParameterError

_GRID_POINTS = 1000
"""Points on which densities are compared."""

_BINS_PER_BANDWIDTH = 32
"""Bins of the counted values of a large component; see `labelled_kernel_density`."""

_KERNEL_VALUES = 2**20
"""Kernel values that are in memory at once: 8 MiB."""


def feature_truth(dataset: xr.Dataset, names: Sequence[str], feature: str) -> list[FloatArray]:
    """Return true parameters of one feature, one value a component."""
    missing = [name for name in names if name not in dataset]
    if missing:
        raise DataError(f"the data set lacks {missing}; give one that the simulator made")
    features = [str(name) for name in dataset[FEATURE_DIM].values]
    if feature not in features:
        raise ParameterError(f"there is no feature {feature!r}; the features are {features}")
    column = features.index(feature)
    return [np.asarray(dataset[name].isel({FEATURE_DIM: column})) for name in names]


def kernel_mixture_density(dataset: xr.Dataset, feature: str, points: ArrayLike) -> FloatArray:
    """Evaluate the true component densities of one feature of a simulated kernel mixture.

    A Gamma component of shape a, mean m and standard deviation s is the density of
    ``m - a * theta + theta * G`` with ``theta = s / sqrt(a)`` and G standard Gamma.

    Parameters
    ----------
    dataset : xarray.Dataset
        Data of :func:`~bigtensor.data.simulate.kernel_mixture`, in memory or from its store.
    feature : str
        Name of the feature.
    points : array-like of shape (points,)
        Where to evaluate.

    Returns
    -------
    (points, components) float64 array
        Density values, one column a component.

    Raises
    ------
    DataError
        If the data set does not hold the truth of a kernel mixture.
    ParameterError
        If there is no such feature.
    """
    names = ["true_means", "true_sds", "true_is_gamma"]
    means, sds, is_gamma = feature_truth(dataset, names, feature)
    shape = float(dataset.attrs["gamma_shape"])
    scale = sds / np.sqrt(shape)
    x = np.asarray(points, dtype=np.float64)[:, None]
    normal = stats.norm.pdf(x, means, sds)
    gamma = stats.gamma.pdf(x, shape, loc=means - shape * scale, scale=scale)
    return np.where(is_gamma.astype(bool), gamma, normal)


def error_grid(dataset: xr.Dataset, feature: str) -> FloatArray:
    """Return the points on which the densities of one feature are compared.

    Parameters
    ----------
    dataset : xarray.Dataset
        Data of :func:`~bigtensor.data.simulate.kernel_mixture`.
    feature : str
        Name of the feature.

    Returns
    -------
    (1000,) float64 array
        Evenly spaced from ``min(mean - 4 sd)`` to ``max(mean + 5 sd)`` over the components.

    Raises
    ------
    DataError
        If the data set does not hold the truth of a kernel mixture.
    ParameterError
        If there is no such feature.
    """
    means, sds = feature_truth(dataset, ["true_means", "true_sds"], feature)
    return np.linspace(np.min(means - 4 * sds), np.max(means + 5 * sds), _GRID_POINTS)


def density_error(
    true_weights: ArrayLike,
    true_densities: Sequence[ArrayLike],
    estimated_densities: Sequence[ArrayLike],
    grid: Sequence[ArrayLike],
) -> float:
    """Measure how far estimated component densities are from the true ones.

    The error is the mean over views of ``sum_h pi_h sqrt(int (p_h - q_h)**2 dx)``, where the
    estimated components are matched with the true ones by the one permutation for all views that
    makes it smallest. Integrals are trapezoidal sums.

    Parameters
    ----------
    true_weights : array-like of shape (components,)
        The weights pi of the true components.
    true_densities, estimated_densities : sequence, one (points, components) array a view
        Density values, one column a component.
    grid : sequence, one (points,) array a view
        Where the densities were evaluated, see :func:`error_grid`.

    Returns
    -------
    float
        Zero if all densities are equal on the grid.

    Raises
    ------
    ParameterError
        If the numbers of views, points or components differ.
    """
    weights = np.asarray(true_weights, dtype=np.float64)
    if not (len(true_densities) == len(estimated_densities) == len(grid) > 0):
        raise ParameterError(
            f"there are {len(true_densities)} true and {len(estimated_densities)} estimated "
            f"densities and {len(grid)} grids; give one of each for every view"
        )
    distance = np.zeros((len(weights), len(weights)))
    for true, estimated, points in zip(true_densities, estimated_densities, grid, strict=True):
        p, q, x = (np.asarray(part, dtype=np.float64) for part in (true, estimated, points))
        expected = (len(x), len(weights))
        if p.shape != expected or q.shape != expected:
            raise ParameterError(
                f"densities of shapes {p.shape} (true) and {q.shape} (estimated) do not fit "
                f"{len(x)} points and {len(weights)} components; both must be {expected}"
            )
        for h in range(len(weights)):
            distance[h] += np.sqrt(np.trapezoid((p[:, h : h + 1] - q) ** 2, x, axis=0))
    cost = weights[:, None] * distance / len(grid)
    return float(cost[linear_sum_assignment(cost)].sum())


def labelled_kernel_density(
    values: ArrayLike, label: ArrayLike, n_components: int, points: ArrayLike
) -> FloatArray:
    """Estimate the component densities of one feature by a kernel density with known labels.

    A Gaussian kernel whose width is ``0.9 min(sd, IQR / 1.34) n_h**(-1/5)`` for each component
    (Silverman 1986, sec. 3.4.2). Large components are first counted, by linear binning, on bins
    of 1/32 of the width, which changes the density by less than one part in a thousand of its
    maximum.

    Parameters
    ----------
    values : array-like of shape (rows,)
        Values of one feature.
    label : array-like of shape (rows,)
        Component of every row, 0 to ``n_components - 1``.
    n_components : int
        Number of components.
    points : array-like of shape (points,)
        Where to evaluate.

    Returns
    -------
    (points, components) float64 array
        Density values, one column a component.

    Raises
    ------
    DataError
        If a component has no spread from which a width could be taken.
    """
    x = np.asarray(values, dtype=np.float64)
    codes = np.asarray(label)
    at = np.asarray(points, dtype=np.float64)
    density = np.empty((len(at), n_components))
    for h in range(n_components):
        members = x[codes == h]
        if len(members) < 2 or np.ptp(members) == 0:
            raise DataError(
                f"component {h} has {len(members)} rows and no spread, so it has no bandwidth; "
                "give more rows or fewer components"
            )
        low, high = np.percentile(members, [25, 75])
        # Ties can make the quartiles equal; the standard deviation is then all there is.
        spread = min(members.std(ddof=1), (high - low) / 1.34) or members.std(ddof=1)
        width = 0.9 * spread * len(members) ** -0.2
        density[:, h] = _kernel_sums(at, *_binned(members, width / _BINS_PER_BANDWIDTH), width)
    return density


def _binned(values: FloatArray, bin_width: float) -> tuple[FloatArray, FloatArray]:
    """Return places and shares of linearly binned values, or the values where they are fewer."""
    n = len(values)
    lowest = values.min()
    bins = int(np.ptp(values) / bin_width) + 2
    if bins >= n:
        return values, np.full(n, 1.0 / n)
    position = (values - lowest) / bin_width
    left = position.astype(np.intp)
    share = position - left
    mass = np.bincount(left, 1.0 - share, bins) + np.bincount(left + 1, share, bins)
    return lowest + bin_width * np.arange(bins), mass / n


def _kernel_sums(
    points: FloatArray, places: FloatArray, mass: FloatArray, width: float
) -> FloatArray:
    """Sum Gaussian kernels of given masses at every point, a bounded number of values at once."""
    sums = np.empty(len(points))
    step = max(_KERNEL_VALUES // len(places), 1)
    for start in range(0, len(points), step):
        distance = (points[start : start + step, None] - places) / width
        sums[start : start + step] = np.exp(-0.5 * distance**2) @ mass
    sums /= np.sqrt(2.0 * np.pi) * width
    return sums
