"""Choice of the regularisation by held-out rows."""

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

import bigtensor
from bigtensor import GaussianMixture
from bigtensor.models.gaussian_mixture.regularisation import (
    CANDIDATES,
    FIRST_SHRINKAGE,
    FOLDS,
    FURTHER_SHRINKAGES,
    Strength,
    candidates_for,
    validated_regularisation,
)

FAR_BELOW = -50.0
"""Log-likelihood of a row under regularisations that a test leaves out."""


def comparison(scores):
    """Return the choice by fixed scores ``(rows, candidates)``, and the folds of every value."""
    calls = dict.fromkeys(CANDIDATES, 0)

    def hold_out(held):
        def of_strength(strength):
            if strength.shrinkage:
                return np.full(held.sum(), FAR_BELOW)
            calls[strength.reg_covar] += 1
            return scores[held, CANDIDATES.index(strength.reg_covar)]

        return of_strength

    chosen, compared = validated_regularisation(np.arange(len(scores)), 0, hold_out)
    levels = [row["held_out"] for row in compared if not row["shrinkage"]]
    return chosen.reg_covar, np.array(levels), calls


def drawn(levels, rows=1500):
    """Return scores about these levels."""
    rng = default_rng(0)
    return rng.normal(size=(rows, 1)) + rng.normal(size=(rows, len(levels))) + np.array(levels)


def test_values_that_are_clearly_worse__are_compared_in_one_part():
    chosen, levels, calls = comparison(drawn([-9.0, -8, -7, -6, -0.1, 0, -5]))
    assert chosen == 0.1
    assert [calls[value] for value in CANDIDATES] == [1, 1, 1, 1, *[calls[0.03]] * 2, 1]
    np.testing.assert_allclose(levels - levels[5], [-9, -8, -7, -6, -0.1, 0, -5], atol=0.5)


def test_a_larger_value__is_compared_until_no_row_is_left_that_may_refute_the_best():
    scores = drawn([0.0, -1, -2, -3, -4, -5, -6])
    # under the least value, one row in the last part lies far outside all components
    far = np.flatnonzero(default_rng(0).permutation(len(scores)) % FOLDS == FOLDS - 1)[0]
    scores[far, :3] -= 1e6
    chosen, _, calls = comparison(scores)
    assert chosen == 0.01
    assert calls[0.01] == FOLDS


def test_few_rows__are_compared_under_all_values():
    _, _, calls = comparison(drawn([-9.0, -8, -7, -6, -5, 0, -5], rows=60))
    assert set(calls.values()) == {FOLDS}


def test_many_rows__are_held_out_in_a_few_parts():
    _, levels, calls = comparison(drawn([0.0, -0.01, -0.01, -0.02, -1, -2, -3], rows=30_000))
    assert set(calls.values()) == {1}
    # compared by 3,000 rows with errors of .03
    np.testing.assert_allclose(levels - levels[0], [0, -0.01, -0.01, -0.02, -1, -2, -3], atol=0.15)


def test_copies__do_not_end_the_comparison():
    """Of 1,000 rows that occur 25 times each, every part is held out."""
    scores = drawn([0.0, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1], rows=1000)
    distinct = np.repeat(np.arange(1000), 25)
    parts = []

    def hold_out(held):
        parts.append(held)
        return lambda strength: scores[distinct[held], CANDIDATES.index(strength.reg_covar)]

    validated_regularisation(distinct, 0, hold_out)
    assert len(parts) == FOLDS


@pytest.mark.parametrize(
    "copied",
    [
        lambda rows: {"X": np.repeat(rows, 4, 0)},
        lambda rows: {"X": rows, "sample_weight": np.full(len(rows), 4.0)},
    ],
    ids=["rows", "weights"],
)
@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.quick_cases("load_iris-rows")
def test_copies__are_no_evidence_for_less_regularisation(load, copied):
    """A row is not held out while its copies are fitted, in the halves of rows neither."""
    rows = load().data[::2]
    once, more = (
        GaussianMixture(3, n_populations="auto", random_state=0).fit(**arguments)
        for arguments in ({"X": rows}, copied(rows))
    )
    pilots = [model.diagnostics_["pilot"] for model in (once, more)]
    assert pilots[0]["reg_covar"] == pilots[1]["reg_covar"] > 1e-3
    np.testing.assert_allclose(more.score_samples(rows), once.score_samples(rows), atol=1e-3)
    np.testing.assert_allclose(more.population_stability_, once.population_stability_, atol=0.02)


def test_equal_rows_far_out__do_not_blur_the_others():
    """Held out together and counted each, 40 of 540 rows would ask for the largest value."""
    rows, fresh = np.split(
        default_rng(0).normal(size=(1000, 3)) + np.repeat([[0], [3]] * 2, 250, 0), 2
    )
    with_equal = np.concatenate([rows, np.tile(rows.mean(axis=0) + 5 * rows.std(axis=0), (40, 1))])
    alone = GaussianMixture(2, random_state=0).fit(rows).score(fresh)
    model = GaussianMixture(3, random_state=0).fit(with_equal)
    # the equal rows have 7 % of the mixture
    assert model.score(fresh) > alone + np.log(1 - 40 / 540) - 0.05


def test_copies__make_no_difference_clearer():
    scores = drawn([0.0, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1], rows=400)

    def chosen(distinct):
        def hold_out(held):
            return lambda strength: scores[distinct[held], CANDIDATES.index(strength.reg_covar)]

        return validated_regularisation(distinct, 0, hold_out)[0]

    assert chosen(np.repeat(np.arange(400), 25)) == chosen(np.arange(400))


