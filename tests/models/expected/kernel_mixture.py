"""Kernel mixtures whose results are stored: every initialisation, view, kernel and choice."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import bigtensor
from bigtensor import KernelMixture, SpectralOptions, simulate
from tests.models.expected.expected_fit import ExpectedFit
from tests.models.kernel_mixture.parameters import mixture_parameters

SMALL = {
    "spectral": SpectralOptions(n_landmarks=40, bins=512),
    "pilot_rows": 2000,
    "random_state": 0,
}


def rows(count: int = 4000) -> np.ndarray:
    """Rows of three components in a column, and two pairs of correlated columns."""
    rng = np.random.default_rng(7)
    label = rng.choice(3, size=count, p=[0.5, 0.3, 0.2])
    means = np.array(
        [[0.0, 0.0, 0.0, 0.0, 5.0], [4.0, 4.0, -4.0, 5.0, 0.0], [8.0, -4.0, 4.0, 5.0, 9.0]]
    )
    values = means[label] + rng.normal(size=(count, 5))
    values[:, 2] += 0.6 * (values[:, 1] - means[label, 1])
    values[:, 4] -= 0.6 * (values[:, 3] - means[label, 3])
    return values


def simulated(*, symmetric: bool = False) -> np.ndarray:
    """Rows of three components in three columns."""
    return simulate.kernel_mixture(4000, 3, symmetric=symmetric, random_state=1)["X"].to_numpy()


def codes() -> np.ndarray:
    """Rows of four categorical columns."""
    rng = np.random.default_rng(3)
    label = rng.choice(2, size=4000, p=[0.6, 0.4])
    probabilities = rng.dirichlet(np.ones(5), size=(4, 2))
    return np.stack(
        [
            [rng.choice(5, p=probabilities[column, h]) for h in label.tolist()]
            for column in range(4)
        ],
        axis=1,
    ).astype(np.float64)


def weighted_rows_with_holes() -> tuple[np.ndarray, np.ndarray]:
    """Rows with weights, of which some lack a value."""
    values = rows()
    values[::97, 1] = np.nan
    return values, np.random.default_rng(5).uniform(0.5, 1.5, size=len(values))


def in_rounds() -> KernelMixture:
    """Prepare, accumulate two parts, merge, solve; then a posterior round."""
    values = rows()
    model = KernelMixture(3, **mixture_parameters(SMALL, feature_dtype="float64")).prepare(values)
    for _ in range(2):
        parts = [model.accumulate(part) for part in (values[:1500], values[1500:])]
        model.solve(bigtensor.merge(parts))
    return model


def _plain(**parameters: Any) -> Callable[[], KernelMixture]:
    return lambda: KernelMixture(
        **mixture_parameters({"n_components": 3, **SMALL}, **parameters)
    ).fit(rows())


def _with_holes() -> KernelMixture:
    values, weight = weighted_rows_with_holes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bigtensor.errors.MissingValueWarning)
        return KernelMixture(3, missing="omit", **SMALL).fit(values, sample_weight=weight)


WIDE_VIEWS = {"b": [1, 2], "a": [0], "c": [4, 3]}

_MODELS: dict[str, Callable[[], KernelMixture]] = {
    "spectral": _plain(),
    "spectral in float64": _plain(feature_dtype="float64"),
    "clusters in float64": _plain(init="kmeans", feature_dtype="float64"),
    "tensor power": _plain(decomposition="power", feature_dtype="float64"),
    "multivariate views in float64": _plain(views=WIDE_VIEWS, feature_dtype="float64"),
    "multivariate views of a Laplace kernel": _plain(views=WIDE_VIEWS, kernel="laplace"),
    "groups": _plain(view_groups=[["x0"], ["x1", "x2"], ["x4"]], feature_dtype="float64"),
    "cross-validated bandwidth": _plain(bandwidth="cross-validation", feature_dtype="float64"),
    "shared components": lambda: KernelMixture(
        3, views_share_components=True, **mixture_parameters(SMALL, feature_dtype="float64")
    ).fit(simulated(symmetric=True)),
    "categories": lambda: KernelMixture(
        2, kernel="delta", **mixture_parameters(SMALL, feature_dtype="float64")
    ).fit(codes()),
    "weights and missing values": _with_holes,
    "counted components": lambda: KernelMixture(**SMALL).fit(simulated()),
    "populations in float64": _plain(n_components="auto", n_populations=3, feature_dtype="float64"),
    "counted populations": _plain(n_components="auto", n_populations="auto"),
    "rounds in float64": in_rounds,
}


def results(model: KernelMixture, values: np.ndarray) -> dict[str, Any]:
    """Return the numbers that a fit is held to: parameters, likelihoods, and answers for rows."""
    if model.views_share_components or model.n_features_in_ != values.shape[1]:
        values = values[:, : model.n_features_in_]
    probabilities = model.predict_proba(values[:200])
    return {
        "weights": model.weights_.tolist(),
        "mean_log_likelihood": list(model.diagnostics_["mean_log_likelihood"]),
        "log_densities": np.asarray(model.score_samples(values[:50])).tolist(),
        "mean_probabilities": np.asarray(probabilities, np.float64).mean(axis=0).tolist(),
        "labels": np.asarray(model.predict(values[:50])).tolist(),
    }


def judged_rows(name: str) -> np.ndarray:
    """Return the rows that a fit answers for."""
    if name == "categories":
        return codes()
    if name in ("shared components", "counted components"):
        return simulated(symmetric=name == "shared components")
    return rows()


def _expected(name: str) -> ExpectedFit:
    # sums of float32 features, or of float64 features in another order
    tolerance = 1e-8 if "float64" in name else 1e-4
    return ExpectedFit(lambda: results(_MODELS[name](), judged_rows(name)), tolerance)


FITS = {name: _expected(name) for name in _MODELS}
