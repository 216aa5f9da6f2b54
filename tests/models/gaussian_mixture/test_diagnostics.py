"""What a Gaussian mixture says of data and settings that it was not made for, and of good ones."""

import re
import warnings

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.datasets import load_breast_cancer

from bigtensor import GaussianMixture
from bigtensor.errors import ConditioningWarning
from tests.parameters import first_quick

CONFIRMATION = "no two alike and none almost empty."


def unit_means(k, d, rng):
    means = rng.normal(size=(k, d))
    return means / np.linalg.norm(means, axis=1, keepdims=True)


def drawn(n=5000, d=10, k=12, noise=0.5, seed=0, shares=None):
    rng = default_rng(seed)
    means = unit_means(k, d, rng)
    label = rng.choice(k, n, p=shares)
    return means[label] + noise * rng.normal(size=(n, d)) / np.sqrt(d), label, means


def fit(rows, k, **settings):
    """Return the model, the warnings and the sentences of the verdict."""
    settings = {"covariance_type": "shared_spherical", **settings}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GaussianMixture(k, random_state=0, **settings).fit(rows)
    said = [str(warning.message) for warning in caught]
    sentences = [str(sentence) for sentence in model.diagnostics_["verdict"]["sentences"]]
    assert model.diagnostics_["verdict"]["good"] == (not said)
    return model, said, sentences


@pytest.mark.parametrize("seed", first_quick(range(10)))
@pytest.mark.parametrize(
    ("n", "d", "k", "noise"),
    [(5000, 10, 12, 0.5), (300, 4, 3, 0.3), (1000, 2, 2, 0.3), (600, 30, 2, 1.0)],
)
@pytest.mark.quick_cases("300-4-3-0.3-0", "1000-2-2-0.3-0", "600-30-2-1.0-0")
def test_right_results__carry_no_word_of_worry(n, d, k, noise, seed):
    rng = default_rng(seed)
    means = unit_means(k, d, rng) if k > 2 else np.eye(2, d)
    rows = means[rng.integers(k, size=n)] + noise * rng.normal(size=(n, d)) / np.sqrt(d)
    model, said, sentences = fit(rows, k)
    assert not said
    assert len(model.weights_) == k
    assert sentences == [f"{k} components, {CONFIRMATION}"]


@pytest.mark.parametrize("seed", first_quick(range(10)))
def test_tied__right_results_carry_no_word_of_worry(seed):
    rows, _, _ = drawn(4000, 8, 6, 0.5, seed)
    model, said, sentences = fit(
        rows @ default_rng(seed).normal(size=(8, 8)), 6, covariance_type="tied"
    )
    assert not said
    assert sentences == [f"6 components, {CONFIRMATION}"]
    assert len(model.weights_) == 6


@pytest.mark.parametrize("asked", [16, 19])
@pytest.mark.parametrize("seed", first_quick([0, 1, 2]))
@pytest.mark.quick_cases("0-16")
def test_too_many__are_returned_as_fewer(asked, seed):
    rows, label, means = drawn(seed=seed)
    model, said, _ = fit(rows, asked)
    assert len(model.weights_) == 12
    assert len(said) == 1
    assert said[0].startswith(f"12 of the {asked} components asked for")
    assert "n_components=12" in said[0]
    shares = np.sort(np.bincount(label) / len(label))
    np.testing.assert_allclose(np.sort(model.weights_), shares, atol=0.005)
    order = np.linalg.norm(model.means_[:, None] - means, axis=2).argmin(axis=0)
    assert len(set(order)) == 12


def test_too_many__in_a_sample_say_that_the_sample_may_be_larger():
    rows, _, _ = drawn(20_000)
    model, said, _ = fit(rows, 15, pilot_rows=3000)
    assert len(model.weights_) == 12
    assert "by 3,000 rows" in said[0]
    assert "a larger sample (pilot_rows)" in said[0]


