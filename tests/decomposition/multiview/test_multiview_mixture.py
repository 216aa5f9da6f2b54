import json

import numpy as np
import pytest

from bigtensor.decomposition.multiview.multiview_mixture import (
    AugmentedMoments,
    solve_multiview_mixture,
)
from bigtensor.decomposition.multiview.symmetric_mixture import solve_symmetric_mixture
from bigtensor.decomposition.solution import Outcome
from bigtensor.errors import IdentifiabilityError, ParameterError
from tests.reference.exact_kernel_mixture import population


def moments_of(true, rows=1000):
    return AugmentedMoments(true.triple, tuple(true.seconds), rows)


def one_hot_moments(tables, weights, rows, random):
    """Moments of a sample of three categorical views, tables[t][category, component]."""
    label = random.choice(len(weights), rows, p=weights)
    lifted = []
    for table in tables:
        edges = np.cumsum(table, axis=0)[:, label]
        category = (random.random(rows) > edges[:-1]).sum(axis=0)
        lifted.append(np.hstack([np.ones((rows, 1)), np.eye(len(table))[category]]))
    triple = np.einsum("na,nb,nc->abc", *lifted, optimize=True) / rows
    return AugmentedMoments(triple, tuple(y.T @ y / rows for y in lifted), rows)


@pytest.mark.parametrize("method", ["jacobi", "power"])
@pytest.mark.parametrize(
    ("n_components", "n_features"),
    [(1, (3, 1, 2)), (2, (2, 3, 4)), (4, (12, 12, 12)), (6, (6, 7, 18))],
)
def test_solve_multiview_mixture__recovers_population_parameters(n_components, n_features, method):
    for seed in range(4):
        true = population(n_components, n_features, seed)
        found = solve_multiview_mixture(
            moments_of(true), n_components, true.masses, method=method, random_state=seed
        )
        order = np.argsort(-true.weights)
        np.testing.assert_allclose(found.weights, true.weights[order], atol=1e-10)
        for embedding, mean in zip(found.embeddings, true.means, strict=True):
            np.testing.assert_allclose(embedding, mean[:, order], atol=1e-10)
        assert found.outcome is Outcome.CONVERGED


def test_solve_multiview_mixture__components_are_ordered_and_have_mass_one():
    random = np.random.default_rng(0)
    tables = [random.dirichlet(np.full(6, 0.5), 3).T for _ in range(3)]
    moments = one_hot_moments(tables, [0.2, 0.5, 0.3], 5000, random)
    found = solve_multiview_mixture(moments, 3, [np.ones(6)] * 3)
    assert (np.diff(found.weights) <= 0).all()
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-14)
    for embedding in found.embeddings:
        np.testing.assert_allclose(embedding.sum(axis=0), 1.0, atol=1e-12)


@pytest.mark.parametrize("scales", [(1e-5, 1e-5, 1e-5), (1e6, 1.0, 1e-6)])
@pytest.mark.parametrize("shared", [False, True])
def test_solution__is_the_same_for_features_of_any_size(scales, shared):
    """The second-moment cut is relative to the constant beside the features, too."""
    random = np.random.default_rng(3)
    tables = [random.dirichlet(np.full(8, 0.5), 3).T] * 3
    moments = one_hot_moments(tables, [0.5, 0.3, 0.2], 5000, random)
    scales = scales[:1] * 3 if shared else scales
    factors = [np.diag([1.0, *[scale] * 8]) for scale in scales]
    other = AugmentedMoments(
        np.einsum("abc,ax,by,cz->xyz", moments.triple, *factors, optimize=True),
        tuple(f @ second @ f for f, second in zip(factors, moments.seconds, strict=True)),
        moments.count,
    )
    masses = [np.ones(8) / scale for scale in scales]
    if shared:
        expected = solve_symmetric_mixture(moments, 3, np.ones(8))
        found = solve_symmetric_mixture(other, 3, masses[0])
    else:
        expected = solve_multiview_mixture(moments, 3, [np.ones(8)] * 3)
        found = solve_multiview_mixture(other, 3, masses)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-8)
    for mean, truth, scale in zip(found.embeddings, expected.embeddings, scales, strict=True):
        np.testing.assert_allclose(mean / scale, truth, atol=1e-8)


