import numpy as np
import pytest

from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview.mixture_candidates import (
    WhitenedTriple,
    polished_candidate,
    spectral_candidate,
)
from bigtensor.decomposition.multiview.subspaces import cross_covariance_subspaces
from tests.reference.exact_kernel_mixture import (
    align,
    different_views,
    exact_coordinates,
    gaussian_gram,
    population,
)


def exact_features(n_components, seed, rows=300):
    """Exact Gram coordinates of three one-dimensional views of well separated components."""
    random = np.random.default_rng(seed)
    weights = np.arange(1.0, n_components + 1)
    label = random.choice(n_components, rows, p=weights / weights.sum())
    z = []
    for _ in range(3):
        centres = 4.0 * random.permutation(n_components)
        x = (centres[label] + random.standard_normal(rows))[:, None]
        gram = gaussian_gram(x, x, 1.5)
        z.append(gram @ exact_coordinates(gram))
    return z


def moments_of(features):
    lifted = [np.hstack([np.ones((len(y), 1)), y]) for y in features]
    count = len(lifted[0])
    triple = np.einsum("na,nb,nc->abc", *lifted, optimize=True) / count
    return AugmentedMoments(triple, tuple(y.T @ y / count for y in lifted), count)


def projected(moments, n_components):
    bases = cross_covariance_subspaces(moments.pairs(), n_components).bases
    return moments.project(bases), bases


@pytest.mark.parametrize("n_components", [2, 3])
@pytest.mark.parametrize("method", ["jacobi", "power"])
@pytest.mark.quick_cases("jacobi-2", "jacobi-3", "power-2")
def test_spectral_candidate__is_the_exact_algorithm_on_a_finite_sample(n_components, method):
    z = exact_features(n_components, seed=n_components)
    small, bases = projected(moments_of(z), n_components)
    whitened = WhitenedTriple(small)
    for target in range(3):
        exact = different_views(z, n_components, target, method)
        candidate = spectral_candidate(small, whitened, target, method=method)
        means = [b @ m for b, m in zip(bases, candidate.embeddings, strict=True)]
        order = align(means[0], exact.means[0])
        np.testing.assert_allclose(candidate.weights[order], exact.weights, atol=1e-8)
        for found, expected in zip(means, exact.means, strict=True):
            np.testing.assert_allclose(found[:, order], expected, atol=1e-8)


@pytest.mark.parametrize("method", ["jacobi", "power"])
@pytest.mark.parametrize(
    ("n_components", "n_features"),
    [(1, (1, 2, 3)), (2, (2, 6, 6)), (3, (9, 9, 9)), (5, (5, 8, 15)), (8, (24, 24, 24))],
)
@pytest.mark.quick_cases(
    "1-n_features0-jacobi",
    "1-n_features0-power",
    "3-n_features2-jacobi",
    "3-n_features2-power",
    "8-n_features4-jacobi",
)
def test_candidates__raw_and_polished_are_exact_in_the_population(n_components, n_features, method):
    for seed in range(3):
        true = population(n_components, n_features, seed)
        moments = AugmentedMoments(true.triple, tuple(true.seconds), 1)
        small, bases = projected(moments, n_components)
        whitened = WhitenedTriple(small)
        for target in range(3):
            raw = spectral_candidate(small, whitened, target, method=method)
            for candidate in (raw, polished_candidate(whitened, raw)):
                # Both orders by weight: the random weights are all different.
                order = np.argsort(candidate.weights)
                expected = np.argsort(true.weights)
                np.testing.assert_allclose(
                    candidate.weights[order], true.weights[expected], atol=1e-10
                )
                for basis, mean, truth in zip(bases, candidate.embeddings, true.means, strict=True):
                    np.testing.assert_allclose(
                        (basis @ mean)[:, order], truth[:, expected], atol=1e-10
                    )
                assert candidate.residual < 1e-12


def test_polished_candidate__is_exact_where_the_constant_is_among_the_features():
    # Second moments without within-component variation are singular: k terms in k + 1 dimensions.
    true = population(3, (5, 5, 5), seed=2, within=0.0)
    small, bases = projected(AugmentedMoments(true.triple, tuple(true.seconds), 1), 3)
    whitened = WhitenedTriple(small)
    polished = polished_candidate(whitened, spectral_candidate(small, whitened, 1))
    order, expected = np.argsort(polished.weights), np.argsort(true.weights)
    np.testing.assert_allclose(polished.weights[order], true.weights[expected], atol=1e-8)
    np.testing.assert_allclose(
        (bases[0] @ polished.embeddings[0])[:, order], true.means[0][:, expected], atol=1e-8
    )


def test_polished_candidate__has_a_smaller_residual_on_a_sample():
    small, _ = projected(moments_of(exact_features(3, seed=9)), 3)
    whitened = WhitenedTriple(small)
    raw = spectral_candidate(small, whitened, 2)
    polished = polished_candidate(whitened, raw)
    assert polished.residual < raw.residual
    # The reported residual is that of the undone factors, not only of the iteration.
    undone = whitened.residual(polished.weights, polished.embeddings)
    assert undone == pytest.approx(polished.residual, rel=1e-9)
    assert polished.name == "group 2, polished"
