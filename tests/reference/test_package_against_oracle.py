"""What the package computes, against the exact algorithm written out literally."""

import numpy as np
import pytest

from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview.mixture_candidates import (
    WhitenedTriple,
    spectral_candidate,
    symmetric_candidate,
)
from bigtensor.decomposition.multiview.multiview_mixture import solve_multiview_mixture
from bigtensor.decomposition.multiview.subspaces import (
    cross_covariance_subspaces,
    symmetric_subspace,
)
from bigtensor.decomposition.multiview.symmetric_mixture import solve_symmetric_mixture
from bigtensor.features.kernels.kernel import GaussianKernel
from bigtensor.features.kernels.nystroem import eigenvalue_cut, nystroem_root
from tests.reference.exact_kernel_mixture import (
    align,
    conditional_density,
    different_views,
    discrete_tensor_method,
    eigenvector_tables,
    exact_coordinates,
    gaussian_gram,
    joint_table,
    population,
    symmetric_population,
    symmetric_views,
)

METHODS = pytest.mark.parametrize("method", ["jacobi", "power"])


def moments_of(features):
    lifted = [np.hstack([np.ones((len(y), 1)), y]) for y in features]
    count = len(lifted[0])
    triple = np.einsum("na,nb,nc->abc", *lifted, optimize=True) / count
    return AugmentedMoments(triple, tuple(y.T @ y / count for y in lifted), count)


def raw_different(moments, n_components, target, method):
    """Weights and means in the features of the groups, of the candidate without polish."""
    bases = cross_covariance_subspaces(moments.pairs(), n_components).bases
    projected = moments.project(bases)
    found = spectral_candidate(projected, WhitenedTriple(projected), target, method=method)
    return found.weights, [b @ m for b, m in zip(bases, found.embeddings, strict=True)]


def raw_symmetric(moments, n_components, method):
    shared = moments.symmetrised()
    bases = symmetric_subspace(shared.pairs(), n_components).bases
    projected = shared.project(bases)
    found = symmetric_candidate(projected, WhitenedTriple(projected), method=method)
    return found.weights, bases[0] @ found.embeddings[0]


def rows_of(n_components, n, seed, symmetric):
    random = np.random.default_rng(seed)
    weights = np.arange(1.0, n_components + 1)
    label = random.choice(n_components, n, p=weights / weights.sum())
    centres = [4.0 * random.permutation(n_components) for _ in range(3)]
    return [
        (centres[0 if symmetric else t][label] + random.standard_normal(n))[:, None]
        for t in range(3)
    ]


@METHODS
@pytest.mark.parametrize(("n_components", "n_features"), [(2, (2, 5, 4)), (5, (9, 5, 12))])
def test_different_views__population_moments_are_recovered(n_components, n_features, method):
    for seed in range(3):
        true = population(n_components, n_features, seed)
        moments = AugmentedMoments(true.triple, tuple(true.seconds), 1)
        found = solve_multiview_mixture(moments, n_components, true.masses, method=method)
        order = np.argsort(-true.weights)
        np.testing.assert_allclose(found.weights, true.weights[order], atol=1e-10)
        for embedding, mean in zip(found.embeddings, true.means, strict=True):
            np.testing.assert_allclose(embedding, mean[:, order], atol=1e-10)


@METHODS
@pytest.mark.parametrize(("n_components", "n_features"), [(1, 2), (3, 3), (4, 12), (7, 10)])
def test_symmetric_views__population_moments_are_recovered(n_components, n_features, method):
    for seed in range(3):
        true = symmetric_population(n_components, n_features, seed)
        moments = AugmentedMoments(true.triple, tuple(true.seconds), 1)
        found = solve_symmetric_mixture(moments, n_components, true.masses[0], method=method)
        order = np.argsort(-true.weights)
        np.testing.assert_allclose(found.weights, true.weights[order], atol=1e-10)
        for embedding in found.embeddings:
            np.testing.assert_allclose(embedding, true.means[0][:, order], atol=1e-10)


@METHODS
@pytest.mark.parametrize("target", [0, 1, 2])
def test_different_views__landmarks_at_the_data_give_the_exact_gram_algorithm(target, method):
    views, width = rows_of(3, 150, seed=4, symmetric=False), 1.5
    grid = np.linspace(-4, 12, 80)[:, None]
    exact_parts = [exact_coordinates(gaussian_gram(x, x, width)) for x in views]
    exact = different_views(
        [gaussian_gram(x, x, width) @ r for x, r in zip(views, exact_parts, strict=True)],
        3,
        target,
        method,
    )
    kernel = GaussianKernel(np.array([width]))
    roots = [nystroem_root(kernel.evaluate(x, x), eigenvalue_cut("float64")) for x in views]
    features = [kernel.evaluate(x, x) @ root for x, root in zip(views, roots, strict=True)]
    weights, means = raw_different(moments_of(features), 3, target, method)
    order = np.argsort(weights)
    expected_order = np.argsort(exact.weights)
    np.testing.assert_allclose(weights[order], exact.weights[expected_order], atol=1e-8)
    for x, root, mean, part, expected in zip(
        views, roots, means, exact_parts, exact.means, strict=True
    ):
        density = kernel.evaluate(grid, x) @ root @ mean
        reference = conditional_density(gaussian_gram(grid, x, width), part, expected)
        np.testing.assert_allclose(
            density[:, order], reference[:, expected_order], atol=1e-8 * reference.max()
        )


