"""Meanings of sample weights in fits and scores of real models."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bigtensor import (
    DiscreteMixture,
    GaussianMixture,
    HiddenMarkovModel,
    KernelMixture,
    LinearMixture,
    TensorTrainDensity,
    TopicModel,
    simulate,
)
from bigtensor.errors import ParameterError, WeightWarning


def answer_patterns() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return answers of two classes row by row, and as a table of patterns with counts."""
    rng = np.random.default_rng(0)
    of_second = rng.random((3000, 1)) < 0.4
    rows = (rng.random((3000, 6)) < np.where(of_second, 0.8, 0.2)).astype(int)
    patterns, counts = np.unique(rows, axis=0, return_counts=True)
    return rows, patterns, counts


@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
@pytest.mark.slow  # six fits; criteria of given weights are quick
def test_bic__of_a_table_of_patterns_chooses_the_classes_of_the_rows():
    rows, patterns, counts = answer_patterns()
    of_rows, of_table = [], []
    for k in (1, 2, 3):
        of_rows.append(DiscreteMixture(k, random_state=0).fit(rows).bic(rows))
        model = DiscreteMixture(k, random_state=0).fit(patterns, sample_weight=counts)
        of_table.append(model.bic(patterns, counts))
    assert_allclose(of_table, of_rows, rtol=1e-9)
    assert np.argmin(of_table) == 1


def test_criteria__are_the_formulas_of_weighted_rows():
    rng = np.random.default_rng(1)
    rows, weight = rng.normal(size=(500, 3)), rng.uniform(0.6, 3, 500)
    model = GaussianMixture(1, covariance_type="shared_spherical")
    model.fit(rows, sample_weight=weight)
    likelihood = weight @ model.score_samples(rows)
    parameters = 3 + 1
    assert_allclose(model.aic(rows, weight), 2 * parameters - 2 * likelihood)
    assert_allclose(model.bic(rows, weight), np.log(weight.sum()) * parameters - 2 * likelihood)
    assert_allclose(model.score(rows, sample_weight=weight), likelihood / weight.sum())


def test_score__uses_weights_that_are_stored_with_the_data():
    cells = simulate.kernel_mixture(2000, 2, random_state=0)[["X"]]
    weight = np.random.default_rng(0).uniform(0.6, 3, 2000)
    stored = cells.assign(weight=("sample", weight))
    model = KernelMixture(2, random_state=0).fit(stored)
    wanted = np.average(model.score_samples(cells), weights=weight)
    assert_allclose(model.score(stored), wanted, rtol=1e-9)
    assert abs(model.score(cells) - wanted) > 1e-6


def test_relative_weights__keep_pseudo_counts_and_priors_small_in_any_unit():
    chain = simulate.hidden_markov(3000, 2, 4, stay=0.9, random_state=3)["X"]
    plain = HiddenMarkovModel(2, random_state=0).fit(chain)
    weight = np.full(3000, 1e-3)
    relative = HiddenMarkovModel(2, weights="relative", random_state=0)
    relative.fit(chain, sample_weight=weight)
    assert_allclose(relative.transition_, plain.transition_, atol=1e-9)
    documents = simulate.topics(400, 3, n_words=50, random_state=0).X
    plain = TopicModel(3, random_state=0).fit(documents)
    relative = TopicModel(3, weights="relative", random_state=0)
    relative.fit(documents, sample_weight=np.full(400, 1 / 400))
    assert_allclose(relative.topics_, plain.topics_, atol=1e-9)


@pytest.mark.slow  # a law of other models is quick
def test_relative_weights__of_a_density_do_not_depend_on_their_unit():
    rows = np.random.default_rng(2).normal(size=(300, 2))
    weight = np.random.default_rng(3).uniform(0.2, 3, 300)
    scores = [
        TensorTrainDensity(2, coordinates="z", weights="relative", random_state=0)
        .fit(rows, sample_weight=unit * weight)
        .score(rows)
        for unit in (1.0, 1e-3, 1e-6)
    ]
    assert_allclose(scores, scores[0], rtol=1e-9)


def test_counts_that_are_few__are_warned_of_in_a_fit():
    rows = np.random.default_rng(4).normal(size=(200, 2))
    with pytest.warns(WeightWarning):
        GaussianMixture(1).fit(rows, sample_weight=np.full(200, 1 / 200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GaussianMixture(1, weights="relative").fit(rows, sample_weight=np.full(200, 1 / 200))


def test_relative_weights__are_refused_in_rounds():
    rows = np.random.default_rng(5).normal(size=(300, 3))
    model = GaussianMixture(1, weights="relative")
    with pytest.raises(ParameterError, match="weights='counts'"):
        model.prepare(rows, sample_weight=np.ones(300))
    prepared = model.prepare(rows)
    with pytest.raises(ParameterError, match="weights='counts'"):
        prepared.accumulate(rows, sample_weight=np.ones(300))


def test_a_meaning_that_does_not_exist__is_refused():
    with pytest.raises(ParameterError, match="counts, relative"):
        GaussianMixture(1, weights="percent").fit(np.zeros((4, 2)))


@pytest.mark.parametrize("method", ["sample", "explicit", "compressed", "passes"])
@pytest.mark.quick_cases("sample", "explicit")
def test_counts__repeat_rows_by_every_method_of_a_linear_mixture(method):
    drawn = simulate.linear_mixture(1_500, 3, n_features=4, noise=1.0, random_state=1)
    rows = drawn["X"].to_numpy().astype(float)
    counts = np.random.default_rng(0).integers(0, 4, len(rows))
    weight, repeated = counts.astype(float), np.repeat(rows, counts, axis=0)
    views = {"a": range(4), "b": range(4, 8), "c": range(8, 12)}
    scores = [
        LinearMixture(3, views=views, method=method, random_state=0)
        .fit(data, sample_weight=counts)
        .score_samples(rows)
        for data, counts in ((rows, weight), (repeated, None))
    ]
    assert_allclose(*scores, rtol=1e-8)


def test_counts__repeat_rows_in_the_shapes_of_components():
    rows, weight, repeated = counted_clusters()
    shapes = [
        model.diagnostics_["pilot"]["shapes"]
        for model in (
            GaussianMixture(3, covariance_type="shared_spherical", random_state=0).fit(
                rows, sample_weight=weight
            ),
            GaussianMixture(3, covariance_type="shared_spherical", random_state=0).fit(repeated),
        )
    ]
    assert shapes[0]["tails"] == pytest.approx(shapes[1]["tails"], abs=1e-8)
    skewness = [found["most_skewed"]["skewness"] for found in shapes]
    assert skewness[0] == pytest.approx(skewness[1], abs=1e-8)


def counted_clusters():
    """Draw rows of three clusters, counts from 0 to 3, and the rows repeated by them."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 4, (3, 6))
    rows = centres[rng.integers(0, 3, 900)] + rng.normal(size=(900, 6))
    counts = rng.integers(0, 4, 900)
    return rows, counts.astype(float), np.repeat(rows, counts, axis=0)
