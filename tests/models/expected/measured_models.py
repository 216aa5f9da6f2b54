"""Models of measured data whose results are stored, on small simulated data."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from bigtensor import (
    ICA,
    GaussianMixture,
    KernelICA,
    LinearMixture,
    SparseICA,
    TensorTrainDensity,
    TensorTrainOptions,
    simulate,
)
from tests.models.expected.expected_fit import JUDGED_ROWS, ExpectedFit, numbers_of

Rows = Callable[[], np.ndarray]


@cache
def three_views() -> np.ndarray:
    """Rows of three views of four features and three components."""
    drawn = simulate.linear_mixture(3000, 3, n_features=4, noise=1.0, random_state=1)
    return drawn["X"].to_numpy().astype(np.float64)


@cache
def orthogonal_views() -> np.ndarray:
    """Rows of three views of four features, with three components whose means are orthogonal."""
    rng = np.random.default_rng(0)
    rotations = [np.linalg.qr(rng.normal(size=(4, 4)))[0][:3] for _ in range(3)]
    means = 2 * np.hstack(rotations)
    return means[rng.integers(3, size=3000)] + 0.3 * rng.normal(size=(3000, 12))


@cache
def clusters() -> np.ndarray:
    """Rows of five components in six features."""
    drawn = simulate.gaussian_mixture(2000, 5, n_features=6, noise=0.5, random_state=2)
    return drawn["X"].to_numpy().astype(np.float64)


@cache
def mixed(sources: str = "laplace", noise: float = 0.0, n_components: int = 3) -> np.ndarray:
    """Rows of four features that mix independent sources."""
    drawn = simulate.ica(3000, n_components, 4, noise, sources, random_state=3)
    return drawn["X"].to_numpy().astype(np.float64)


@cache
def chained() -> np.ndarray:
    """Rows of four features along a latent chain."""
    return simulate.latent_chain(600, 3, 4, random_state=1)["X"].to_numpy().astype(np.float64)


def numbers(rows: Rows, model: type[Any], *arguments: Any, **parameters: Any) -> dict[str, Any]:
    """Fit a model, and return its numbers."""
    return numbers_of(
        model(*arguments, random_state=0, **parameters).fit(rows()), rows()[:JUDGED_ROWS]
    )


def expected(rows: Rows, model: type[Any], *arguments: Any, **parameters: Any) -> ExpectedFit:
    return ExpectedFit(partial(numbers, rows, model, *arguments, **parameters))


def labelled_gaussian_mixture() -> dict[str, Any]:
    """Fit components of which some rows have labels, fewer than a tied fit without labels takes."""
    drawn = simulate.gaussian_mixture(1000, 3, n_features=3, noise=0.5, random_state=2)
    rows = drawn["X"].to_numpy().astype(np.float64)
    labels = np.where(np.arange(1000) % 10 == 0, drawn["label"].to_numpy(), -1)
    model = GaussianMixture(3, covariance_type="tied", random_state=0).fit(rows, labels)
    return numbers_of(model, rows[:JUDGED_ROWS])


def train(*arguments: Any, **parameters: Any) -> dict[str, Any]:
    """Fit a density, and answer for densities and means of missing values."""
    rows = chained()
    incomplete = np.where(np.arange(4) == 1, np.nan, rows[:JUDGED_ROWS])
    model = TensorTrainDensity(*arguments, random_state=0, **parameters).fit(rows)
    numbers = numbers_of(model, rows[:JUDGED_ROWS])
    return numbers | {"impute": model.impute(incomplete)[:, 1].tolist()}


def averaged_trains(**parameters: Any) -> ExpectedFit:
    return ExpectedFit(
        partial(train, 2, widths=[0.5, 1.2], trains=TensorTrainOptions(n_trains=2), **parameters)
    )


VIEWS = {"a": [0, 1, 2, 3], "b": [4, 5, 6, 7], "c": [8, 9, 10, 11]}

FAMILIES = {
    "linear_mixture": {
        **{
            method: expected(three_views, LinearMixture, 3, views=VIEWS, method=method)
            for method in ("sample", "compressed", "explicit", "passes")
        },
        # power updates lose components whose means are not orthogonal
        "power": expected(orthogonal_views, LinearMixture, 3, views=VIEWS, method="power"),
    },
    "gaussian_mixture": {
        **{
            kind: expected(clusters, GaussianMixture, 5, covariance_type=kind)
            for kind in ("full", "tied", "diag", "spherical", "shared_spherical")
        },
        "tied with labels": ExpectedFit(labelled_gaussian_mixture),
    },
    "ica": {
        "whitened": expected(mixed, ICA, method="whitened"),
        "cumulant": expected(partial(mixed, noise=0.3), ICA, 3, method="cumulant"),
        "as many sources as features": expected(
            partial(mixed, n_components=4, sources="uniform"), ICA, 4, method="cumulant"
        ),
        "method by held-out rows": expected(partial(mixed, "uniform"), ICA, 3),
    },
    "sparse_ica": {
        "polished": expected(partial(mixed, "sparse"), SparseICA, 3),
        "cumulant": expected(partial(mixed, "sparse"), SparseICA, 3, max_iter=0),
    },
    "kernel_ica": {
        kernel: expected(mixed, KernelICA, 3, kernel=kernel, n_landmarks=60)
        for kernel in ("gaussian", "laplace", "linear")
    },
    "tensor_train_density": {
        "chain": averaged_trains(coordinates="z"),
        "balanced": averaged_trains(coordinates="z", structure="balanced"),
        "normal scores": averaged_trains(coordinates="ns"),
        "embedding": expected(chained, TensorTrainDensity, 2, coordinates="z", method="embedding"),
        "choices": ExpectedFit(train),
    },
}
"""Fits by family and name."""