@pytest.mark.parametrize("asked", [6, 8, 9])
@pytest.mark.parametrize("seed", first_quick([0, 1, 2]))
@pytest.mark.quick_cases("0-6")
def test_too_few__are_said(asked, seed):
    rows, _, _ = drawn(noise=0.35, seed=seed)
    model, said, _ = fit(rows, asked)
    assert len(model.weights_) == asked
    assert len(said) == 1
    assert "two groups" in said[0]
    assert "(n_components)" in said[0]


def test_one_component__of_two_groups_is_said():
    rng = default_rng(0)
    rows = np.where(rng.random((800, 1)) < 0.3, 4.0, 0.0) + 0.4 * rng.normal(size=(800, 2))
    _, said, _ = fit(rows, 1)
    (sentence,) = said
    assert re.search(r"two groups, far apart.*n_components", sentence)


@pytest.mark.slow
def test_two_near_means__are_found_or_told_by_their_weight():
    rng = default_rng(0)
    means = unit_means(12, 10, rng)
    for cosine, found in ((0.7, 13), (0.97, 13), (0.9999, 12)):
        other = unit_means(1, 10, rng)[0]
        other -= (other @ means[0]) * means[0]
        near = cosine * means[0] + np.sqrt(1 - cosine**2) * other / np.linalg.norm(other)
        all_means = np.vstack([means, near])
        label = np.arange(26_000) % 13
        rows = all_means[label] + 0.3 * rng.normal(size=(len(label), 10)) / np.sqrt(10)
        model, said, _ = fit(rows, 13)
        assert len(model.weights_) == found, cosine
        assert bool(said) == (found < 13)
    model, said, sentences = fit(rows, 12)
    assert not said
    assert sentences[0] == f"12 components, {CONFIRMATION}"
    assert sentences[1].startswith("1 component has twice the weight")


@pytest.mark.slow
def test_unequal_weights__of_one_to_ten_are_found():
    for seed in range(3):
        shares = np.where(np.arange(12) < 6, 10.0, 1.0)
        rows, label, means = drawn(12_000, seed=seed, shares=shares / shares.sum())
        model, said, sentences = fit(rows, 12)
        assert not said
        assert len(sentences) == 1
        nearest = np.linalg.norm(model.means_[:, None] - means, axis=2).min(axis=0)
        assert nearest.max() < 0.1
        np.testing.assert_allclose(
            np.sort(model.weights_), np.sort(np.bincount(label) / len(label)), atol=0.003
        )


@pytest.mark.parametrize(("freedom", "told"), [(2, True), (3, True), (30, False)])
@pytest.mark.quick_cases("2-True", "30-False")
def test_heavy_tails__are_told(freedom, told):
    rng = default_rng(1)
    means = unit_means(12, 10, rng)
    noise = rng.standard_t(freedom, (10_000, 10))
    rows = means[rng.integers(12, size=10_000)] + 0.1 * noise
    _, _, sentences = fit(rows, 12)
    assert (
        any("heavy tails" in sentence and "arcsinh" in sentence for sentence in sentences) == told
    )


def test_outliers__are_left_out_and_counted():
    rows, _, means = drawn()
    far = np.vstack([rows, 100 * unit_means(20, 10, default_rng(3))])
    model, _, _ = fit(far, 12)
    assert model.diagnostics_["outlying_rows"] == 20
    assert model.diagnostics_["first_outlying_rows"] == [5000, 5001, 5002, 5003, 5004]
    assert np.linalg.norm(model.means_[:, None] - means, axis=2).min(axis=0).max() < 0.1


def test_noise_that_hides_components__is_told_with_its_size():
    rows, _, _ = drawn(4000, 20, 15, noise=6.0)
    model, said, _ = fit(rows, 15)
    assert len(model.weights_) < 15
    assert "There are 267 rows for each" in said[0]
    assert model.diagnostics_["rows_a_component"] == pytest.approx(4000 / 15)
    clear = fit(drawn(4000, 20, 15, noise=1.0)[0], 15)[0]
    assert clear.diagnostics_["noise_ratio"] == pytest.approx(1, abs=0.05)


