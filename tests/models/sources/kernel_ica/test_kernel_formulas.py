"""Fits against the direct formulas of few rows, linear component analysis, and known sources."""

import numpy as np
import pytest
from sklearn.decomposition import FastICA, KernelPCA

from bigtensor import ICA, KernelICA
from tests.models.sources.ica.problems import column_error, problem
from tests.models.sources.kernel_ica.problems import (
    KernelPrincipalComponents,
    feature_space_problem,
    gaussian_gram,
)

K = 4


@pytest.fixture(scope="module")
def rows():
    """Clusters, of which a Gaussian kernel makes sources far from Gaussian."""
    rng = np.random.default_rng(0)
    centres = 3 * rng.standard_normal((5, 3))
    return centres[rng.integers(0, 5, 450)] + rng.standard_normal((450, 3))


@pytest.fixture(scope="module")
def model(rows):
    """All rows are landmarks, so that the kernel is exact."""
    return KernelICA(K, max_iter=100, random_state=0).fit(rows)


@pytest.fixture(scope="module")
def components(rows, model):
    scaled = rows / model.scale_
    return KernelPrincipalComponents.of(gaussian_gram(scaled, scaled, model.bandwidth_), K)


def test_defaults__are_the_root_of_the_number_of_features(rows, model):
    assert model.bandwidth_ == pytest.approx(np.sqrt(3))
    assert model.scale_ == pytest.approx(rows.std(axis=0))
    assert model.landmarks_.shape == rows.shape


def test_sources__are_a_rotation_of_whitened_principal_components(rows, model, components):
    answered, whitened = model.transform(rows), components.whitened
    rotation = whitened.T @ answered / len(rows)
    assert np.abs(rotation.T @ rotation - np.eye(K)).max() < 1e-10
    assert np.abs(whitened @ rotation - answered).max() < 1e-10
    own = KernelPCA(K, kernel="rbf", gamma=1 / (2 * model.bandwidth_**2))
    theirs = own.fit_transform(rows / model.scale_) / np.sqrt(components.values / len(rows))
    span, _ = np.linalg.qr(theirs)
    assert np.abs(answered - span @ (span.T @ answered)).max() < 1e-8


def test_rotation__is_a_fixed_point_of_fastica(rows, model, components):
    """FastICA from our rotation stays there."""
    rotation = components.whitened.T @ model.transform(rows) / len(rows)
    fast = FastICA(whiten=False, fun="logcosh", w_init=rotation.T, max_iter=1_000, tol=1e-12)
    expected = fast.fit_transform(components.whitened)
    correlations = np.corrcoef(model.transform(rows).T, expected.T)[:K, K:]
    assert np.abs(np.diag(correlations)) == pytest.approx(np.ones(K), abs=1e-6)


def test_new_points__follow_the_formula(rows, model, components):
    points = np.random.default_rng(1).normal(scale=3, size=(60, 3))
    kernel = gaussian_gram(points / model.scale_, rows / model.scale_, model.bandwidth_)
    rotation = components.whitened.T @ model.transform(rows) / len(rows)
    expected = components.project(kernel) @ rotation
    assert np.abs(model.transform(points) - expected).max() < 1e-9
    at_rows = components.project(components.gram) @ rotation
    assert np.abs(model.transform(rows) - at_rows).max() < 1e-9


def test_attributes__make_up_the_sources(rows, model):
    kernel = gaussian_gram(rows / model.scale_, model.landmarks_ / model.scale_, model.bandwidth_)
    answered = model.transform(rows)
    assert np.abs(kernel @ model.dual_coef_ + model.intercept_ - answered).max() < 1e-8
    assert (answered**4).mean(axis=0) - 3 == pytest.approx(model.kurtosis_, rel=1e-3)
    assert np.all(np.diff(np.abs(model.kurtosis_)) <= 0)
    correlations = np.corrcoef(answered.T, rows.T)[:K, K:]
    assert model.correlations_ == pytest.approx(correlations, abs=1e-8)
    largest = np.abs(correlations).argmax(axis=1)
    assert (correlations[np.arange(K), largest] > 0).all()


def test_explained_variance__is_shared_by_the_sources(rows, model, components):
    n = len(rows)
    assert model.explained_variance_.sum() == pytest.approx(components.values.sum() / n)
    ratio = components.values.sum() / components.trace
    assert model.explained_variance_ratio_.sum() == pytest.approx(ratio)
    # squared length of a_j = sum_i alpha_ij phi~(x_i) with alpha = U V / sqrt(n)
    alpha = components.vectors @ (components.whitened.T @ model.transform(rows) / n) / np.sqrt(n)
    centred = components.gram - components.gram.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    lengths = np.einsum("ij,ik,kj->j", alpha, centred, alpha)
    assert model.explained_variance_ == pytest.approx(lengths)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.quick_cases("f4")
def test_linear_kernel__gives_the_sources_of_linear_analysis(dtype):
    values, _, _ = problem("mixed", 6, 6, 30_000, seed=2, dtype=dtype)
    values = values * np.array([1, 10, 0.1, 5, 1, 1], dtype) + 3
    ours = KernelICA(6, kernel="linear", random_state=0).fit(values)
    linear = ICA(6, method="whitened", random_state=0).fit(values)
    assert np.abs(ours.transform(values) - linear.transform(values)).max() < 1e-3
    assert ours.kurtosis_ == pytest.approx(linear.kurtosis_, abs=1e-3)
    assert ours.landmarks_ is None
    assert ours.dual_coef_.shape == (6, 6)


@pytest.mark.parametrize(("rows", "most"), [(1000, 0.08), (3000, 0.045)])
def test_mixtures_in_a_space_of_many_features__are_separated(rows, most):
    points, mixing, hidden = feature_space_problem(rows, 4, 400, 0.1, seed=rows)
    model = KernelICA(4, kernel="linear", random_state=0).fit(points)
    answered = model.transform(points)
    correlations = np.abs(np.corrcoef(answered.T, hidden.T)[:4, 4:]).max(axis=1)
    assert correlations.min() > 0.996
    standardised = mixing / model.scale_[:, None]
    assert column_error(standardised, model.correlations_.T) < most


@pytest.mark.slow
def test_many_landmarks__approach_the_exact_kernel():
    rng = np.random.default_rng(3)
    rows = np.concatenate([rng.normal(size=(400, 3)) + 4 * c for c in np.eye(3)])
    exact = KernelICA(3, n_landmarks=1_200, random_state=0).fit(rows).transform(rows)
    errors = []
    for n_landmarks in (10, 40, 160):
        near = KernelICA(3, n_landmarks=n_landmarks, random_state=0).fit(rows).transform(rows)
        correlations = np.abs(np.corrcoef(near.T, exact.T)[:3, 3:]).max(axis=1)
        errors.append(float(np.sqrt(1 - np.minimum(correlations, 1) ** 2).max()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02
