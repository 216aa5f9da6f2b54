"""Bad input of a topic model: one clear error or warning each, or no harm."""

import warnings

import numpy as np
import pytest
import xarray as xr
from numpy.random import default_rng
from scipy.sparse import block_diag, csr_array
from scipy.stats import entropy
from sklearn.datasets import load_digits

from bigtensor import TopicModel
from bigtensor.errors import (
    BigtensorWarning,
    ConditioningWarning,
    DataError,
    IdentifiabilityError,
    LayoutError,
    ParameterError,
    StoreReadError,
    ViewError,
)


@pytest.fixture(scope="module")
def counts():
    rng = default_rng(0)
    topics = rng.dirichlet(np.full(40, 0.1), 3)
    return rng.multinomial(30, rng.dirichlet([0.3] * 3, 1500) @ topics)


def quiet(model, data):
    """Fit a model that may warn of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", BigtensorWarning)
        return model.fit(data)


@pytest.mark.parametrize("kind", [csr_array, np.asarray])
def test_negative_counts__are_refused(counts, kind):
    bad = counts.astype(float)
    bad[3, 4] = -1
    with pytest.raises(DataError, match="negative"):
        TopicModel(3).fit(kind(bad))


@pytest.mark.parametrize("kind", [csr_array, np.asarray])
def test_negative_integers__are_negative_counts(counts, kind):
    bad = counts.copy()
    bad[3, 4] = -1
    with pytest.raises(DataError, match="1 counts are negative"):
        TopicModel(3, missing="omit").fit(kind(bad))


@pytest.mark.parametrize("kind", [csr_array, np.asarray])
def test_counts_that_are_too_large__are_refused_without_an_overflow(counts, kind):
    bad = counts.astype(float)
    bad[3, 4] = 1e140
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(DataError, match="1 counts are above"):
            TopicModel(3).fit(kind(bad))


def test_fractional_counts__are_told_and_not_polished(counts):
    broken = csr_array(counts * 0.5)
    with pytest.raises(DataError, match=r"not whole numbers.*round"):
        TopicModel(3, max_iter=4).fit(broken)
    with pytest.warns(ConditioningWarning, match="not whole numbers"):
        model = TopicModel(3).fit(broken)
    assert "max_iter" not in model.diagnostics_
    assert not model.diagnostics_["verdict"]["good"]
    assert "not whole numbers" in model.diagnostics_["verdict"]["sentences"][0]
    with pytest.warns(ConditioningWarning, match="not whole numbers"):
        moments = TopicModel(3, max_iter=0).fit(broken)
    assert not moments.diagnostics_["verdict"]["good"]


def test_a_topic_of_a_few_foreign_documents__is_told(counts):
    note = "of another kind"
    foreign = default_rng(1).multinomial(30, default_rng(2).dirichlet(np.full(30, 0.5)), 10)
    both = csr_array(block_diag([counts, foreign]))
    told = quiet(TopicModel(3, random_state=0), both).diagnostics_["verdict"]
    assert told["good"]
    assert note in told["sentences"][1]
    silent = quiet(TopicModel(3, random_state=0), counts).diagnostics_["verdict"]
    assert not any(note in sentence for sentence in silent["sentences"])


def test_rows_divided_by_their_sums__are_told_from_short_documents(counts):
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    with pytest.raises(DataError, match=r"not whole numbers.*divided"):
        TopicModel(3, max_iter=0).fit(csr_array(shares))


def test_new_documents_without_a_word__are_sent_to_the_vocabulary_of_the_fit(counts):
    names = [f"term{j}" for j in range(counts.shape[1])]
    model = TopicModel(3, max_iter=0).fit(
        xr.DataArray(counts, {"feature": names}, ("sample", "feature"), "X")
    )
    fewer = xr.DataArray(counts[:, 2:], {"feature": names[2:]}, ("sample", "feature"), "X")
    with pytest.raises(ViewError, match=r"2 of 40 are absent.*'term0'.*vocabulary"):
        model.transform(fewer)


def test_fractional_counts_without_a_concentration__are_not_sent_to_passes():
    with pytest.warns(ConditioningWarning, match="not whole numbers|No concentration"):
        model = TopicModel(3).fit(0.3 * load_digits().data)
    (sentence,) = (s for s in model.diagnostics_["verdict"]["sentences"] if "No conc" in s)
    assert "give doc_concentration" in sentence
    assert "max_iter" not in sentence


def test_measured_values__are_refused():
    rows = default_rng(0).normal(size=(200, 6))
    with pytest.raises(DataError, match=r"negative.*takes counts"):
        TopicModel(2).fit(rows)


def test_codes_of_categories__are_refused():
    attrs = {"categories": {name: ["a", "b"] for name in "xyz"}}
    codes = default_rng(0).integers(0, 2, (100, 3)).astype(np.int32)
    data = xr.DataArray(codes, {"feature": list("xyz")}, ("sample", "feature"), "X", attrs)
    with pytest.raises(DataError, match="codes of categories"):
        TopicModel(2).fit(data)


@pytest.mark.slow  # words that never occur are quick
def test_empty_and_short_documents__do_not_count(counts):
    whole = quiet(TopicModel(3, max_iter=2), csr_array(counts))
    short = np.zeros((50, 40), int)
    short[:30, 1] = 2
    model = quiet(TopicModel(3, max_iter=0), csr_array(np.vstack([counts, short])))
    alone = quiet(TopicModel(3, max_iter=0), csr_array(counts))
    assert model.topics_ == pytest.approx(alone.topics_, rel=1e-8)
    assert any("fewer than three" in s for s in model.diagnostics_["verdict"]["sentences"])
    shares = whole.transform(csr_array(short))
    prior = whole.doc_concentration_ / whole.doc_concentration_.sum()
    assert shares[40] == pytest.approx(prior)


def test_documents_of_two_words__are_too_short():
    rows = csr_array(np.eye(10, dtype=int)[default_rng(0).integers(0, 10, 100)] * 2)
    with pytest.raises(DataError, match="no document has three words"):
        TopicModel(2).fit(rows)


@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
def test_a_long_document_in_the_other_half__is_not_called_short():
    errors = []
    for seed in range(10):
        try:
            TopicModel("auto", max_iter=0, random_state=seed).fit(
                30 * np.eye(10, dtype=int)[[0]] + 1
            )
        except DataError as error:
            errors.append(str(error))
    assert errors
    assert all("half of the documents" in error for error in errors)
    assert all("longer documents, or n_components" in error for error in errors)


def test_documents_without_topics__are_told_by_the_automatic_number():
    rng = default_rng(0)
    rows = rng.multinomial(50, rng.dirichlet(np.ones(100)), 500)
    with pytest.warns(ConditioningWarning, match="no two topics apart"):
        model = TopicModel("auto").fit(rows)
    assert model.diagnostics_["spectrum"]["count"] == 1
    assert not model.diagnostics_["verdict"]["good"]


def test_words_that_never_occur__change_nothing(counts):
    wider = np.hstack([counts, np.zeros((len(counts), 7), int)])
    model = quiet(TopicModel(3), csr_array(wider))
    never = 7 + int((counts.sum(axis=0) == 0).sum())
    told = model.diagnostics_["verdict"]["sentences"]
    assert any(f"{never} of 47 words do not occur" in sentence for sentence in told)
    assert model.topics_[:, 40:].max() < 1e-4


def test_the_order_of_documents__does_not_matter_beside_words_that_never_occur():
    """Eight pixels are blank, so that the sketch has more columns than there are words."""
    images = load_digits().data[:500].astype(int)
    model = quiet(TopicModel("auto", max_iter=0, random_state=0), csr_array(images))
    order = default_rng(0).permutation(len(images))
    other = quiet(TopicModel("auto", max_iter=0, random_state=0), csr_array(images[order]))
    # the descent of moments is cut after 150 steps, where it has enlarged rounding errors to 1e-7
    assert other.topics_ == pytest.approx(model.topics_, rel=1e-3, abs=1e-6)


def test_more_topics_than_words__are_refused(counts):
    with pytest.raises(
        ParameterError, match=r"n_components=50 exceeds the words \(n_features = 40\)"
    ):
        TopicModel(50).fit(counts)
    few = np.zeros((300, 40), int)
    few[:, :4] = default_rng(0).poisson(3, (300, 4))
    with pytest.raises(IdentifiabilityError, match="exceeds the 4 words that occur"):
        TopicModel(6).fit(few)


def test_more_topics_than_there_are__are_told():
    rng = default_rng(1)
    words = rng.dirichlet(np.ones(30))
    rows = csr_array(rng.multinomial(50, words, 2000))
    with pytest.warns(ConditioningWarning, match="no more probable"):
        TopicModel(4).fit(rows)


@pytest.mark.parametrize(("n_components", "fault"), [(2, None), (12, "same words|fewer than 100")])
def test_many_more_topics_than_two__are_told(n_components, fault):
    rng = default_rng(5)
    topics = rng.dirichlet(np.full(30, 0.3), 2)
    rows = rng.multinomial(60, rng.dirichlet([0.3, 0.3], 200) @ topics)
    if fault is None:
        quiet(TopicModel(n_components), rows)
    else:
        with pytest.warns(ConditioningWarning, match=fault):
            TopicModel(n_components).fit(rows)


@pytest.mark.parametrize("n_documents", [1, 2, 4])
@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
def test_a_handful_of_documents__ends_in_topics_or_an_error(n_documents):
    for seed in range(10):
        rows = default_rng(seed).poisson(2, (n_documents, 6))
        try:
            model = TopicModel(2, max_iter=1, random_state=0).fit(rows)
        except DataError:
            continue
        assert model.topics_.sum(axis=1) == pytest.approx(np.ones(2))


def test_nothing_to_predict__is_refused(counts):
    model = quiet(TopicModel(3), csr_array(counts))
    with pytest.raises(DataError, match="none is left to predict"):
        model.perplexity(csr_array((5, 40)))


@pytest.mark.parametrize(
    "settings",
    [
        {"n_components": 1},
        {"n_components": "many"},
        {"doc_concentration": 0.0},
        {"topic_concentration": -1.0},
        {"power_passes": -1},
        {"max_iter": 1.5},
    ],
)
def test_parameters_out_of_range__are_refused(counts, settings):
    with pytest.raises(ParameterError, match=next(iter(settings))):
        TopicModel(**{"n_components": 3, **settings}).fit(counts)


@pytest.mark.parametrize("n_components", [2, 5])
@pytest.mark.parametrize(("documents", "length"), [(60, 60), (300, 100), (3000, 20)])
@pytest.mark.quick_cases("60-60-2", "60-60-5", "300-100-2", "300-100-5")
def test_documents_without_topics__are_worth_a_warning(n_components, documents, length):
    rng = default_rng(documents)
    data = rng.multinomial(length, rng.dirichlet(np.full(150, 0.3)), documents)
    with pytest.warns(BigtensorWarning, match="no more probable"):
        model = TopicModel(n_components, random_state=0).fit(data)
    assert not model.diagnostics_["verdict"]["good"]


def test_weights__are_no_topics_of_documents_without_any():
    rng = default_rng(3)
    data = rng.multinomial(400, rng.dirichlet(np.full(50, 0.3)), 100)
    for seed in range(3):
        with pytest.warns(BigtensorWarning, match="no more probable"):
            TopicModel(2, random_state=seed).fit(data, sample_weight=np.full(100, 100.0))


def test_gain_over_one_topic__is_that_of_held_out_words(counts):
    model = quiet(TopicModel(3, random_state=0), counts)
    shares = counts.sum(axis=0) / counts.sum()
    gain = entropy(shares) - np.log(model.perplexity(counts))
    assert model.diagnostics_["gain_over_one_topic"] == pytest.approx(gain, abs=0.05)


def test_two_topics_of_moments__depend_on_the_concentration(counts):
    with pytest.warns(ConditioningWarning, match="With two topics"):
        TopicModel(2, random_state=0, max_iter=0).fit(counts)
    TopicModel(2, random_state=0, max_iter=0, doc_concentration=1.0).fit(counts)


def test_answers__refuse_negative_counts(counts):
    """Values that were scaled after the fit, as scanpy does in X, have no shares of topics."""
    model = TopicModel(3, random_state=0, max_iter=0).fit(counts)
    scaled = counts - 1.0
    for answer in (model.transform, model.score):
        with pytest.raises(DataError, match="counts are negative"):
            answer(scaled)


@pytest.mark.parametrize(
    ("documents", "error"),
    [
        (["The whale dives.", "Call me\nIshmael, some years ago"], StoreReadError),
        ([["the", "whale"], ["call", "me", "ishmael"]], LayoutError),
        ([[(0, 1), (3, 2)], [(1, 1)]], LayoutError),
    ],
)
def test_texts_and_bags_of_words__are_refused_with_the_way_to_counts(documents, error):
    with pytest.raises(error, match="CountVectorizer"):
        TopicModel(2).fit(documents)
