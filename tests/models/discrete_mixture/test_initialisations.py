"""Initialisations of discrete mixtures: when the search ends, and what it finds."""

import numpy as np
import pytest

from bigtensor import DiscreteMixture, simulate
from bigtensor.errors import ConditioningWarning
from bigtensor.models.discrete_mixture.alike_components import (
    component_distances,
    with_alike_merged,
)
from bigtensor.models.discrete_mixture.initialisations import exchanged
from bigtensor.models.discrete_mixture.solution import DiscreteFit, DiscreteSolution
from bigtensor.models.discrete_mixture.verdict import judged


def drawn(k: int, sizes: tuple[int, ...], seed: int) -> DiscreteSolution:
    """Draw a mixture."""
    rng = np.random.default_rng(seed)
    tables = tuple(rng.dirichlet(np.ones(size), k).T for size in sizes)
    return DiscreteSolution(np.sort(rng.dirichlet(np.ones(k)))[::-1], tables)


def test_initialisations__end_when_the_best_recurs() -> None:
    """Two clear components are found by every initialisation, many components of noise by few."""
    clear = simulate.discrete_mixture(600, 2, n_categories=4, views=8, random_state=1)
    model = DiscreteMixture(2, ridge=None).fit(clear)
    assert len(model.diagnostics_["random_initialisations"]) == 10
    assert model.diagnostics_["best_reached"] >= 9
    noise = np.random.default_rng(0).integers(0, 3, (120, 10)).astype(np.int32)
    with pytest.warns(ConditioningWarning, match="No view depends on another"):
        searched = DiscreteMixture(8, ridge=None, n_starts=12).fit(noise)
    ends = searched.diagnostics_["random_initialisations"]
    assert len(ends) == 12
    assert np.ptp(ends) > 1e-3
    assert searched.score(noise) >= max(ends)


@pytest.mark.slow  # many fits
def test_initialisations__are_as_likely_as_the_best_of_many_random_tables() -> None:
    rows = simulate.discrete_mixture(
        300, 4, n_categories=3, views=8, concentration=2.0, random_state=3
    )
    model = DiscreteMixture(5, ridge=None, random_state=0).fit(rows)
    random = [
        DiscreteMixture(5, ridge=None, method="em", n_starts=1, random_state=seed).fit(rows)
        for seed in range(1, 9)
    ]
    likelihoods = [fit.score(rows) for fit in random]
    assert model.score(rows) > max(likelihoods) - 1e-3
    # otherwise one initialisation is enough
    assert np.ptp(likelihoods) > 5e-3


def test_best_mixture__of_an_exchange_was_reached_once() -> None:
    """The last of eleven initialisations is an exchange, which is the most likely here."""
    rng = np.random.default_rng(2)
    tables = [rng.dirichlet([2] * size) for size in (2, 3, 2, 4, 3, 2)]
    rows = np.stack([rng.choice(len(table), 300, p=table) for table in tables], 1)
    with pytest.warns(ConditioningWarning, match="No view depends on another"):
        model = DiscreteMixture(3, ridge=None, n_starts=11, random_state=0).fit(rows)
    assert np.argmax(model.diagnostics_["random_initialisations"]) == 10
    assert model.diagnostics_["best_reached"] == 1
    assert "n_starts" in model.diagnostics_["verdict"]["sentences"][-1]


def test_exchange__drops_a_component_and_splits_another() -> None:
    before = drawn(4, (3, 5, 4), 0)
    after = exchanged(before, np.random.default_rng(1))
    assert after.weights.sum() == pytest.approx(1)
    for table in after.probabilities:
        np.testing.assert_allclose(table.sum(axis=0), 1)
        assert table.min() > 5e-4
    same = [
        np.abs(new - old).max() < 5e-3
        for new, old in zip(after.probabilities[1].T, before.probabilities[1].T, strict=True)
    ]
    assert sum(same) == 3


def test_alike_components__are_merged_by_weight() -> None:
    three = drawn(3, (3, 4, 2), 2)
    weights = np.append(three.weights[:2], three.weights[2] * np.array([0.25, 0.75]))
    near = tuple(
        np.column_stack([table, 0.99 * table[:, 2] + 0.01 / len(table)])
        for table in three.probabilities
    )
    four = DiscreteSolution(weights, near)
    assert component_distances(four)[2, 3] < 0.02
    merged = with_alike_merged(four)
    assert merged.n_components == 3
    np.testing.assert_allclose(np.sort(merged.weights), np.sort(three.weights))
    position = int(np.argmin(np.abs(merged.weights - three.weights[2])))
    expected = 0.25 * near[0][:, 2] + 0.75 * near[0][:, 3]
    np.testing.assert_allclose(merged.probabilities[0][:, position], expected)
    assert with_alike_merged(three).n_components == 3


def test_verdict__advises_fewer_components_unless_the_number_was_chosen() -> None:
    views = tuple((f"view{t}", (f"view{t}",)) for t in range(3))
    fit = DiscreteFit(drawn(3, (4, 4, 4), 0), views, (tuple("abcd"),) * 3)
    with pytest.warns(ConditioningWarning, match="fewer than 5 rows.*n_components='auto'"):
        judged(fit, 12.0, {}, chosen=False)
    # warnings are errors here
    verdict = judged(fit, 12.0, {}, chosen=True).diagnostics["verdict"]
    assert verdict["good"]
    assert "fewer than 5 rows" in verdict["sentences"][0]
