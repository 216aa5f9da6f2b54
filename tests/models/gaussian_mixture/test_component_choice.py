"""Tests of numbers of components that are chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.datasets import load_wine
from sklearn.mixture import GaussianMixture as Peer
from sklearn.preprocessing import scale

from bigtensor import GaussianMixture, simulate
from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.errors import ConditioningWarning
from bigtensor.models.gaussian_mixture.component_choice import (
    COMPARED_AGAIN,
    compared_numbers,
    loss_and_error,
)
from bigtensor.models.gaussian_mixture.regularisation import Strength, validated_regularisation
from bigtensor.models.gaussian_mixture.settings import free_parameters
from tests.parameters import first_quick

FAST = {"reg_covar": 1e-6, "n_init": 2, "random_state": 0}


def drawn(k: int, n: int = 600) -> np.ndarray:
    rng = np.random.default_rng(k)
    means = 6 * rng.normal(size=(k, 3))
    return means[rng.integers(0, k, n)] + rng.normal(size=(n, 3))


@pytest.mark.parametrize(
    ("covariance_type", "criterion"),
    [
        *(("full", "bic"), ("diag", "held_out")),
        *(pytest.param(kind, "held_out", marks=pytest.mark.slow) for kind in ("full", "tied")),
    ],
)
@pytest.mark.quick_cases("full-bic")
def test_auto__finds_separate_components(covariance_type: str, criterion: str) -> None:
    model = GaussianMixture(covariance_type=covariance_type, criterion=criterion, **FAST)
    model.fit(drawn(4))
    assert len(model.weights_) == 4
    choice = model.diagnostics_["pilot"]["component_choice"]
    assert choice["criterion"] == criterion
    assert list(choice["by_number_of_components"])[:5] == ["1", "2", "3", "4", "5"]


def test_one_group__is_one_component() -> None:
    rows = np.random.default_rng(0).normal(size=(300, 3))
    assert len(GaussianMixture(**FAST).fit(rows).weights_) == 1


def test_auto__finds_populations_that_overlap() -> None:
    """EM iterations that end early leave four components behind eight."""
    cells = simulate.correlated_cells(
        20_000, (0.4, 0.25, 0.2, 0.15), markers=2, separation=3, random_state=1
    )
    assert len(GaussianMixture(random_state=0).fit(cells).weights_) == 4


def test_auto__finds_components_in_few_rows_of_many_features() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 12)) + 4 * rng.integers(0, 2, (150, 1))
    model = GaussianMixture(n_init=1, random_state=0).fit(rows)
    assert len(model.weights_) == 2
    assert not any("largest" in sentence for sentence in model.diagnostics_["verdict"]["sentences"])


@pytest.mark.parametrize("covariance_type", ["full", "tied"])
def test_note__says_that_rows_allow_no_larger_number(covariance_type: str) -> None:
    with pytest.warns(ConditioningWarning, match="have 15 rows"):
        model = GaussianMixture(covariance_type=covariance_type, random_state=0).fit(drawn(2, 15))
    assert len(model.weights_) == 1
    (note,) = (one for one in model.diagnostics_["verdict"]["sentences"] if "largest" in one)
    assert "15 rows of 3 features" in note
    assert "n_components" in note


def test_note__says_that_no_larger_number_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("settings", "verdict"):
        monkeypatch.setattr(f"bigtensor.models.gaussian_mixture.{module}.MOST_CHOSEN", 3)
    model = GaussianMixture(**FAST).fit(drawn(5, 400))
    assert len(model.weights_) == 3
    (note,) = (one for one in model.diagnostics_["verdict"]["sentences"] if "largest" in one)
    assert "at most 3 are" in note


def test_bic__is_that_of_scikit_learn() -> None:
    rows = drawn(2)
    model = GaussianMixture(criterion="bic", **FAST).fit(rows)
    by_number = model.diagnostics_["pilot"]["component_choice"]["by_number_of_components"]
    for k in (1, 2):
        peer = Peer(k, n_init=3, tol=1e-6, max_iter=500, random_state=0).fit(rows)
        assert by_number[str(k)] == pytest.approx(-peer.bic(rows) / (2 * len(rows)), abs=2e-3)


def test_labels__are_as_many_components() -> None:
    rows = drawn(3)
    some = np.full(len(rows), -1)
    some[:9] = Peer(3, random_state=0).fit_predict(rows)[:9]
    model = GaussianMixture(**FAST).fit(rows, some)
    assert len(model.weights_) == len(model.classes_) == len(np.unique(some)) - 1


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_free_parameters__are_those_of_scikit_learn(covariance_type: str) -> None:
    rows = drawn(3)
    peer = Peer(3, covariance_type=covariance_type).fit(rows)
    assert free_parameters(covariance_type, 3, 3) == peer._n_parameters()


def test_numbers__grow_by_a_fifth() -> None:
    assert list(compared_numbers(1, 20)) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 19]


def test_loss__of_a_level_number_is_within_a_standard_error() -> None:
    rng = np.random.default_rng(0)
    best = rng.normal(size=400)
    level, worse = best - 0.01 * rng.normal(0.9, 20, 400), best - 1
    weight = np.ones(400)
    assert _is_as_good(level, best, weight)
    assert not _is_as_good(worse, best, weight)
    # better in the first rows, which hardly count
    first = np.arange(400) < 200
    fewer = np.where(first, worse, level)
    assert not _is_as_good(fewer, best, weight)
    assert _is_as_good(fewer, best, np.where(first, 1e-6, 1))


def _is_as_good(fewer: FloatArray, best: FloatArray, weight: FloatArray) -> bool:
    """Return True if a number of components loses at most a standard error."""
    loss, error = loss_and_error(best, fewer, weight)
    return loss <= error


@pytest.mark.parametrize("seed", first_quick([0, 3]))
@pytest.mark.slow  # every number of components is fitted
def test_numbers__are_compared_under_the_regularisation_that_few_rows_need(seed):
    """Under a small value, covariances of 13 features follow 178 rows too closely for a third."""
    wines = scale(load_wine().data)
    model = GaussianMixture().fit(wines[default_rng(seed).permutation(len(wines))])
    pilot = model.diagnostics_["pilot"]
    assert pilot["reg_covar"] >= COMPARED_AGAIN or pilot["shrinkage"] > 0
    assert len(model.weights_) == 3


@pytest.mark.slow  # every number of components is fitted
def test_regularisation__is_chosen_once_for_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit that says whether to compare numbers again is the one that is returned."""
    fits: list[int] = []

    def counted(distinct: IndexArray, *rest: Any) -> tuple[Strength, list[dict[str, float]]]:
        fits.append(len(distinct))
        return validated_regularisation(distinct, *rest)

    monkeypatch.setattr(
        "bigtensor.models.gaussian_mixture.own_covariance.pilot.validated_regularisation", counted
    )
    rows = drawn(2, 200)
    model = GaussianMixture(n_init=2, random_state=0).fit(rows)
    assert len(model.weights_) == 2
    assert fits == [200]