@METHODS
def test_symmetric_views__landmarks_at_the_data_give_the_exact_gram_algorithm(method):
    views, width = rows_of(3, 80, seed=2, symmetric=True), 1.5
    pooled = np.vstack(views)
    grid = np.linspace(-4, 12, 80)[:, None]
    part = exact_coordinates(gaussian_gram(pooled, pooled, width))
    exact = symmetric_views([gaussian_gram(x, pooled, width) @ part for x in views], 3, method)
    kernel = GaussianKernel(np.array([width]))
    root = nystroem_root(kernel.evaluate(pooled, pooled), eigenvalue_cut("float64"))
    moments = moments_of([kernel.evaluate(x, pooled) @ root for x in views])
    weights, mean = raw_symmetric(moments, 3, method)
    order, expected_order = np.argsort(weights), np.argsort(exact.weights)
    np.testing.assert_allclose(weights[order], exact.weights[expected_order], atol=1e-8)
    density = kernel.evaluate(grid, pooled) @ root @ mean
    reference = conditional_density(gaussian_gram(grid, pooled, width), part, exact.means[0])
    np.testing.assert_allclose(
        density[:, order], reference[:, expected_order], atol=1e-8 * reference.max()
    )


@METHODS
@pytest.mark.parametrize("target", [0, 1, 2])
@pytest.mark.quick_cases("0-jacobi", "0-power")
def test_delta_kernel__is_the_discrete_tensor_method_on_the_joint_table(target, method):
    random = np.random.default_rng(8)
    tables = [random.dirichlet(np.full(size, 0.4), 3).T for size in (6, 5, 7)]
    label = random.choice(3, 4000, p=[0.5, 0.3, 0.2])
    codes = [
        np.array([random.choice(len(table), p=table[:, h]) for h in label]) for table in tables
    ]
    joint = np.zeros([len(table) for table in tables])
    np.add.at(joint, tuple(codes), 1 / len(label))
    exact = discrete_tensor_method(joint, 3, target, method)
    one_hot = [np.eye(len(table))[code] for table, code in zip(tables, codes, strict=True)]
    weights, means = raw_different(moments_of(one_hot), 3, target, method)
    order = align(means[0], exact.means[0])
    np.testing.assert_allclose(weights[order], exact.weights, atol=1e-10)
    for mean, expected in zip(means, exact.means, strict=True):
        np.testing.assert_allclose(mean[:, order], expected, atol=1e-10)


def test_delta_kernel__recovers_conditional_tables_as_eigenvectors_do():
    random = np.random.default_rng(3)
    weights = np.array([0.5, 0.3, 0.2])
    tables = [random.dirichlet(np.full(size, 0.5), 3).T for size in (4, 6, 5)]
    joint = joint_table(weights, tables)
    other = eigenvector_tables(joint, 3)
    # The moments of one-hot features are the joint table, with its margins in front.
    triple = np.zeros([size + 1 for size in joint.shape])
    for keep in np.ndindex(2, 2, 2):
        place = tuple(slice(1, None) if kept else 0 for kept in keep)
        triple[place] = joint.sum(axis=tuple(t for t in range(3) if not keep[t]))
    seconds = []
    for t in range(3):
        margin = np.moveaxis(joint, t, 0).sum(axis=(1, 2))
        seconds.append(
            np.block([[np.ones((1, 1)), margin[None]], [margin[:, None], np.diag(margin)]])
        )
    found = solve_multiview_mixture(
        AugmentedMoments(triple, tuple(seconds), 1), 3, [np.ones(len(table)) for table in tables]
    )
    order = align(other.means[0], tables[0])
    np.testing.assert_allclose(found.weights, weights, atol=1e-10)
    np.testing.assert_allclose(other.weights[order], weights, atol=1e-10)
    for embedding, theirs, table in zip(found.embeddings, other.means, tables, strict=True):
        np.testing.assert_allclose(embedding, table, atol=1e-10)
        np.testing.assert_allclose(theirs[:, order], table, atol=1e-10)
