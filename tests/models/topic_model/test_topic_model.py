"""Topic models of simulated documents: truth, contract of scikit-learn, containers, scale."""

import warnings

import anndata
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array, vstack
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from bigtensor import TopicModel, annotate, from_anndata, load, open_samples, simulate
from bigtensor.errors import ConditioningWarning, OutputError
from bigtensor.models.topic_model.polish import is_settled
from bigtensor.report.rows import read_rows


def distances(truth, topics):
    """Return the L1 distances of matched topics, and the topic of every true one."""
    costs = np.abs(truth.T[:, None] - topics[None]).sum(axis=2)
    own = linear_sum_assignment(costs)
    return costs[own], own[1]


@pytest.fixture(scope="module")
def corpus():
    return simulate.topics(6000, 5, n_words=300, mean_length=60, random_state=1)


@pytest.fixture(scope="module")
def model(corpus):
    return TopicModel(5, random_state=0).fit(corpus.X)


def test_topics_shares_and_prior__are_those_of_the_truth(corpus, model):
    found, own = distances(corpus.varm["true_topics"], model.topics_)
    assert found.max() < 0.12
    shares = model.transform(corpus.X)
    error = np.abs(shares[:, own] - corpus.obsm["true_shares"]).sum(axis=1).mean()
    truth = TopicModel(5).fit(corpus)
    # as good as with the true topics, up to their error
    truth.solution_.topics[:] = corpus.varm["true_topics"]
    truth.solution_.prior[:] = 0.2
    oracle = np.abs(truth.transform(corpus) - corpus.obsm["true_shares"]).sum(axis=1).mean()
    assert error < 1.1 * oracle
    assert model.doc_concentration_.sum() == pytest.approx(1.0, rel=0.1)


def test_two_topics_of_few_documents__are_found():
    rng = np.random.default_rng(0)
    for _ in range(6):
        topics = rng.dirichlet(np.full(60, 0.1), 2)
        shares = rng.dirichlet(np.full(2, 0.3), 200)
        counts = rng.multinomial(30, shares @ topics)
        fitted = TopicModel(2, random_state=0).fit(counts)
        assert distances(topics.T, fitted.topics_)[0].mean() < 0.12
        assert fitted.diagnostics_["verdict"]["good"]


def test_passes__improve_the_topics_of_moments(corpus, model):
    moments = TopicModel(5, max_iter=0).fit(corpus)
    before, _ = distances(corpus.varm["true_topics"], moments.topics_)
    after, _ = distances(corpus.varm["true_topics"], model.topics_)
    assert after.mean() < 0.95 * before.mean()
    # the halves of documents are drawn in the order of the topics, which differ: noise of 0.5 %
    assert model.perplexity(corpus.X) < 1.01 * moments.perplexity(corpus)


def test_a_document_of_huge_counts__takes_no_topic(corpus, model):
    truth = corpus.varm["true_topics"]
    before, _ = distances(truth, model.topics_)
    counts = vstack([csr_array(corpus.X), 1000 * csr_array(corpus.X)[[17]]]).tocsr()
    after, _ = distances(truth, TopicModel(5, random_state=0).fit(counts).topics_)
    assert after.mean() < 1.3 * before.mean()


def documents_of(lengths, rng):
    """Return documents of six topics of words with the frequencies of Zipf, and the topics."""
    frequencies = 1 / np.arange(1, 801)
    topics = rng.dirichlet(40 * frequencies / frequencies.sum() + 1e-3, 6)
    shares = rng.dirichlet(np.full(6, 0.083), len(lengths))
    return csr_array(rng.multinomial(lengths, shares @ topics)), topics.T


def test_moments_of_documents_of_very_unlike_length__are_not_lost_in_short_ones():
    rng = np.random.default_rng(4)
    counts, topics = documents_of(np.exp(rng.normal(4, 1.5, 1000)).astype(int) + 1, rng)
    fitted = TopicModel(6, max_iter=0, random_state=0).fit(counts)
    assert distances(topics, fitted.topics_)[0].mean() < 0.12


@pytest.mark.slow  # few passes are quick
def test_many_passes__keep_the_topics():
    counts, topics = documents_of(np.full(1000, 55), np.random.default_rng(2))
    fitted = TopicModel(6, max_iter=40, random_state=0).fit(counts)
    assert distances(topics, fitted.topics_)[0].mean() < 0.11


def test_attributes__are_distributions_in_descending_order(model):
    assert model.topics_.sum(axis=1) == pytest.approx(1)
    assert model.topic_weights_.sum() == pytest.approx(1)
    assert (np.diff(model.topic_weights_) <= 0).all()
    assert (model.topics_ > 0).all()
    normalised = model.components_ / model.components_.sum(axis=1, keepdims=True)
    assert normalised == pytest.approx(model.topics_)
    assert list(model.get_feature_names_out()) == [f"topicmodel{j}" for j in range(5)]