@pytest.mark.parametrize("seed", [0, 4])
@pytest.mark.quick_cases("0")
def test_initialisations__are_compared_under_the_chosen_value(seed):
    """Under the least value the best one has a component of five rows, in these orders of rows."""
    wines = scale(load_wine().data)
    model = GaussianMixture(3).fit(wines[default_rng(seed).permutation(len(wines))])
    assert model.diagnostics_["pilot"]["reg_covar"] > CANDIDATES[0]
    assert model.weights_.min() > 0.2


@pytest.mark.slow  # fits of six data sets
def test_overlapping_groups_on_one_axis__stay_apart():
    indices = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        group = rng.integers(0, 2, 100)
        values = (rng.normal(size=100) + 2.5 * group)[:, None]
        indices.append(adjusted_rand_score(group, GaussianMixture(2).fit_predict(values)))
    assert np.mean(indices) > 0.45


def test_candidates__are_those_that_few_rows_need():
    assert candidates_for(1, 2, 100) == (1e-6, 1e-4, 1e-3, 1e-2, 0.03)
    assert candidates_for(13, 3, 89) == CANDIDATES


def test_shrinkage__is_compared_under_values_up_to_the_best():
    """Components that share rows need a smaller value, and less or more shrinkage then."""
    reached = {
        Strength(0.03): -1.0,
        Strength(1e-3, FIRST_SHRINKAGE): -0.5,
        Strength(1e-3, FURTHER_SHRINKAGES[1]): 0.0,
        Strength(0.1, FIRST_SHRINKAGE): 1.0,
    }

    def hold_out(held):
        return lambda strength: np.full(held.sum(), reached.get(strength, -2.0))

    chosen, compared = validated_regularisation(np.arange(60), 0, hold_out)
    assert chosen == Strength(1e-3, FURTHER_SHRINKAGES[1])
    held_out = {Strength(row["reg_covar"], row["shrinkage"]): row["held_out"] for row in compared}
    # above the best value without shrinkage, none is compared with it
    assert Strength(0.1, FIRST_SHRINKAGE) not in held_out
    assert held_out[Strength(1e-3, FIRST_SHRINKAGE)] == pytest.approx(-0.5)


def test_components_of_few_rows__share_their_shape():
    """The mean within groups tells what a few dozen rows a group in 18 features cannot."""
    rng = default_rng(0)
    shape = rng.normal(size=(18, 18)) / 3
    means = 2 * rng.normal(size=(4, 18))
    label, fresh_label = rng.integers(0, 4, (2, 160))
    rows, fresh = (means[of] + rng.normal(size=(160, 18)) @ shape for of in (label, fresh_label))
    default, without = (
        GaussianMixture(4, random_state=0, reg_covar=value).fit(rows) for value in ("auto", 0.01)
    )
    assert default.diagnostics_["pilot"]["shrinkage"] >= FIRST_SHRINKAGE
    assert default.score(fresh) > without.score(fresh) + 2
    assert adjusted_rand_score(fresh_label, default.predict(fresh)) > 0.9


@pytest.mark.slow  # fits of six data sets
def test_overlapping_groups_of_few_rows__stay_apart():
    indices = []
    for seed in range(6):
        rng = default_rng(seed)
        group = rng.integers(0, 2, 100)
        rows = rng.normal(size=(100, 2))
        rows[:, 0] += 3 * group
        indices.append(adjusted_rand_score(group, GaussianMixture(2).fit_predict(rows)))
    assert np.mean(indices) > 0.65


def test_penalised_likelihood__rises_with_every_iteration():
    rows = default_rng(1).normal(size=(80, 6)) + np.repeat([[0.0], [2]], 40, 0)
    model = GaussianMixture(2, random_state=0, tol=1e-9, max_iter=50).fit(rows)
    assert model.diagnostics_["pilot"]["shrinkage"] > 0
    assert np.diff(model.lower_bounds_).min() > -1e-12


def test_warm_start__goes_on_under_the_chosen_shrinkage():
    rows = default_rng(1).normal(size=(80, 6)) + np.repeat([[0.0], [2]], 40, 0)
    model = GaussianMixture(2, random_state=0, warm_start=True).fit(rows)
    first = model.diagnostics_["pilot"]
    before = model.covariances_
    model.fit(rows)
    assert model.diagnostics_["pilot"]["shrinkage"] == first["shrinkage"] > 0
    np.testing.assert_allclose(model.covariances_, before, atol=0.02)


@pytest.mark.slow  # several components are quick
def test_one_component__needs_no_shrinkage():
    for seed in range(4):
        rows = default_rng(seed).normal(size=(60, 8))
        pilot = GaussianMixture(1, random_state=0).fit(rows).diagnostics_["pilot"]
        assert pilot["shrinkage"] == 0


@pytest.mark.slow  # laws of units and columns are quick
def test_shrinkage__depends_on_no_unit_and_no_order(tmp_path):
    rows = default_rng(1).normal(size=(80, 6)) + np.repeat([[0.0], [2]], 40, 0)
    model = GaussianMixture(2, random_state=0).fit(rows)
    assert model.diagnostics_["pilot"]["shrinkage"] > 0
    units, columns = np.array([1e-3, 1, 1e6, 5, 1, 2]), [3, 0, 5, 1, 4, 2]
    changed = {
        "units": (GaussianMixture(2, random_state=0).fit(rows * units), rows * units),
        "columns": (GaussianMixture(2, random_state=0).fit(rows[:, columns]), rows[:, columns]),
        "weights": (
            GaussianMixture(2, random_state=0).fit(rows, sample_weight=np.full(80, 3.0)),
            rows,
        ),
    }
    for name, (other, values) in changed.items():
        np.testing.assert_array_equal(other.predict(values), model.predict(rows), name)
    model.save(tmp_path / "model")
    loaded = bigtensor.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.score_samples(rows), model.score_samples(rows))