def test_skewed_noise__names_the_feature():
    rows, _, _ = drawn(noise=0.3)
    rows[:, 4] += 0.1 * (default_rng(2).exponential(size=len(rows)) ** 1.5)
    _, said, sentences = fit(rows, 12)
    assert not said
    assert any("Feature 'x4' is skewed" in sentence for sentence in sentences)


@pytest.mark.slow  # other words of worry are quick
def test_features_of_other_units__are_told():
    rows, _, _ = drawn(k=3)
    rows[:, 7] *= 100
    _, _, sentences = fit(rows, 2)
    assert any(
        "Feature 'x7' has" in sentence and "Standardise" in sentence for sentence in sentences
    )
    cells = load_breast_cancer().data
    _, _, sentences = fit(cells, 2)
    assert any("Features 'x23', 'x3' have 95% of" in words for words in sentences)
    _, _, sentences = fit((cells - cells.mean(axis=0)) / cells.std(axis=0), 2)
    assert not any("Standardise" in sentence for sentence in sentences)
    _, _, sentences = fit(rows - rows.mean(axis=0), 6, covariance_type="tied")
    assert not any("Standardise" in sentence for sentence in sentences)


def test_report__counts_initialisations_in_place_of_listing_all() -> None:
    rows, _, _ = drawn(n=1000, k=2)
    model = GaussianMixture(2, random_state=0).fit(rows)
    scores = model.diagnostics_["pilot"]["log_likelihood"]
    (sentence,) = model.description.report(model, None).method
    assert f"of {len(scores)} in 1,000 rows" in sentence
    assert sum(f"({name})" in sentence for name in scores) == 1


def test_report__has_the_suggested_names_and_explains_their_signs():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2)) + 8 * rng.integers(2, size=(300, 1))
    model = GaussianMixture(2, random_state=0).fit(rows)
    parts = model.description.report(model, None)
    (column,) = parts.columns
    assert [*column.texts] == model.suggest_population_names()
    assert any("x0+" in text for text in column.texts)
    assert all(sign in parts.columns_lead for sign in ("(+)", "(-)", "(hi)", "(lo)"))


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_features_with_one_value_in_a_component__are_named(covariance_type):
    rng = np.random.default_rng(0)
    label = rng.integers(3, size=600)
    groups = np.array([[0, 0], [6, 0], [0, 6]])[label] + rng.normal(size=(600, 2))
    binary = rng.integers(2, size=600)
    rows = np.column_stack([groups, binary])
    options = {"covariance_type": covariance_type, "n_init": 3, "random_state": 0}
    with pytest.warns(ConditioningWarning, match="x2"):
        verdict = GaussianMixture(3, **options).fit(rows).diagnostics_["verdict"]
    notes = verdict["sentences"]
    assert any("x2" in note and "leave these features out" in note for note in notes)
    assert not any("x0" in note for note in notes)
    # components that follow values are no groups
    assert not verdict["good"]
    verdict = GaussianMixture(3, **options).fit(groups).diagnostics_["verdict"]
    assert verdict["good"]
    assert not any("leave these features out" in note for note in verdict["sentences"])


@pytest.mark.parametrize("constant_in_both", [True, False])
def test_feature_with_one_value_in_a_group__may_tell_groups_apart(constant_in_both):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 600)
    groups = rng.normal(size=(600, 3)) + 5 * label[:, None]
    amounts = label if constant_in_both else np.where(label, rng.gamma(2, 1, 600), 0)
    model = GaussianMixture(2, random_state=0).fit(np.column_stack([groups, amounts]))
    verdict = model.diagnostics_["verdict"]
    assert verdict["good"], verdict["sentences"]
    assert not any("leave these features out" in note for note in verdict["sentences"])


