"""Tests of Gaussian components that are merged into populations."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from bigtensor import GaussianMixture, load
from bigtensor.decomposition.merging.component_merging import LEVELS
from bigtensor.errors import DataError, ParameterError


@pytest.fixture(scope="module")
def rings() -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three arcs, which no Gaussian has the shape of, and the arc of every row."""
    rng = np.random.default_rng(0)
    arc = rng.integers(0, 3, 6000)
    angle = rng.uniform(0, np.pi, 6000)
    radius = 3 + rng.normal(scale=0.2, size=6000)
    X = np.column_stack([radius * np.cos(angle) + 9 * arc, radius * np.sin(angle)])
    return X, arc


@pytest.fixture(scope="module")
def populations(rings) -> GaussianMixture:
    """Return a mixture whose components are merged into three populations."""
    return GaussianMixture(12, n_populations=3).fit(rings[0])


@pytest.mark.parametrize("kind", ["full", "spherical"])
@pytest.mark.parametrize("count", [3, "auto"])
@pytest.mark.quick_cases("3-spherical", "auto-spherical")
def test_populations__are_the_groups_that_several_components_cover(
    rings, populations, kind, count
) -> None:
    X, arc = rings
    model = populations
    if (kind, count) != ("full", 3):
        model = GaussianMixture(12, covariance_type=kind, n_populations=count).fit(X)
    assert len(model.weights_) > 6
    assert adjusted_rand_score(arc, model.predict(X)) > 0.99
    assert model.population_weights_.shape == (3,)
    assert model.predict_proba(X).shape == (6000, 3)
    components = model.predict(X, level="component")
    np.testing.assert_array_equal(model.population_of_component_[components], model.predict(X))
    assert [one["name"] for one in model.diagnostics_["passes"]][-1] == "populations"


def test_populations__are_saved_and_cut_anew(rings, populations, tmp_path) -> None:
    X, _ = rings
    again = load(populations.save(tmp_path / "model.zarr"))
    np.testing.assert_array_equal(again.predict(X), populations.predict(X))
    assert len(again.cut_populations(5).population_weights_) == 5
    assert again.merge_tree_.criterion == LEVELS


def test_one_component__is_one_population(rings) -> None:
    X, _ = rings
    model = GaussianMixture(1, n_populations="auto").fit(X)
    assert model.population_weights_.tolist() == [1.0]
    assert model.merge_tree_.criterion == LEVELS


@pytest.mark.slow  # complete rows are quick
def test_populations_of_rows_with_holes__are_those_of_complete_rows(rings) -> None:
    X, arc = rings
    holes = X.copy()
    holes[np.arange(len(X)) % 10 == 0, 1] = np.nan
    model = GaussianMixture(12, n_populations=3, missing="marginalise").fit(holes)
    assert adjusted_rand_score(arc, model.predict(holes)) > 0.97


@pytest.mark.slow  # a given number is quick
def test_number_of_components__is_chosen_from_the_number_of_populations_on(
    rings, monkeypatch
) -> None:
    for module in ("settings", "verdict"):
        monkeypatch.setattr(f"bigtensor.models.gaussian_mixture.{module}.MOST_CHOSEN", 5)
    X = rings[0][:600]
    model = GaussianMixture(n_populations=3, n_init=2, reg_covar=1e-6).fit(X)
    counts = model.diagnostics_["pilot"]["component_choice"]["by_number_of_components"]
    assert min(map(int, counts)) == 3
    assert len(model.weights_) >= 3
    (note,) = (one for one in model.diagnostics_["verdict"]["sentences"] if "largest" in one)
    assert "at most 5 are" in note


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"n_components": 2, "n_populations": np.int64(3)}, "n_components"),
        ({"n_populations": 0}, "at least 1"),
    ],
)
def test_populations_that_cannot_be__are_refused(rings, settings, named) -> None:
    with pytest.raises(ParameterError, match=named):
        GaussianMixture(**settings).fit(rings[0])


def test_populations__need_a_whole_fit_without_labels(rings) -> None:
    X, arc = rings
    model = GaussianMixture(3, n_populations=2)
    with pytest.raises(ParameterError, match="labelled"):
        model.fit(X, np.where(np.arange(len(X)) < 50, arc, -1))
    with pytest.raises(ParameterError, match="rounds"):
        model.prepare(X)


def test_populations_of_three_rows__are_refused_in_words_of_the_parameter() -> None:
    rows = np.random.default_rng(0).normal(size=(3, 2))
    with pytest.raises(DataError, match=r"n_populations.*3 usable.*at least 4"):
        GaussianMixture(3, n_populations=2).fit(rows)
