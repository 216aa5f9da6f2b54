"""Classes of sequences against formulas over the whole table of triples, and known chains."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from bigtensor import DiscreteMixture, HiddenMarkovModel, TripleHistogramClassifier, simulate
from bigtensor.errors import DataError, MissingValueError, ParameterError
from bigtensor.models.triple_histogram_classifier.estimator import RULES
from tests.models.hidden_markov.test_hidden_markov_model import chain_of
from tests.statistics.sequences.recursions import forward_backward

SHARED = Path("../shared/data")
STEPS, SEQUENCES = 60, 300

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def chains() -> Split:
    """Sequences of two chains: half to learn from, and half to judge by."""
    made = [
        simulate.hidden_markov(STEPS * SEQUENCES, 2, 5, SEQUENCES, stay=0.8, random_state=seed)
        for seed in (3, 4)
    ]
    codes = np.concatenate([data["X"].to_numpy().reshape(SEQUENCES, STEPS) for data in made])
    labels = np.repeat(["a", "b"], SEQUENCES)
    learning = np.arange(2 * SEQUENCES) % 2 == 0
    return codes[learning], labels[learning], codes[~learning], labels[~learning]


def quick(**options) -> HiddenMarkovModel:
    """Return the model of every class, with few iterations."""
    return HiddenMarkovModel(2, max_iter=5, random_state=0, **options)


def fitted(chains: Split, rule: str = "histogram", **options) -> TripleHistogramClassifier:
    options = {"estimator": quick(missing="marginalise"), **options}
    return TripleHistogramClassifier(rule=rule, **options).fit(chains[0], chains[1])


def histograms(codes: np.ndarray, n: int) -> np.ndarray:
    tables = np.zeros((len(codes), n, n, n))
    for table, row in zip(tables, codes, strict=True):
        np.add.at(table, (row[:-2], row[1:-1], row[2:]), 1 / (len(row) - 2))
    return tables


def table_of(model: HiddenMarkovModel) -> np.ndarray:
    """Probabilities of all triples, state by state."""
    transition, emission = model.transition_.to_numpy(), model.emission_.to_numpy()
    paths = np.einsum("i,ij,jk->ijk", model.window_start_, transition, transition)
    return np.einsum("ijk,ia,jb,kc->abc", paths, emission, emission, emission)


def test_labelled_sequences__give_labelled_answers(chains: Split) -> None:
    model = fitted(chains, "sequence_likelihood")
    names = [f"trial{i}" for i in range(SEQUENCES)]
    trials = xr.DataArray(chains[2], {"trial": names}, ("trial", "step"))
    for method, coords in (
        ("predict", ["trial"]),
        ("decision_function", ["trial"]),
        ("predict_proba", ["trial", "class"]),
    ):
        answer = getattr(model, method)(trials)
        assert list(answer.dims) == list(answer.coords) == coords
        assert answer.indexes["trial"].tolist() == names
        np.testing.assert_array_equal(answer, getattr(model, method)(chains[2]))
    assert model.score(trials, chains[3]) == model.score(chains[2], chains[3])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", [HiddenMarkovModel, DiscreteMixture])
@pytest.mark.quick_cases("DiscreteMixture-False", "DiscreteMixture-True")
def test_names_of_categories__in_another_order_change_nothing(
    model: type[HiddenMarkovModel | DiscreteMixture], *, weighted: bool
) -> None:
    made = [simulate.hidden_markov(1200, 2, 4, 40, stay=0.5, random_state=seed) for seed in (5, 6)]
    codes = np.concatenate([data["X"].to_numpy().reshape(40, 30) for data in made])
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 80) if weighted else None
    classifier = TripleHistogramClassifier(model(2, random_state=0))
    scores = []
    for names in ("abcd", "dcba", "bdac"):
        named = np.array([*names])[codes]
        fit = classifier.fit(named, np.repeat([0, 1], 40), weight)
        scores.append(np.asarray(fit.decision_function(named)))
    np.testing.assert_allclose(scores[1:], [scores[0]] * 2, atol=1e-8)


def test_histogram_rule__is_the_distance_over_the_whole_table(chains: Split) -> None:
    model = fitted(chains)
    tables = [table_of(one) for one in model.estimators_]
    given = histograms(chains[2], 5)
    distances = np.array([np.abs(given - table).sum(axis=(1, 2, 3)) for table in tables])
    np.testing.assert_allclose(model.decision_function(chains[2]), distances[0] - distances[1])
    np.testing.assert_array_equal(model.predict(chains[2]), model.classes_[distances.argmin(0)])


def test_likelihood_rules__are_sums_over_windows_and_over_paths(chains: Split) -> None:
    prior = [0.8, 0.2]
    model = fitted(chains, "triple_likelihood", class_prior=prior)
    given = histograms(chains[2], 5) * (STEPS - 2)
    scores = [
        (given * np.log(table_of(one))).sum(axis=(1, 2, 3)) + np.log(p)
        for one, p in zip(model.estimators_, prior, strict=True)
    ]
    np.testing.assert_allclose(model.decision_function(chains[2]), scores[1] - scores[0])
    whole = model.set_params(rule="sequence_likelihood")
    paths = [
        [forward_backward(chain_of(one), row)[2].sum() + np.log(p) for row in chains[2][:20]]
        for one, p in zip(model.estimators_, prior, strict=True)
    ]
    expected = 1 / (1 + np.exp(np.array(paths[0]) - paths[1]))
    np.testing.assert_allclose(whole.predict_proba(chains[2][:20])[:, 1], expected, rtol=1e-7)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.quick_cases("sequence_likelihood")
def test_classes_of_known_chains__are_found(chains: Split, rule: str) -> None:
    model = fitted(chains, rule)
    assert model.score(chains[2], chains[3]) > 0.85
    np.testing.assert_allclose(model.class_prior_, 0.5)


@pytest.mark.slow
def test_whole_sequences__tell_more_than_histograms(chains: Split) -> None:
    scores = [fitted(chains, rule).score(chains[2], chains[3]) for rule in RULES]
    assert scores[2] >= scores[1] >= scores[0]


def test_discrete_mixtures__classify_triples(chains: Split) -> None:
    mixture = DiscreteMixture(2, random_state=0)
    model = fitted(chains, estimator=mixture)
    assert model.score(chains[2], chains[3]) > 0.85
    tables = np.stack([np.zeros((5, 5, 5))] * 2)
    for table, one in zip(tables, model.estimators_, strict=True):
        views = [one.component_probabilities_[v].to_numpy().T for v in ("first", "second", "third")]
        table += np.einsum("h,ha,hb,hc->abc", one.weights_, *views)
    distances = [np.abs(histograms(chains[2], 5) - t).sum(axis=(1, 2, 3)) for t in tables]
    np.testing.assert_allclose(model.decision_function(chains[2]), distances[0] - distances[1])


@pytest.mark.slow  # labelled sequences are quick
def test_sequences_of_any_kind__are_the_same(chains: Split) -> None:
    letters = np.array(list("abcde"))
    words = ["".join(letters[row]) for row in chains[0]]
    estimator = quick(missing="marginalise")
    of_words = TripleHistogramClassifier(estimator).fit(words, chains[1])
    lists = [row.tolist() for row in chains[0]]
    of_lists = TripleHistogramClassifier(estimator).fit(lists, chains[1])
    expected = fitted(chains).decision_function(chains[2])
    given = [[*letters[row]] for row in chains[2]]
    np.testing.assert_array_equal(of_words.decision_function(given), expected)
    np.testing.assert_array_equal(of_lists.decision_function(chains[2]), expected)
    assert of_words.categories_.tolist() == list("abcde")


def test_ragged_sequences__do_not_reach_into_each_other(chains: Split) -> None:
    model = fitted(chains)
    alone = [model.decision_function([row])[0] for row in (chains[2][0][:7], chains[2][1][:31])]
    both = model.decision_function([chains[2][0][:7], chains[2][1][:31]])
    np.testing.assert_allclose(both, alone)


@pytest.mark.slow  # laws of weights are quick
def test_weights__count_sequences_more_than_once(chains: Split) -> None:
    weight = np.random.default_rng(0).integers(0, 3, len(chains[0]))
    repeated = np.repeat(np.arange(len(weight)), weight)
    estimator = HiddenMarkovModel(2, refine="triples", random_state=0)
    weighted = TripleHistogramClassifier(estimator).fit(chains[0], chains[1], weight)
    expected = TripleHistogramClassifier(estimator).fit(chains[0][repeated], chains[1][repeated])
    found = weighted.decision_function(chains[2])
    np.testing.assert_allclose(found, expected.decision_function(chains[2]), atol=1e-9)
    np.testing.assert_allclose(weighted.class_prior_, expected.class_prior_)


@pytest.mark.filterwarnings("ignore:the sequences have categories")
@pytest.mark.slow  # laws of the hidden Markov model are quick
def test_missing_and_unknown_categories__leave_out_their_windows(chains: Split) -> None:
    model = fitted(chains)
    row = chains[2][0].astype(int)
    holes = row.copy()
    holes[10], holes[40] = -1, 99
    pieces = [row[:10], row[11:40], row[41:]]
    counts = sum(histograms([piece], 5)[0] * (len(piece) - 2) for piece in pieces)
    distances = [np.abs(counts / counts.sum() - table_of(m)).sum() for m in model.estimators_]
    assert model.decision_function([holes])[0] == pytest.approx(distances[0] - distances[1])
    # by default the likelihood sums over them
    whole = model.set_params(rule="sequence_likelihood").decision_function([holes])
    assert np.isfinite(whole).all()
    strict = quick()
    with pytest.raises(MissingValueError, match="missing entry"):
        fitted(chains, "sequence_likelihood", estimator=strict).predict([holes])
    cut = quick(missing="omit")
    with pytest.warns(UserWarning, match="left out"):
        found = fitted(chains, "sequence_likelihood", estimator=cut).decision_function([holes])
    chains_of = [chain_of(one) for one in model.estimators_]
    parts = [[forward_backward(c, piece)[2].sum() for piece in pieces] for c in chains_of]
    assert found[0] == pytest.approx(sum(parts[1]) - sum(parts[0]), rel=0.05)


@pytest.mark.slow
def test_contract__is_that_of_scikit_learn(chains: Split) -> None:
    model = TripleHistogramClassifier(HiddenMarkovModel(3), rule="triple_likelihood")
    copied = clone(model)
    assert copied.estimator is not model.estimator
    assert copied.get_params()["estimator__n_components"] == 3
    folds = cross_val_score(TripleHistogramClassifier(), list(chains[0]), chains[1], cv=3)
    assert folds.mean() > 0.8
    assert not hasattr(model, "predict_proba")
    whole = fitted(chains, "histogram")
    unpickled = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(
        unpickled.decision_function(chains[0][:20]), whole.decision_function(chains[0][:20])
    )
    three = [*chains[0][:100], *(chains[0][:50, ::-1])]
    labels = [*chains[1][:50], *chains[1][-50:], *["c"] * 50]
    assert TripleHistogramClassifier().fit(three, labels).decision_function(three).shape == (150, 3)


@pytest.mark.parametrize(
    ("options", "X", "y", "error", "words"),
    [
        ({"rule": "nearest"}, [[0, 1, 0]] * 2, [0, 1], ParameterError, "expected one of histogram"),
        ({"estimator": 3}, [[0, 1, 0]] * 2, [0, 1], ParameterError, "estimator is a int"),
        ({"class_prior": [1]}, [[0, 1, 0]] * 2, [0, 1], ParameterError, "2 positive numbers"),
        (
            {"estimator": DiscreteMixture(2), "rule": "sequence_likelihood"},
            [[0, 1, 0]] * 2,
            [0, 1],
            ParameterError,
            "no likelihood of whole sequences",
        ),
        ({}, [[0, 1, 0]] * 2, [0], DataError, "one label a sequence"),
        ({}, [[0, 1, 0]] * 2, [0, 0], DataError, "name one class"),
        ({}, [[0, 1, 0]] * 2, [0, None], DataError, "have no label"),
        ({}, [[0.5, 1, 0]] * 2, [0, 1], DataError, "not the code of a category"),
        ({}, [[-1, -1, -1]] * 2, [0, 1], DataError, "every category"),
        ({}, [], [], DataError, "no sequence"),
        ({}, ["aba", [0, 1, 0]], [0, 1], DataError, "strings and others numbers"),
        ({}, [[[0, 1]], [[1, 0]]], [0, 1], DataError, r"shape \(1, 2\)"),
    ],
)
def test_bad_input__is_told_with_a_remedy(options, X, y, error, words) -> None:
    with pytest.raises(error, match=words):
        TripleHistogramClassifier(**options).fit(X, y)


def test_bad_input_at_prediction__is_told_with_a_remedy(chains: Split) -> None:
    model = fitted(chains)
    with pytest.raises(DataError, match="sequence 1 has no three consecutive"):
        model.predict([[0, 1, 2], [0, 1]])
    with pytest.raises(DataError, match="fitted to integers"):
        model.predict(["abc"])
    with pytest.raises(DataError, match="3 sequences"):
        TripleHistogramClassifier().fit([[0, 1, 0]] * 3, [0, 1, 1], [1.0, 2.0])
    mixtures = fitted(chains, estimator=DiscreteMixture(2, random_state=0))
    with pytest.raises(ParameterError, match="are discrete mixtures"):
        mixtures.set_params(rule="sequence_likelihood").predict(chains[2])


@pytest.mark.skipif(not (SHARED / "splice.npz").exists(), reason="splice.npz is not here")
@pytest.mark.slow
def test_splice__stays_near_the_majority() -> None:
    stored = np.load(SHARED / "splice.npz")
    codes, labels = stored["X"].astype(int), stored["labels"]
    order = np.random.default_rng(0).permutation(len(codes))
    learning, judging = order[:2000], order[2000:]
    model = TripleHistogramClassifier().fit(codes[learning], labels[learning])
    accuracy = model.score(codes[judging], labels[judging])
    assert 0.48 < accuracy < 0.60


@pytest.mark.parametrize("class_prior", [None, (0.5, 0.5)])
def test_class_without_weight__is_named(class_prior):
    classifier = TripleHistogramClassifier(class_prior=class_prior)
    with pytest.raises(DataError, match="class b has no sequence"):
        classifier.fit(["xyxyy"] * 4, ["a", "a", "b", "b"], sample_weight=[1, 1, 0, 0])


def test_labels_of_several_types_and_data_sets__are_refused() -> None:
    steps = np.random.default_rng(0).integers(0, 3, (6, 10))
    with pytest.raises(DataError, match=r"of the types int, str.*one type"):
        TripleHistogramClassifier().fit(steps, np.array([0, "a", 0, "a", 0, "a"], object))
    data = xr.Dataset({"steps": (("trial", "step"), steps)})
    with pytest.raises(DataError, match=r"\['steps'\].*data\['X'\]"):
        TripleHistogramClassifier().fit(data, [0, 1] * 3)
