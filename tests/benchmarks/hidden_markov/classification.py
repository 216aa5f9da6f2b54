"""Accuracy of classes of splice junctions by cross-validation, beside other classifiers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from bigtensor import DiscreteMixture, HiddenMarkovModel, TripleHistogramClassifier
from bigtensor.errors import BigtensorWarning
from tests.benchmarks.discrete.real_sets import LETTERS, splice
from tests.benchmarks.tables import Report, Row

Codes = NDArray[np.int32]

SHARED = Path("../shared/data")
"""Real data beside the project."""

FOLDS = 5
SMOOTHING = 1.0
"""Pseudo-count of transition tables and of histograms."""

HMMLEARN_STARTS, HMMLEARN_ITERATIONS = 1, 20


@dataclass
class MarkovChains:
    """One Markov chain a class, whose next letter depends on the last ``order`` letters."""

    order: int

    def fit(self, X: Codes, y: NDArray[Any]) -> MarkovChains:
        """Count contexts and next letters of every class."""
        self.classes_, count = np.unique(y, return_counts=True)
        self.prior = np.log(count / count.sum())
        tables = []
        for c in self.classes_:
            table = np.full((LETTERS**self.order, LETTERS), SMOOTHING)
            np.add.at(table, _contexts(X[y == c], self.order), 1.0)
            tables.append(np.log(table / table.sum(axis=1, keepdims=True)))
        self.tables = tables
        return self

    def predict(self, X: Codes) -> NDArray[Any]:
        """Return the class under which the letters after the first are most probable."""
        cells = _contexts(X, self.order)
        scores = [table[cells].reshape(len(X), -1).sum(axis=1) for table in self.tables]
        return self.classes_[(np.column_stack(scores) + self.prior).argmax(axis=1)]


class RawHistograms:
    """Nearest mean histogram of triples, without a model of it."""

    def fit(self, X: Codes, y: NDArray[Any]) -> RawHistograms:
        """Average the histograms of every class."""
        histograms = _histograms(X)
        self.classes_ = np.unique(y)
        self.means = [histograms[y == c].mean(axis=0) for c in self.classes_]
        return self

    def predict(self, X: Codes) -> NDArray[Any]:
        """Return the class with the smallest L1 distance."""
        histograms = _histograms(X)
        distances = [np.abs(histograms - mean).sum(axis=1) for mean in self.means]
        return self.classes_[np.argmin(distances, axis=0)]


class HmmlearnClasses:
    """One hmmlearn model a class, the best of its starts, by the likelihood of sequences."""

    def __init__(self, states: int) -> None:
        self.states = states

    def fit(self, X: Codes, y: NDArray[Any]) -> HmmlearnClasses:
        """Fit every class."""
        self.classes_, count = np.unique(y, return_counts=True)
        self.prior = np.log(count / count.sum())
        self.models = [self._best(X[y == c]) for c in self.classes_]
        return self

    def predict(self, X: Codes) -> NDArray[Any]:
        """Return the class of the largest posterior probability."""
        scores = [[model.score(row[:, None]) for row in X] for model in self.models]
        return self.classes_[(np.array(scores).T + self.prior).argmax(axis=1)]

    def _best(self, X: Codes) -> Any:
        """Return the start that ends with the largest likelihood."""
        from hmmlearn.hmm import CategoricalHMM

        flat, lengths = X.reshape(-1, 1), [X.shape[1]] * len(X)
        made = [
            CategoricalHMM(
                self.states, n_features=LETTERS, n_iter=HMMLEARN_ITERATIONS, random_state=seed
            ).fit(flat, lengths)
            for seed in range(HMMLEARN_STARTS)
        ]
        return max(made, key=lambda model: model.score(flat, lengths))


def add_classification(report: Report, folds: int = FOLDS, folder: Path = SHARED) -> None:
    """Print the accuracy of every classifier, or nothing where the data are absent.

    Parameters
    ----------
    report : Report
    folds : int
    folder : Path
        Of ``splice.npz``.
    """
    if not (folder / "splice.npz").exists():
        print(f"\nno classification: {folder / 'splice.npz'} is not here")
        return
    data = splice(folder)
    report.add(
        f"Accuracy on {len(data.codes):,} splice junctions, {folds}-fold cross-validation",
        [_row(name, make, data.codes, data.classes, folds) for name, make in _classifiers()],
        [
            "error: standard error over the folds, which share training sequences",
            "'by position' reads a letter at its place, which no model of triples knows",
        ],
    )


def _classifiers() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield names and makers of all classifiers."""
    for states in (2, 3, 4):
        hidden = partial(HiddenMarkovModel, states, random_state=0)
        for rule in ("histogram", "triple_likelihood", "sequence_likelihood"):
            yield (
                f"HiddenMarkovModel({states}), {rule}",
                partial(_ours, hidden, rule),
            )
    mixture = partial(DiscreteMixture, 3, random_state=0)
    for rule in ("histogram", "triple_likelihood"):
        yield f"DiscreteMixture(3), {rule}", partial(_ours, mixture, rule)
    yield "raw triples, histogram", RawHistograms
    yield "Markov chain of order 1", partial(MarkovChains, 1)
    yield "Markov chain of order 2", partial(MarkovChains, 2)
    try:
        import hmmlearn  # noqa: F401
    except ImportError:
        pass
    else:
        yield "hmmlearn(3), sequence likelihood", partial(HmmlearnClasses, 3)
    yield "naive Bayes by position", partial(CategoricalNB, min_categories=LETTERS)
    one_hot = partial(OneHotEncoder, categories="auto", handle_unknown="ignore")
    yield (
        "logistic regression by position",
        lambda: make_pipeline(one_hot(), LogisticRegression(max_iter=1000)),
    )


def _ours(make: Callable[[], Any], rule: str) -> TripleHistogramClassifier:
    """Return a classifier of this library."""
    return TripleHistogramClassifier(make(), rule=rule)


def _row(
    name: str, make: Callable[[], Any], codes: Codes, classes: NDArray[Any], folds: int
) -> Row:
    """Return the mean accuracy over the folds, its standard error, and the processor time."""
    accuracy, begun = [], time.process_time()
    splits = StratifiedKFold(folds, shuffle=True, random_state=0)
    for learning, judging in splits.split(codes, classes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BigtensorWarning)
            model = make().fit(codes[learning], classes[learning])
        accuracy.append(np.mean(model.predict(codes[judging]) == classes[judging]))
    seconds = time.process_time() - begun
    error = float(np.std(accuracy, ddof=1) / np.sqrt(folds))
    majority = float(np.bincount(classes).max() / len(classes))
    return {
        "classifier": name,
        "accuracy": float(np.mean(accuracy)),
        "error": error,
        "majority class": majority,
        "seconds": seconds,
    }


def _contexts(X: Codes, order: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the context and the letter that follows, of all steps of all sequences."""
    steps = X.shape[1] - order
    context = np.zeros((len(X), steps), np.int64)
    for lag in range(order):
        context = context * LETTERS + X[:, lag : lag + steps]
    return context.ravel(), X[:, order:].astype(np.int64).ravel()


def _histograms(X: Codes) -> NDArray[np.float64]:
    """Return the relative frequencies of the triples of every sequence."""
    cells = (X[:, :-2] * LETTERS + X[:, 1:-1]) * LETTERS + X[:, 2:]
    table = np.zeros((len(X), LETTERS**3))
    np.add.at(table, (np.arange(len(X))[:, None], cells), 1.0)
    return table / cells.shape[1]