@pytest.mark.slow  # rows of little weight are quick
def test_copies__are_no_evidence_for_more_components() -> None:
    """A row is not held out while its copies are fitted, whether counts or rows say them."""
    rows = drawn(3, 240)
    once = GaussianMixture(**FAST).fit(rows)
    counted = GaussianMixture(**FAST).fit(rows, sample_weight=np.full(240, 4.0))
    repeated = GaussianMixture(**FAST).fit(np.repeat(rows, 4, axis=0))
    assert len(once.weights_) == len(counted.weights_) == len(repeated.weights_) == 3


@pytest.mark.slow  # every number of components is fitted
def test_rounded_values__are_no_components_each() -> None:
    rows = np.round(default_rng(0).normal(0, 3, size=(600, 1)))
    assert len(GaussianMixture(random_state=0).fit(rows).weights_) == 1


@pytest.mark.parametrize("criterion", ["held_out", "bic"])
@pytest.mark.quick_cases("bic")
def test_rows_of_little_weight__do_not_decide(criterion: str) -> None:
    rows = np.vstack([drawn(3, 300), default_rng(1).uniform(-8, 8, size=(300, 3))])
    weight = np.repeat([1, 1e-3], 300)
    model = GaussianMixture(criterion=criterion, weights="relative", **FAST)
    assert len(model.fit(rows, sample_weight=weight).weights_) == 3
