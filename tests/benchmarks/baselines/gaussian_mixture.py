"""Maximum likelihood of Gaussian mixtures by EM: scikit-learn's, as its users call it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

FloatArray = NDArray[np.float64]


def diagonal_mixture_densities(
    values: NDArray[Any], n_components: int, grids: Sequence[FloatArray]
) -> list[FloatArray]:
    """Fit a diagonal Gaussian mixture; return the component densities of every column.

    Maximum likelihood from 10 k-means starts.
    """
    mixture = GaussianMixture(
        n_components, covariance_type="diag", n_init=10, max_iter=300, tol=1e-4, random_state=0
    )
    with _unfinished_fits_allowed():
        mixture.fit(values)
    deviations = np.sqrt(mixture.covariances_)
    return [
        np.asarray(stats.norm.pdf(grid[:, None], mixture.means_[:, view], deviations[:, view]))
        for view, grid in enumerate(grids)
    ]


def gaussian_mixture_labels(
    values: NDArray[Any],
    n_components: int,
    n_init: int,
    fit_rows: int | None = None,
    *,
    covariance: Literal["full", "diag"] = "full",
    seed: int = 0,
) -> NDArray[np.intp]:
    """Fit a mixture, to a part of the rows if asked, and label all rows."""
    mixture = fitted_gaussian_mixture(
        values, n_components, n_init, fit_rows, covariance=covariance, seed=seed
    )
    return np.asarray(mixture.predict(values))


def fitted_gaussian_mixture(
    values: NDArray[Any],
    n_components: int,
    n_init: int,
    fit_rows: int | None = None,
    *,
    covariance: Literal["full", "diag"] = "full",
    seed: int = 0,
) -> GaussianMixture:
    """Fit a mixture, to a part of the rows if asked."""
    chosen = values
    if fit_rows is not None and fit_rows < len(values):
        rng = np.random.default_rng(seed)
        chosen = values[np.sort(rng.choice(len(values), fit_rows, replace=False))]
    mixture = GaussianMixture(
        n_components, covariance_type=covariance, n_init=n_init, random_state=seed
    )
    with _unfinished_fits_allowed():
        return mixture.fit(chosen)


@contextmanager
def _unfinished_fits_allowed() -> Iterator[None]:
    """Silence the warning that Gaussian EM has not converged: it is compared as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