@pytest.mark.slow
def test_solve_multiview_mixture__error_falls_with_the_number_of_rows():
    weights = np.array([0.5, 0.3, 0.2])
    errors = np.zeros(3)
    for seed in range(5):
        random = np.random.default_rng(seed)
        tables = [random.dirichlet(np.full(8, 0.4), 3).T for _ in range(3)]
        for step, rows in enumerate((500, 8000, 128000)):
            moments = one_hot_moments(tables, weights, rows, random)
            found = solve_multiview_mixture(moments, 3, [np.ones(8)] * 3)
            pairs = zip(found.embeddings, tables, strict=True)
            errors[step] += np.mean([np.abs(e - t).sum() for e, t in pairs]) / 15
    # The rate is rows^(-1/2), a factor of 4 a step; half of it leaves room for chance.
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1] / 2
    assert errors[2] < 0.02


def test_solve_multiview_mixture__chooses_the_least_residual():
    random = np.random.default_rng(6)
    tables = [random.dirichlet(np.full(7, 0.5), 3).T for _ in range(3)]
    moments = one_hot_moments(tables, [0.5, 0.3, 0.2], 1000, random)
    details = solve_multiview_mixture(moments, 3, [np.ones(7)] * 3).diagnostics
    residuals = {name: one["residual"] for name, one in details["candidates"].items()}
    assert len(residuals) == 6
    assert residuals[details["chosen"]] <= min(residuals.values()) * (1 + 1e-4)
    assert details["chosen"].endswith("polished")


def test_solve_multiview_mixture__first_of_equally_good_candidates_is_chosen():
    nearer = 0
    for seed in range(6):
        random = np.random.default_rng(seed)
        tables = [random.dirichlet(np.full(7, 0.5), 3).T for _ in range(3)]
        moments = one_hot_moments(tables, [0.5, 0.3, 0.2], 2000, random)
        details = solve_multiview_mixture(moments, 3, [np.ones(7)] * 3).diagnostics
        residuals = {name: one["residual"] for name, one in details["candidates"].items()}
        assert details["chosen"] == "group 2, polished"
        nearer += residuals["group 2, polished"] > min(residuals.values())
    # Else the plain minimum would have done as well, and nothing was tested.
    assert nearer > 0


def test_solve_multiview_mixture__rounding_does_not_choose_among_exact_candidates():
    true = population(4, (8, 8, 8), seed=3)
    random = np.random.default_rng(0)
    for _ in range(10):
        rounded = true.triple * (1 + 1e-15 * random.standard_normal(true.triple.shape))
        moments = AugmentedMoments(rounded, tuple(true.seconds), 1000)
        found = solve_multiview_mixture(moments, 4, true.masses)
        assert found.diagnostics["chosen"] == "group 2, raw"


def test_solve_multiview_mixture__diagnostics_are_json_and_complete():
    true = population(3, (4, 5, 3), seed=1)
    details = solve_multiview_mixture(moments_of(true), 3, true.masses).diagnostics
    assert json.loads(json.dumps(details, allow_nan=False)) == details
    assert details["rows"] == 1000
    assert details["concerns"] == []
    assert [len(values) for values in details["singular_values"]] == [4, 5, 3]
    assert details["spectral_gap"][0] > 1e10
    assert details["spectral_gap"][2] is None
    assert set(details["condition_numbers"]["pairs"]) == {"0-1", "0-2", "1-2"}
    np.testing.assert_allclose(details["masses"], 1.0, atol=1e-10)
    raw = details["candidates"]["group 0, raw"]
    assert raw["tensor_eigenvalues"] == pytest.approx(np.sort(true.weights) ** -0.5, rel=1e-9)