def test_narrow_components__are_not_of_single_values():
    """One group is far away, so that all variances are small parts of the variance of all rows."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2)) + 1000 * rng.integers(2, size=(400, 1))
    verdict = GaussianMixture(2, random_state=0).fit(rows).diagnostics_["verdict"]
    assert verdict["good"]


def test_copied_feature__is_named():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3)) + 6 * rng.integers(2, size=(300, 1))
    with pytest.warns(ConditioningWarning, match="x1, x3"):
        model = GaussianMixture(2, random_state=0).fit(np.column_stack([rows, rows[:, 1]]))
    verdict = model.diagnostics_["verdict"]
    assert not verdict["good"]
    assert sum("x3" in sentence for sentence in verdict["sentences"]) == 1


def test_tied__says_where_one_component_describes_the_rows_as_well():
    rows = default_rng(1).normal(size=(5000, 6))
    for values, is_told in (
        (rows, True),
        (rows + 6 * default_rng(2).integers(2, size=(5000, 1)), False),
    ):
        model, said, sentences = fit(values, 2, covariance_type="tied")
        assert not said
        assert (model.diagnostics_["pilot"]["gain_over_one_component"] <= 0) == is_told
        assert any("n_components='auto'" in sentence for sentence in sentences) == is_told


def streamed(rows, covariance_type, n_components=3, **settings):
    """Return the model of batches, and the warnings of rows unlike the pilot sample."""
    settings |= {"covariance_type": covariance_type, "n_init": 2, "random_state": 0}
    model = GaussianMixture(n_components, **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for batch in np.split(rows, 3):
            model.partial_fit(batch, rows=len(rows))
    told = [str(one.message) for one in caught if "shuffled batch" in str(one.message)]
    return model, told


@pytest.mark.parametrize("covariance_type", ["full", "tied"])
def test_partial_fit__warns_of_rows_unlike_those_of_the_first_batch(covariance_type):
    rng = default_rng(0)
    label = np.sort(rng.choice(3, 3000, p=[0.4, 0.4, 0.2]))
    rows = np.array([[280.0, 5], [290, 9], [300, 14]])[label] + rng.normal(size=(3000, 2)) * [2, 1]
    model, told = streamed(rows, covariance_type)
    assert model.diagnostics_["verdict"]["sentences"].count(told[-1]) == 1
    # the sample has one group, of which nothing follows for all rows
    sentences = model.diagnostics_["verdict"]["sentences"]
    assert not any("n_components='auto'" in str(sentence) for sentence in sentences)
    model, told = streamed(rng.permutation(rows), covariance_type)
    assert not told
    assert model.diagnostics_["verdict"]["good"]


def test_partial_fit__does_not_warn_of_few_rows_with_heavy_tails():
    rng = default_rng(0)
    heavy = 6 * rng.normal(size=(3, 3))[rng.integers(3, size=1200)]
    for rows in (heavy + rng.standard_t(3, size=(1200, 3)), np.exp(rng.normal(size=(1200, 3)))):
        assert not streamed(rows, "full")[1]


def test_partial_fit__does_not_warn_of_groups_in_other_proportions():
    rng = default_rng(1)
    label = np.r_[rng.random(1000) < 0.1, rng.random(2000) < 0.9].astype(int)
    scale = np.array([0.05, 3.0])[label][:, None]
    rows = np.array([[0, 0], [10, 0]])[label] + scale * rng.normal(size=(3000, 2))
    model, told = streamed(rows, "full", 2)
    assert max(np.mean(model.predict(rows) == label), np.mean(model.predict(rows) != label)) > 0.99
    assert not told


def test_partial_fit__does_not_warn_of_rows_with_entries_that_others_lack():
    rng = default_rng(0)
    rows = np.array([[0, 0], [6, 0], [0, 6]])[rng.integers(3, size=3000)]
    rows = np.column_stack([rows + rng.normal(size=(3000, 2)), 1e-3 * rng.normal(size=3000)])
    rows[1000:, 2] = np.nan
    assert not streamed(rows, "full", missing="marginalise")[1]


def test_partial_fit__does_not_warn_of_many_components_of_few_rows():
    rng = default_rng(0)
    rows = np.array([[0, 0, 0], [6, 0, 0], [0, 6, 0]])[rng.integers(3, size=3000)]
    rows = (rows + rng.normal(size=(3000, 3))) * [1, 1, 1000]
    assert not streamed(rows, "spherical", 88)[1]