def test_number_of_topics__is_found(corpus):
    found = TopicModel("auto", random_state=0).fit(corpus)
    assert found.topics_.shape == (5, 300)
    assert len(found.diagnostics_["spectrum"]["values"]) > 5


def test_given_concentration__stays(corpus):
    found = TopicModel(5, doc_concentration=2.0, max_iter=2).fit(corpus)
    assert found.doc_concentration_.sum() == pytest.approx(2.0)


@pytest.mark.slow
def test_containers__give_the_same_model(corpus, model, tmp_path):
    settings = {"n_words": 300, "mean_length": 60, "random_state": 1}
    simulate.write_topics(tmp_path / "c.zarr", 6000, 5, **settings)
    corpus.write_h5ad(tmp_path / "c.h5ad")
    in_layer = anndata.AnnData(np.zeros((6000, 300)), layers={"counts": corpus.X})
    in_layer.var_names = corpus.var_names
    dense, shares = corpus.X.toarray(), model.transform(corpus.X)
    for data in (
        corpus.X,
        dense,
        dense.astype(np.float32),
        tmp_path / "c.zarr",
        str(tmp_path / "c.h5ad"),
        open_samples(in_layer, layer="counts"),
        da.from_array(dense, chunks=(1500, 300)).map_blocks(csr_array),
    ):
        found = clone(model).fit(data)
        assert found.topics_ == pytest.approx(model.topics_, rel=1e-7)
        assert np.asarray(found.transform(data)) == pytest.approx(shares, rel=1e-6)


@pytest.mark.slow  # a second fit of the corpus
def test_coherence__is_higher_for_topics_than_for_chance(corpus, model):
    found = model.coherence(corpus.X)
    assert found.shape == (5,)
    shuffled = clone(model).fit(corpus)
    shuffled.solution_.topics[:] = np.random.default_rng(0).permutation(shuffled.solution_.topics)
    assert found.mean() > shuffled.coherence(corpus).mean()


def test_drawn_documents__are_like_those_of_the_fit(corpus, model):
    drawn = model.sample(5000, random_state=1)
    assert isinstance(drawn, csr_array)
    assert drawn.sum() / 5000 == pytest.approx(corpus.X.sum() / 6000, rel=0.02)
    before, after = (np.asarray(x.sum(axis=0)).ravel() / x.sum() for x in (corpus.X, drawn))
    assert np.abs(before - after).sum() < 0.05
    assert model.perplexity(drawn) == pytest.approx(model.perplexity(corpus.X), rel=0.05)


def test_passes__go_on_while_held_out_words_rise_from_a_fall():
    fall = [-8.543, -8.144, -8.204, -8.153]
    assert not is_settled(fall)
    assert is_settled([*fall, -8.097, -8.0968, -8.0969])
    # of simulated documents
    assert is_settled([-4.8967, -4.8981, -4.9000, -4.8992])


def test_drawn_documents__have_the_columns_of_the_data(corpus):
    words = list(range(corpus.n_vars))[::-1][:200]
    fitted = TopicModel(5, views={"used": words}, max_iter=0).fit(corpus.X)
    drawn = fitted.sample(2000, random_state=0)
    assert drawn.shape == (2000, corpus.n_vars)
    used = drawn[:, fitted.views_.order]
    assert used.sum() == drawn.sum()
    frequency = used.sum(axis=0) / used.sum()
    assert np.abs(frequency - fitted.topic_weights_ @ fitted.topics_).sum() < 0.1
    assert fitted.transform(drawn).shape == (2000, 5)