def test_solve_multiview_mixture__asks_for_attention_when_components_are_too_many():
    random = np.random.default_rng(2)
    tables = [random.dirichlet(np.full(8, 0.4), 2).T for _ in range(3)]
    moments = one_hot_moments(tables, [0.6, 0.4], 20000, random)
    enough = solve_multiview_mixture(moments, 2, [np.ones(8)] * 3)
    assert enough.outcome is Outcome.CONVERGED
    too_many = solve_multiview_mixture(moments, 4, [np.ones(8)] * 3)
    assert too_many.outcome in (Outcome.RANK_DEFICIENT, Outcome.SMALL_SPECTRAL_GAP)
    assert "small spectral gap" in too_many.diagnostics["concerns"]
    np.testing.assert_allclose(too_many.weights.sum(), 1.0)


def test_solve_multiview_mixture__says_how_many_components_the_data_support():
    true = population(2, (6, 6, 6), seed=4)
    with pytest.raises(
        IdentifiabilityError,
        match=r"support 2 components, but 3 .*n_components=2",
    ):
        solve_multiview_mixture(moments_of(true), 3, true.masses)


def test_solve_multiview_mixture__names_the_group_that_is_too_poor():
    random = np.random.default_rng(5)
    tables = [random.dirichlet(np.full(5, 0.5), 3).T for _ in range(3)]
    # The categories of view 1 are 2 in truth: the others never occur.
    tables[1] = np.vstack([random.dirichlet(np.ones(2), 3).T, np.zeros((3, 3))])
    moments = one_hot_moments(tables, [0.4, 0.3, 0.3], 3000, random)
    with pytest.raises(IdentifiabilityError, match=r"2 components.*moments of group 1"):
        solve_multiview_mixture(moments, 3, [np.ones(5)] * 3)


def test_solve_multiview_mixture__one_row_supports_one_component():
    random = np.random.default_rng(5)
    tables = [random.dirichlet(np.full(5, 0.5), 2).T for _ in range(3)]
    moments = one_hot_moments(tables, [0.5, 0.5], 1, random)
    with pytest.raises(IdentifiabilityError, match="support 1 component, but 2"):
        solve_multiview_mixture(moments, 2, [np.ones(5)] * 3)


def test_solve_multiview_mixture__fewer_features_than_components_are_refused():
    true = population(3, (4, 3, 5), seed=0)
    with pytest.raises(IdentifiabilityError, match=r"4, 3 and 5 .*most 3 components, but 4"):
        solve_multiview_mixture(moments_of(true), 4, true.masses)


def test_solve_multiview_mixture__no_usable_candidate_is_refused():
    # Pair moments of full rank, but with a sign that no mixture of positive weights has: every
    # symmetrised pair moment is negative definite.
    triple = np.zeros((3, 3, 3))
    triple[0, 0, 0] = 1.0
    triple[1:, 1:, 0] = triple[1:, 0, 1:] = np.eye(2)
    triple[0, 1:, 1:] = -np.eye(2)
    moments = AugmentedMoments(triple, (np.eye(3), np.eye(3), np.eye(3)), 10)
    with pytest.raises(IdentifiabilityError, match=r"2 components is finite.*group 0, raw: "):
        solve_multiview_mixture(moments, 2, [np.ones(2)] * 3)


def test_solve_multiview_mixture__bad_arguments_are_refused():
    true = population(2, (3, 3, 3), seed=0)
    moments = moments_of(true)
    with pytest.raises(ParameterError, match="at least 1, got 0"):
        solve_multiview_mixture(moments, 0, true.masses)
    with pytest.raises(ParameterError, match="'jacobi' or 'power', got 'qr'"):
        solve_multiview_mixture(moments, 2, true.masses, method="qr")
    with pytest.raises(ParameterError, match=r"masses .*\[\(3,\), .* got \[\(2,\)"):
        solve_multiview_mixture(moments, 2, [np.ones(2), *true.masses[1:]])
