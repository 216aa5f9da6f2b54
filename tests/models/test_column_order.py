"""Columns in another order: the same answers, on data whose components are hard to tell apart."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from bigtensor import (
    ICA,
    DiscreteMixture,
    GaussianMixture,
    HiddenMarkovModel,
    KernelICA,
    KernelMixture,
    SparseICA,
    TensorTrainDensity,
    TensorTrainOptions,
)
from bigtensor.errors import BigtensorWarning
from bigtensor.features.column_order import content_order
from tests.parameters import first_quick


def clusters(rows: int, features: int, spread: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, spread, (4, features))
    return centres[rng.integers(0, 4, rows)] + rng.normal(size=(rows, features))


def codes(rows: int, features: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    probabilities = np.cumsum(rng.dirichlet(np.full(4, 0.7), (3, features)), axis=2)
    drawn = rng.random((rows, features, 1)) > probabilities[rng.integers(0, 3, rows)]
    return drawn.sum(axis=2).clip(0, 3).astype(np.int32)


def standardised(name: str) -> np.ndarray:
    values = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}[name]()["data"]
    return (values - values.mean(axis=0)) / values.std(axis=0)


def orders(features: int) -> list[np.ndarray]:
    return [np.random.default_rng(seed).permutation(features) for seed in (5, 6)]


def fitted(model, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BigtensorWarning)
        return model.fit(rows)


def require_equal_answers(make, rows, atol, answers):
    model = fitted(make(), rows)
    for order in orders(rows.shape[1]):
        moved = fitted(make(), rows[:, order])
        for name in answers:
            found, expected = getattr(moved, name)(rows[:, order]), getattr(model, name)(rows)
            if name == "predict":
                assert_array_equal(found, expected)
            else:
                assert_allclose(found, expected, rtol=atol, atol=atol, err_msg=name)


MIXTURE = ("predict", "predict_proba", "score_samples")
SETS = {
    "eight": lambda: clusters(3_000, 8, 1.2, 0),
    "six": lambda: clusters(1_000, 6, 1.0, 1),
    "iris": lambda: standardised("iris"),
    "wine": lambda: standardised("wine"),
}


@pytest.mark.parametrize("name", first_quick(["wine", "iris", "six", "eight"], 2))
@pytest.mark.parametrize("components", [3, pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.quick_cases("3-iris")
def test_kernel_mixture(name, components):
    # densities are float32, and five components of iris share rows
    tolerance = 1e-3 if (name, components) == ("iris", "auto") else 2e-5
    require_equal_answers(
        lambda: KernelMixture(components, random_state=0), SETS[name](), tolerance, MIXTURE
    )


@pytest.mark.parametrize(
    ("rows", "features"), [(300, 9), pytest.param(2_000, 6, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("seed", first_quick([0, 1]))
@pytest.mark.parametrize("components", [3, pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.slow  # a law on every model
def test_discrete_mixture(rows, features, seed, components):
    drawn = codes(rows, features, seed)
    require_equal_answers(
        lambda: DiscreteMixture(components, random_state=0), drawn, 1e-10, MIXTURE
    )


@pytest.mark.parametrize("name", first_quick(["wine", "cancer"]))
@pytest.mark.parametrize(
    "make",
    [
        lambda: ICA(random_state=0),
        lambda: ICA(method="cumulant", random_state=0),
        lambda: KernelICA(3, n_landmarks=40, random_state=0),
    ],
    ids=["whitened", "cumulant", "kernel"],
)
@pytest.mark.quick_cases("whitened-wine", "kernel-wine")
def test_sources(name, make):
    require_equal_answers(make, standardised(name), 1e-8, ("transform",))


def test_sparse_sources():
    require_equal_answers(
        lambda: SparseICA(random_state=0), standardised("wine"), 1e-8, ("transform",)
    )


@pytest.mark.parametrize("name", first_quick(["wine", "six"]))
@pytest.mark.parametrize(("components", "form"), [(5, "tied"), (3, "shared_spherical")])
@pytest.mark.quick_cases("3-shared_spherical-wine")
def test_gaussian_mixture(name, components, form):
    require_equal_answers(
        lambda: GaussianMixture(components, covariance_type=form, random_state=0),
        *(SETS[name](), 1e-8, MIXTURE),
    )


@pytest.mark.slow
def test_hidden_markov_model():
    require_equal_answers(
        lambda: HiddenMarkovModel(3, emissions="kernel", random_state=0),
        *(SETS["six"](), 2e-5, ("predict", "predict_proba")),
    )


def test_density():
    require_equal_answers(
        lambda: TensorTrainDensity(
            2,
            coordinates="z",
            widths=[0.5, 1.2],
            trains=TensorTrainOptions(n_trains=1),
            random_state=0,
        ),
        *(SETS["six"](), 1e-8, ("score_samples",)),
    )


def test_content_order__follows_the_columns_in_any_units():
    rows = np.random.default_rng(0).exponential(size=(200, 6))
    pairs = [slice(0, 2), slice(2, 3), slice(3, 6)]
    order = np.array(content_order(rows, [slice(j, j + 1) for j in range(6)]))
    for moved in orders(6):
        scaled = 1e-3 * rows[:, moved] + 7
        found = content_order(scaled, [slice(j, j + 1) for j in range(6)])
        assert_array_equal(moved[found], order)
    # groups of columns, whose own columns may stand in any order
    within = rows[:, [1, 0, 2, 5, 3, 4]]
    assert content_order(within, pairs) == content_order(rows, pairs)


def test_content_order__tells_columns_of_equal_moments_by_the_others():
    rng = np.random.default_rng(0)
    first = rng.permutation(np.repeat([0.0, 1.0], 50))
    rows = np.stack([first, rng.permutation(first), rng.exponential(size=100)], axis=1)
    columns = [slice(j, j + 1) for j in range(3)]
    order = np.array(content_order(rows, columns))
    assert_array_equal(np.array([1, 0, 2])[content_order(rows[:, [1, 0, 2]], columns)], order)
