import json

import numpy as np
import pytest
from scipy.optimize import least_squares

from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview.mixture_candidates import (
    WhitenedTriple,
    symmetric_candidate,
    tied_candidate,
)
from bigtensor.decomposition.multiview.multiview_mixture import solve_multiview_mixture
from bigtensor.decomposition.multiview.subspaces import symmetric_subspace
from bigtensor.decomposition.multiview.symmetric_mixture import solve_symmetric_mixture
from bigtensor.decomposition.solution import Outcome
from bigtensor.errors import IdentifiabilityError, ParameterError
from tests.reference.exact_kernel_mixture import align, symmetric_population


def shared_table_moments(table, weights, rows, random):
    """Moments of three categorical views with one conditional table (category, component)."""
    label = random.choice(len(weights), rows, p=weights)
    edges = np.cumsum(table, axis=0)[:, label]
    lifted = []
    for _ in range(3):
        category = (random.random(rows) > edges[:-1]).sum(axis=0)
        lifted.append(np.hstack([np.ones((rows, 1)), np.eye(len(table))[category]]))
    triple = np.einsum("na,nb,nc->abc", *lifted, optimize=True) / rows
    return AugmentedMoments(triple, tuple(y.T @ y / rows for y in lifted), rows)


@pytest.fixture
def sample():
    random = np.random.default_rng(0)
    table = random.dirichlet(np.full(8, 0.5), 3).T
    return shared_table_moments(table, [0.5, 0.3, 0.2], 2000, random)


def test_solve_symmetric_mixture__gives_one_set_of_embeddings(sample):
    found = solve_symmetric_mixture(sample, 3, np.ones(8))
    assert (np.diff(found.weights) <= 0).all()
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-14)
    for embedding in found.embeddings:
        np.testing.assert_array_equal(embedding, found.embeddings[0])
    np.testing.assert_allclose(found.embeddings[0].sum(axis=0), 1.0, atol=1e-12)


def test_solve_symmetric_mixture__does_not_depend_on_the_order_of_the_views(sample):
    found = solve_symmetric_mixture(sample, 3, np.ones(8))
    turned = AugmentedMoments(
        sample.triple.transpose(2, 0, 1), tuple(sample.seconds[g] for g in (2, 0, 1)), sample.count
    )
    again = solve_symmetric_mixture(turned, 3, np.ones(8))
    np.testing.assert_allclose(again.weights, found.weights, atol=1e-9)
    np.testing.assert_allclose(again.embeddings[0], found.embeddings[0], atol=1e-9)


def test_solve_symmetric_mixture__is_nearer_the_truth_than_with_untied_views():
    tied, untied = [], []
    weights = np.array([0.5, 0.3, 0.2])
    for seed in range(8):
        random = np.random.default_rng(seed)
        table = random.dirichlet(np.full(8, 0.5), 3).T
        moments = shared_table_moments(table, weights, 2000, random)
        one = solve_symmetric_mixture(moments, 3, np.ones(8)).embeddings[0]
        three = solve_multiview_mixture(moments, 3, [np.ones(8)] * 3).embeddings
        tied.append(np.abs(one[:, align(one, table)] - table).sum())
        order = align(three[0], table)
        untied.append(np.mean([np.abs(each[:, order] - table).sum() for each in three]))
    # Three times the rows for one table: the square root of three, less what the weights cost.
    assert np.mean(tied) < np.mean(untied) / 1.3


def test_tied_candidate__is_the_tied_least_squares_optimum(sample):
    shared = sample.symmetrised()
    projected = shared.project(symmetric_subspace(shared.pairs(), 3).bases)
    whitened = WhitenedTriple(projected)
    start = symmetric_candidate(projected, whitened)
    found = tied_candidate(whitened, start)
    assert found.residual < start.residual

    def residuals(flat):
        factor = flat.reshape(4, 3)
        return (np.einsum("ah,bh,ch->abc", factor, factor, factor) - whitened.tensor).ravel()

    cube_roots = whitened.factors(start.embeddings)[0] * np.cbrt(start.weights)
    best = least_squares(residuals, cube_roots.ravel(), method="lm", xtol=1e-14, ftol=1e-14)
    factor = whitened.roots[0].root @ best.x.reshape(4, 3)
    np.testing.assert_allclose(found.embeddings[0], factor[1:] / factor[0], atol=1e-4)
    np.testing.assert_allclose(found.weights, factor[0] ** 3, atol=1e-4)
    assert found.residual == pytest.approx(
        np.sqrt(2 * best.cost) / np.linalg.norm(whitened.tensor), rel=1e-6
    )


def test_solve_symmetric_mixture__diagnostics_have_the_shape_of_different_views(sample):
    details = solve_symmetric_mixture(sample, 3, np.ones(8)).diagnostics
    different = solve_multiview_mixture(sample, 3, [np.ones(8)] * 3).diagnostics
    assert json.loads(json.dumps(details, allow_nan=False)) == details
    assert set(details) == set(different)
    assert set(details["candidates"]) == {"shared components, raw", "shared components, polished"}
    assert details["chosen"] == "shared components, polished"
    assert [len(values) for values in details["singular_values"]] == [8, 8, 8]
    assert details["spectral_gap"][0] > 1.5


def test_solve_symmetric_mixture__asks_for_attention_when_components_are_too_many():
    random = np.random.default_rng(2)
    table = random.dirichlet(np.full(8, 0.4), 2).T
    moments = shared_table_moments(table, [0.6, 0.4], 20000, random)
    assert solve_symmetric_mixture(moments, 2, np.ones(8)).outcome is Outcome.CONVERGED
    too_many = solve_symmetric_mixture(moments, 4, np.ones(8))
    assert too_many.outcome in (Outcome.RANK_DEFICIENT, Outcome.SMALL_SPECTRAL_GAP)


def test_solve_symmetric_mixture__says_how_many_components_the_data_support():
    true = symmetric_population(2, 6, seed=4)
    moments = AugmentedMoments(true.triple, tuple(true.seconds), 100)
    with pytest.raises(IdentifiabilityError, match="2 components, but 3 were asked for"):
        solve_symmetric_mixture(moments, 3, true.masses[0])


def test_solve_symmetric_mixture__bad_arguments_are_refused(sample):
    with pytest.raises(ParameterError, match="at least 1, got 0"):
        solve_symmetric_mixture(sample, 0, np.ones(8))
    with pytest.raises(ParameterError, match=r"masses of shapes \[\(8,\)"):
        solve_symmetric_mixture(sample, 2, np.ones(7))
    with pytest.raises(ParameterError, match="'jacobi' or 'power', got 'qr'"):
        solve_symmetric_mixture(sample, 2, np.ones(8), method="qr")
    uneven = AugmentedMoments(
        sample.triple[:, :, :-1], (*sample.seconds[:2], sample.seconds[2][:-1, :-1]), 10
    )
    with pytest.raises(ParameterError, match=r"features for all.*8, 8, 7 features"):
        solve_symmetric_mixture(uneven, 2, np.ones(8))
