"""What a linear mixture says of data and settings that it was not made for, and of good ones."""

import warnings

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor import LinearMixture
from bigtensor.errors import ConditioningWarning, DataError, IdentifiabilityError
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.linear_mixture.verdict import judged
from bigtensor.statistics.moments.covariances import CovariancesResult
from tests.parameters import first_quick

D, K = 12, 14
VIEWS = {"a": list(range(D)), "b": list(range(D, 2 * D)), "c": list(range(2 * D, 3 * D))}


def columns(k, rng):
    means = rng.normal(size=(k, 3, D))
    means /= np.linalg.norm(means, axis=2, keepdims=True)
    return means.reshape(k, -1)


def noisy(means, rows, noise, rng, shares=None):
    label = rng.choice(len(means), rows, p=shares)
    return means[label] + noise * rng.normal(size=(rows, 3 * D)) / np.sqrt(D), label


def drawn(rows=10_000, k=K, noise=0.7, seed=0, shares=None):
    rng = default_rng(seed)
    means = columns(k, rng)
    return *noisy(means, rows, noise, rng, shares), means


def fit(rows, k, **settings):
    """Return the model, the warnings and the sentences of the verdict."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LinearMixture(k, views=VIEWS, **{"random_state": 0, **settings}).fit(rows)
    said = [str(warning.message) for warning in caught]
    sentences = [str(sentence) for sentence in model.diagnostics_["verdict"]["sentences"]]
    assert model.diagnostics_["verdict"]["good"] == (not said)
    return model, said, sentences


def farthest(model, means):
    """Return the largest distance of a true mean to the nearest that was found."""
    found = np.concatenate([of.to_numpy() for of in model.components_.values()]).T
    return np.linalg.norm(means[:, None] - found, axis=2).min(axis=1).max()


@pytest.mark.parametrize("seed", first_quick(range(10)))
@pytest.mark.parametrize("k", [2, K])
def test_right_results__carry_no_word_of_worry(k, seed):
    rows, _, means = drawn(k=k, seed=seed)
    model, said, sentences = fit(rows, k)
    assert not said
    (sentence,) = sentences
    assert sentence.startswith(f"{k} components; no further one")
    assert farthest(model, means) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("asked", [18, 24])
@pytest.mark.parametrize("seed", first_quick([0, 1, 2]))
def test_too_many__are_returned_as_fewer(asked, seed):
    rows, label, means = drawn(seed=seed)
    model, said, _ = fit(rows, asked)
    assert len(model.weights_) == K
    assert len(said) == 1
    assert said[0].startswith(f"{K} of the {asked} components")
    assert f"n_components={K}" in said[0]
    assert f"There are {10_000 / asked:,.0f} rows for each" in said[0]
    assert farthest(model, means) < 0.15
    np.testing.assert_allclose(
        np.sort(model.weights_), np.sort(np.bincount(label) / len(label)), atol=0.003
    )


@pytest.mark.parametrize("asked", [8, 11])
@pytest.mark.parametrize("seed", first_quick([0, 1, 2]))
@pytest.mark.quick_cases("0-11")
def test_too_few__are_said(asked, seed):
    _, said, _ = fit(drawn(seed=seed)[0], asked)
    assert len(said) == 1
    assert "Use more components (n_components)" in said[0]


@pytest.mark.slow
def test_near_columns__are_found_or_told_by_their_weight():
    rng = default_rng(1)
    means = columns(K, rng)
    for cosine, found in ((0.7, (K + 1,)), (0.97, (K, K + 1))):
        near = means[0].reshape(3, D)
        other = rng.normal(size=(3, D))
        other -= (other * near).sum(axis=1, keepdims=True) * near
        other /= np.linalg.norm(other, axis=1, keepdims=True)
        both = np.vstack([means, (cosine * near + np.sqrt(1 - cosine**2) * other).ravel()])
        rows, _ = noisy(both, 15_000, 0.7, rng)
        model, said, _ = fit(rows, K + 1)
        assert len(model.weights_) in found, cosine
        assert bool(said) == (len(model.weights_) == K)
    _, said, sentences = fit(rows, K)
    assert not said
    assert sentences[1].startswith("1 component has twice the weight")


def test_a_column_shared_by_two_components__does_no_harm():
    rng = default_rng(2)
    means = columns(K, rng)
    means[1, :D] = means[0, :D]
    model, said, _ = fit(noisy(means, 10_000, 0.7, rng)[0], K)
    assert not said
    assert farthest(model, means) < 0.15


def test_columns_without_negative_entries__are_found():
    rng = default_rng(3)
    means = np.abs(columns(K, rng))
    model, said, _ = fit(noisy(means, 15_000, 0.5, rng)[0], K)
    assert not said
    assert farthest(model, means) < 0.15


# a single search misses light components of all but the last
@pytest.mark.parametrize(("seed", "random_state"), first_quick([(1, 0), (8, 0), (3, 3), (0, 0)]))
@pytest.mark.slow  # unequal weights are quick in tests of the model
def test_weights_of_one_to_ten__are_found(seed, random_state):
    shares = np.where(np.arange(K) < K // 2, 10.0, 1.0)
    rows, _, means = drawn(30_000, seed=seed, shares=shares / shares.sum())
    model, said, _ = fit(rows, K, method="sample", random_state=random_state)
    assert not said
    assert farthest(model, means) < 0.25


@pytest.mark.parametrize(("freedom", "told"), [(2, True), (30, False)])
def test_heavy_tails__are_told(freedom, told):
    rng = default_rng(1)
    means = columns(K, rng)
    rows = means[rng.integers(K, size=10_000)] + 0.15 * rng.standard_t(freedom, (10_000, 3 * D))
    _, _, sentences = fit(rows, K, method="sample")
    assert any("heavy tails" in words and "arcsinh" in words for words in sentences) == told


def test_outliers__are_left_out_and_counted():
    rows, _, means = drawn()
    far = np.vstack([rows, 100 * columns(20, default_rng(5))])
    model, _, _ = fit(far, K)
    assert model.diagnostics_["outlying_rows"] == 20
    assert not model.diagnostics_["verdict"]["good"]
    assert farthest(model, means) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "noise"), [(10 * K, 1.5), (20_000, 3.5)])
def test_noise_that_hides_components__is_told_with_the_rows(rows, noise):
    model, said, _ = fit(drawn(rows, noise=noise)[0], K)
    assert f"There are {rows / K:,.0f} rows for each" in said[0]
    assert model.diagnostics_["rows_a_component"] == pytest.approx(rows / K)


@pytest.mark.slow
def test_noise_beyond_everything__is_an_error():
    with pytest.raises(IdentifiabilityError, match="no component stands out from the noise"):
        fit(drawn(20_000, noise=15.0)[0], K)


@pytest.mark.parametrize(("features", "rows", "k"), [(1, 60, 5), (1, 1_000, 3), (2, 2_000, 5)])
def test_noise_without_components__has_none(features, rows, k):
    views = list(default_rng(0).normal(size=(3, rows, features)))
    with pytest.raises(IdentifiabilityError, match="no component stands out from the noise"):
        LinearMixture(k, random_state=0).fit(views)


def test_few_rows_for_components_of_few_features__are_an_error():
    views = list(default_rng(0).normal(size=(3, 30, 2)))
    with pytest.raises(DataError, match=r"30 rows .* at least 2 rows a component"):
        LinearMixture(20, random_state=0).fit(views)


def test_noise_ratio__is_that_of_the_simulation():
    model, _, _ = fit(drawn(noise=0.7)[0], K)
    assert model.diagnostics_["noise_ratio"] == pytest.approx(0.7, abs=0.05)


def test_noise_ratio__does_not_depend_on_the_unit_of_one_feature():
    random = default_rng(0)
    label = random.integers(2, size=600)
    rows = label[:, None] * [3.0, 0.6, 3.0] + random.normal(size=(600, 3))
    models = [LinearMixture(2, random_state=0).fit(rows * [1, unit, 1]) for unit in (1, 1e-3, 1e3)]
    ratio, verdict = (models[0].diagnostics_[name] for name in ("noise_ratio", "verdict"))
    assert verdict["good"]
    for model in models[1:]:
        assert model.diagnostics_["noise_ratio"] == pytest.approx(ratio)
        assert model.diagnostics_["verdict"] == verdict


@pytest.mark.slow  # noise without components is quick
def test_noise_beyond_moments__is_an_error_without_clusters():
    with pytest.raises(IdentifiabilityError, match="no component stands out from the noise"):
        fit(drawn(2_000, noise=15.0)[0], K, max_iter=0)


def test_components_beyond_the_limit__are_told():
    with pytest.raises(IdentifiabilityError, match=r"determine at most 59: .*n_components=59"):
        LinearMixture(60, views=VIEWS, method="explicit").fit(drawn()[0])
    views = tuple((name, tuple(f"{name}{i}" for i in range(18))) for name in "abc")
    shape = DataShape(20_000, views, "float32", False, 20_000.0)
    settings = LinearSettings(shape, 120, "sample", False, 1, 2, 1e-3, 20_000, 0)
    means = default_rng(1).normal(size=(3, 54))
    found = GaussianComponents(np.full(3, 1 / 3), means, np.eye(54), views, "float32")
    pilot = {"components_seen": 3, "left_weight": 0.9, "rows": 20_000, "tails": 0.0}
    told = {"pilot": pilot, "outlying_rows": 0, "first_outlying_rows": [], "weight_sum": 1.0}
    with pytest.warns(ConditioningWarning, match="More than 108 .* views of 18"):
        judged(found, settings, told, CovariancesResult(np.zeros(54), np.eye(54), 20_000.0))


def test_fewer_components_than_asked_for__are_no_reason_to_ask_for_more():
    views = tuple((name, tuple(f"{name}{i}" for i in range(3))) for name in "abc")
    shape = DataShape(2_000, views, "float32", False, 2_000.0)
    settings = LinearSettings(shape, 3, "sample", False, 1, 2, 1e-3, 2_000, 0)
    means = default_rng(1).normal(size=(2, 9))
    found = GaussianComponents(np.full(2, 1 / 2), means, np.eye(9), views, "float32")
    pilot = {"components_seen": 2, "left_weight": 5.0, "rows": 2_000, "tails": 0.0}
    told = {"pilot": pilot, "outlying_rows": 0, "first_outlying_rows": [], "weight_sum": 1.0}
    with pytest.warns(ConditioningWarning, match="2 of the 3 components asked for"):
        judged(found, settings, told, CovariancesResult(np.zeros(9), np.eye(9), 2_000.0))


def test_fewer_rows_than_pilot__judge_by_all_of_them():
    with pytest.warns(ConditioningWarning, match=r"sample .* beyond those asked for"):
        LinearMixture(11, views=VIEWS, pilot_rows=4000, random_state=0).fit(drawn()[0])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore")
def test_feature_with_next_to_no_noise__determines_components_of_noisy_views(seed):
    """The noise ratio is small although that of the other views is 4, and rightly so."""
    random = default_rng(seed)
    labels = random.integers(2, size=400)
    centres = default_rng(100 + seed).normal(0, 0.25, size=(2, 12))
    values = random.normal(centres[labels])
    values[:, 0] = labels + random.normal(0, 1e-3, 400)
    views = {name: [f"x{4 * i + j}" for j in range(4)] for i, name in enumerate("abc")}
    model = LinearMixture(2, views=views, random_state=0).fit(values)
    agreement = np.mean(model.predict(values) == labels)
    assert max(agreement, 1 - agreement) == 1
    assert model.diagnostics_["noise_ratio"] < 0.1
    sentences = model.diagnostics_["verdict"]["sentences"]
    assert not any("so much noise" in sentence for sentence in sentences)