def test_transformed_counts__are_not_answered_in_silence(corpus):
    counts = corpus.copy()
    fitted = TopicModel(5, max_iter=0).fit(counts)
    counts.X = np.log1p(counts.X)
    for answer in (fitted.transform, fitted.perplexity, lambda data: annotate(data, fitted)):
        with pytest.warns(ConditioningWarning, match="not whole"):
            answer(counts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.transform(corpus)
        fitted.perplexity(corpus)
        fitted.coherence(counts)  # log1p keeps the words that a document has


def test_lazy_documents__are_computed_once(corpus):
    fitted = TopicModel(5, max_iter=0).fit(corpus)
    computed = []

    def counted(block):
        computed.append(len(block))
        return block

    documents = np.asarray(corpus.X[:600].todense(), np.float32)
    lazy = da.from_array(documents, chunks=(600, -1)).map_blocks(counted, meta=documents[:0])
    fitted.score(lazy)
    assert sum(computed) == 600


def test_batches__add_up(corpus):
    whole = TopicModel(5, max_iter=0, random_state=0).prepare(corpus.X)
    whole.solve(whole.accumulate(corpus.X))
    batches = TopicModel(5, max_iter=0, random_state=0).prepare(corpus.X)
    for start in range(0, 6000, 2000):
        batches.partial_fit(corpus.X[start : start + 2000])
    assert batches.topics_ == pytest.approx(whole.topics_, rel=1e-8)


def test_pipeline_of_texts__works():
    texts = [
        "apple pear fruit fruit",
        "pear apple banana fruit",
        "goal match team",
        "team goal win",
    ]
    pipeline = make_pipeline(CountVectorizer(), TopicModel(2, random_state=0, max_iter=3))
    shares = pipeline.fit_transform(texts * 50)
    assert shares.shape == (200, 2)
    labels = shares[:4].argmax(axis=1)
    assert labels[0] == labels[1] != labels[2] == labels[3]


def test_saved_model__predicts_the_same(corpus, model, tmp_path):
    loaded = load(model.save(tmp_path / "m.zarr"))
    assert np.array_equal(loaded.transform(corpus.X), model.transform(corpus.X))
    assert loaded.top_words(3) == model.top_words(3)


def test_report__has_words_and_map(corpus, model):
    parts = model.description.report(model, None)
    assert [section.name for section in parts.sections] == ["topics", "map"]
    table = parts.sections[0].blocks[0]
    assert len(table.rows) == 5
    assert model.top_words(1)[0][0] in table.rows[0][2].text


def test_report__names_topics_by_distinctive_words(model):
    words, places = model.description.report(model, None).sections
    distinctive = [row[3].text.split(", ")[:2] for row in words.blocks[0].rows]
    # the likeliest words of topics are those of all documents
    assert distinctive != model.top_words(2)
    points = places.blocks[1].blocks[0]
    assert points.sample_names == tuple(f"{t} {' '.join(own)}" for t, own in enumerate(distinctive))


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_report__lists_typical_documents_by_their_names(corpus, model, tmp_path):
    data = corpus.copy()
    data.obs_names = [f"text {number}" for number in range(data.n_obs)]
    stored = tmp_path / "corpus.h5ad"
    data.write_h5ad(stored)
    shares = np.asarray(model.transform(data))
    for given in (data, str(stored)):
        rows = read_rows(model, given)
        (section,) = [
            one for one in model.description.report(model, rows).sections if one.name == "documents"
        ]
        table = section.blocks[1]
        assert len(table.rows) == 3 * 5
        for row in table.rows:
            place = int(row[1].text.removeprefix("text "))
            assert row[1].text == f"text {place}"
            assert shares[place].argmax() == int(row[0].text)
    with_numbers = read_rows(model, corpus)
    assert with_numbers.names is None
    assert with_numbers.row_name(1_000) == "1,000"


@pytest.mark.slow  # annotations by other models are quick
def test_annotated_object__has_shares_words_and_the_model(corpus):
    data = corpus.copy()
    used = list(data.var_names[:250])
    model = TopicModel(5, views={"words": used}, random_state=0).fit(data)
    annotate(data, model)
    assert data.obsm["X_bigtensor_topics"] == pytest.approx(np.asarray(model.transform(data)))
    words = data.varm["bigtensor_topics"]
    assert words[:250] == pytest.approx(model.topics_.T)
    assert not words[250:].any()
    assert data.var["bigtensor_used"].sum() == 250
    assert from_anndata(data).top_words(3) == model.top_words(3)
    with pytest.raises(OutputError, match="bigtensor_topics"):
        annotate(data, model)


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize("form", ["csr", "coo", "anndata"])
@pytest.mark.quick_cases("coo", "anndata")
def test_presence_of_words__counts_as_one(form):
    present = csr_array(np.random.default_rng(0).poisson(0.5, (200, 30)) > 0)
    data = {"csr": present, "coo": present.tocoo(), "anndata": anndata.AnnData(present)}[form]
    model = TopicModel(3, random_state=0).fit(data)
    expected = TopicModel(3, random_state=0).fit(present.astype(np.int64))
    np.testing.assert_array_equal(model.transform(data), expected.transform(present.astype(int)))


def test_names__decide_the_order_of_words_that_nothing_else_tells_apart():
    # titles of different words: documents of one length, in which every word occurs once
    rng = np.random.default_rng(0)
    topics = np.repeat(np.eye(3), 40, axis=1)
    titles = [rng.choice(120, 8, replace=False, p=topics[k % 3] / 40) for k in range(600)]
    words = [f"word {number}" for number in rng.permutation(120)]
    table = pd.DataFrame(np.array([np.bincount(title, minlength=120) for title in titles]))
    table.columns = words
    model = TopicModel(3, max_iter=3, random_state=0).fit(table)
    other = TopicModel(3, max_iter=3, random_state=0).fit(table[sorted(words)])
    order = np.argsort(words)
    np.testing.assert_array_equal(model.topics_[:, order], other.topics_)
