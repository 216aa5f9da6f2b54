"""Classifier of sequences of categories, with one latent variable model a class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.errors import DataError, ParameterError, Setting
from bigtensor.models.contract.containers import labelled_answer
from bigtensor.models.contract.parameters import check_choice
from bigtensor.models.discrete_mixture.estimator import DiscreteMixture
from bigtensor.models.hidden_markov.estimator import HiddenMarkovModel
from bigtensor.models.triple_histogram_classifier.class_models import (
    ClassModel,
    fitted_class_model,
    sequence_log_likelihoods,
    triple_probabilities,
)
from bigtensor.models.triple_histogram_classifier.sequences import (
    Sequences,
    TripleHistograms,
    sequences_of,
)
from bigtensor.pickled_version import PickledVersion

RULES = ("histogram", "triple_likelihood", "sequence_likelihood")


def _has_posterior(classifier: TripleHistogramClassifier) -> bool:
    """Return True if the rule gives posterior probabilities of the classes."""
    if classifier.rule != "sequence_likelihood":
        raise AttributeError(
            "probabilities of classes follow from the likelihood of whole sequences alone, because "
            "windows that overlap are not independent; use "
            + Setting("rule", "sequence_likelihood")
        )
    return True


class TripleHistogramClassifier(PickledVersion, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of sequences of categories by their triples, with one model a class.

    A hidden Markov model, or a discrete mixture of windows of three, is fitted to the sequences of
    every class. By default a sequence belongs to the class whose probabilities of triples are
    nearest to its histogram of triples in total variation (Shaban, Farajtabar, Xie, Song and
    Boots, UAI 2015). Data are held in memory.

    Parameters
    ----------
    estimator : HiddenMarkovModel or DiscreteMixture, optional
        Model that is copied and fitted for every class. None stands for
        ``HiddenMarkovModel(2, missing="marginalise", random_state=0)``.
    rule : {"histogram", "triple_likelihood", "sequence_likelihood"}, default "histogram"
        ``"histogram"`` takes the class with the smallest L1 distance between the relative
        frequencies of the triples of a sequence and their probabilities. ``"triple_likelihood"``
        takes the largest sum of log-probabilities of triples plus log-prior: a composite
        likelihood, which counts a step in three windows. ``"sequence_likelihood"`` takes the
        largest posterior probability given the whole sequence, and needs a hidden Markov model,
        of which it is the most accurate rule on splice junctions. The default is the published one.
    class_prior : (classes,) array-like or mapping of class to float, optional
        Prior probabilities of the classes in the order of ``classes_`` or by class, by default
        their shares of the sequences. The histogram rule does not use them.

    Attributes
    ----------
    classes_ : (classes,) array
        Labels of the classes, ascending.
    class_prior_ : (classes,) float64 array
        Probabilities of the classes.
    estimators_ : list of HiddenMarkovModel or DiscreteMixture
        Fitted models, in the order of ``classes_``.
    categories_ : (categories,) array
        Categories that the sequences of the fit hold, ascending.

    References
    ----------
    - A. Shaban, M. Farajtabar, B. Xie, L. Song and B. Boots. Learning latent variable models by
      improving spectral solutions with exterior point methods. UAI 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from bigtensor import TripleHistogramClassifier, simulate
    >>> made = [simulate.hidden_markov(18_000, 2, 5, 300, stay=0.5, random_state=s) for s in (3, 4)]
    >>> X = np.concatenate([steps["X"].to_numpy().reshape(300, 60) for steps in made])
    >>> classifier = TripleHistogramClassifier().fit(X, np.repeat([0, 1], 300))
    >>> classifier.predict(X[[0, -1]]).shape
    (2,)
    """

    classes_: NDArray[Any]
    class_prior_: NDArray[np.float64]
    estimators_: list[ClassModel]
    categories_: NDArray[Any]

    def __init__(
        self,
        estimator: ClassModel | None = None,
        *,
        rule: str = "histogram",
        class_prior: npt.ArrayLike | Mapping[Any, float] | None = None,
    ) -> None:
        self.estimator = estimator
        self.rule = rule
        self.class_prior = class_prior

    def fit(
        self, X: DataLike, y: npt.ArrayLike | None, sample_weight: RowVariableLike | None = None
    ) -> Self:
        """Fit one model to the sequences of every class.

        Parameters
        ----------
        X : (sequences, steps) array-like, or list of (steps,) array-likes or str
            Whole numbers or strings, one category a step. Negative numbers, NaN, None and empty
            strings are missing: windows with them do not count, and a hidden Markov model treats
            them as its parameter ``missing`` says.
        y : (sequences,) array-like
            Class of every sequence.
        sample_weight : (sequences,) array-like, optional
            Weights of the sequences, not negative. Their meaning is the parameter `weights` of the
            estimator: by default a weight of 2 is a sequence that occurs twice.

        Returns
        -------
        self
            This model.

        Raises
        ------
        ParameterError, DataError
            See `bigtensor.errors`. Every message names a remedy.
        """
        estimator = self._checked_estimator()
        sequences = sequences_of(X)
        labels = _checked_labels(y, len(sequences))
        weight = _checked_weight(sample_weight, len(sequences))
        self.classes_, position = _classes_of(labels)
        if len(self.classes_) < 2:
            raise DataError("the labels name one class; give sequences of at least two classes")
        self.class_prior_ = self._prior(position, weight)
        self.categories_ = sequences.categories()
        if not len(self.categories_):
            raise DataError("every category of the sequences is missing; give known categories")
        encoded = sequences.encoded(self.categories_)
        self.estimators_ = [
            fitted_class_model(
                estimator,
                encoded.chosen(position == c),
                self._names,
                None if weight is None else weight[position == c],
            )
            for c in range(len(self.classes_))
        ]
        return self

    def predict(self, X: DataLike) -> NDArray[Any] | xr.DataArray:
        """Return the class of every sequence.

        Parameters
        ----------
        X : (sequences, steps) array-like, or list of (steps,) array-likes or str
            As for `fit`, of any lengths. Categories that the fit did not have count as missing, and
            a warning names them.

        Returns
        -------
        (sequences,) array or DataArray
            Labels of `fit`, with the coordinates along the sequences if X is a DataArray.
        """
        scores = self._scores(X)
        return _labelled(X, np.asarray(self.classes_[scores.argmax(axis=1)]), "label", {})

    def decision_function(self, X: DataLike) -> NDArray[Any] | xr.DataArray:
        """Return the scores that classes are chosen by: negative distances, or log-probabilities.

        Parameters
        ----------
        X : (sequences, steps) array-like, or list of (steps,) array-likes or str
            As for `predict`.

        Returns
        -------
        (sequences, classes) float64 array or DataArray
            The largest score wins. Of two classes, the score of the second minus the score of the
            first: ``(sequences,)``.
        """
        scores = self._scores(X)
        if scores.shape[1] == 2:
            return _labelled(X, scores[:, 1] - scores[:, 0], "score", {})
        return _labelled(X, scores, "score", {"class": self.classes_})

    @available_if(_has_posterior)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: DataLike) -> NDArray[Any] | xr.DataArray:
        """Return the posterior probability of every class, given the whole sequence.

        Only with ``rule="sequence_likelihood"``. Probabilities are exact under the fitted models:
        where these do not hold, they are too certain.

        Parameters
        ----------
        X : (sequences, steps) array-like, or list of (steps,) array-likes or str
            As for `predict`.

        Returns
        -------
        (sequences, classes) float64 array or DataArray
            Probabilities of the classes.
        """
        probability = np.asarray(softmax(self._scores(X), axis=1))
        return _labelled(X, probability, "probability", {"class": self.classes_})

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of scikit-learn: categories, names and missing steps are taken."""
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    @property
    def _names(self) -> tuple[str, ...]:
        """Names of the codes."""
        return tuple(map(str, self.categories_.tolist()))

    def _checked_estimator(self) -> ClassModel:
        """Return the model of a class before its fit, after checking the parameters."""
        check_choice("rule", self.rule, RULES)
        estimator = self.estimator
        if estimator is None:
            estimator = HiddenMarkovModel(2, missing="marginalise", random_state=0)
        if not isinstance(estimator, HiddenMarkovModel | DiscreteMixture):
            raise ParameterError(
                Setting("estimator")
                + f" is a {type(estimator).__name__}; expected a HiddenMarkovModel or a "
                "DiscreteMixture"
            )
        if isinstance(estimator, HiddenMarkovModel) and estimator.emissions != "categorical":
            raise ParameterError(
                Setting("emissions", estimator.emissions)
                + " is for measured values, and the classifier reads categories; give a "
                "HiddenMarkovModel with "
                + Setting("emissions", "categorical")
                + " as "
                + Setting("estimator")
            )
        if self.rule == "sequence_likelihood" and isinstance(estimator, DiscreteMixture):
            raise ParameterError(
                "a DiscreteMixture of triples has no likelihood of whole sequences; use "
                + Setting("rule", "triple_likelihood")
                + ", or a HiddenMarkovModel as "
                + Setting("estimator")
            )
        return estimator

    def _prior(
        self, position: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return the prior probabilities of the classes."""
        count = len(self.classes_)
        share = np.bincount(position, weight, count).astype(np.float64)
        if not (share > 0).all():
            raise DataError(
                f"class {self.classes_[np.argmin(share)]} has no sequence of a positive weight; "
                "leave its sequences out"
            )
        if self.class_prior is None:
            return np.asarray(share / share.sum())
        classes = self.classes_.tolist()
        prior: Any = self.class_prior
        # a Series of pandas is a mapping too, but not by its type
        if hasattr(prior, "keys"):
            prior = [prior[name] for name in classes] if {*prior.keys()} == {*classes} else ()
        try:
            numbers = np.asarray(prior, np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (count,) or not (numbers > 0).all() or abs(numbers.sum() - 1) > 1e-6:
            raise ParameterError(
                Setting("class_prior")
                + f" is {self.class_prior!r}; expected {count} positive numbers that add up to one,"
                f" in the order of the classes or by class: {classes}"
            )
        return numbers

    def _scores(self, X: DataLike) -> NDArray[np.float64]:
        """Return the score of every sequence and class, by the rule."""
        check_is_fitted(self)
        check_choice("rule", self.rule, RULES)
        sequences = sequences_of(X)
        encoded = sequences.encoded(self.categories_)
        sequences.warn_of_unknown(self.categories_)
        if self.rule == "sequence_likelihood":
            return self._sequence_scores(encoded)
        histograms = TripleHistograms.of_sequences(encoded, len(self.categories_))
        if not (histograms.total > 0).all():
            first = int(np.argmin(histograms.total))
            raise DataError(
                f"sequence {first} has no three consecutive known categories, which its histogram "
                "of triples needs; leave it out, or use " + Setting("rule", "sequence_likelihood")
            )
        of_window = [
            triple_probabilities(model, histograms.codes, self._names)[histograms.window]
            for model in self.estimators_
        ]
        if self.rule == "histogram":
            return np.column_stack([-l1_distances(histograms, each) for each in of_window])
        likelihoods = [histograms.summed(histograms.count * np.log(each)) for each in of_window]
        return np.column_stack(likelihoods) + np.log(self.class_prior_)

    def _sequence_scores(self, encoded: Sequences) -> NDArray[np.float64]:
        """Return the log-likelihood of every sequence under every class, plus the log-prior."""
        likelihoods = []
        for model in self.estimators_:
            if not isinstance(model, HiddenMarkovModel):
                raise ParameterError(
                    "the fitted models are discrete mixtures of triples; fit again with a "
                    "HiddenMarkovModel as " + Setting("estimator")
                )
            likelihoods.append(sequence_log_likelihoods(model, encoded, self._names))
        return np.column_stack(likelihoods) + np.log(self.class_prior_)


def l1_distances(
    histograms: TripleHistograms, probability: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the L1 distance of every histogram from one distribution of triples.

    Cells that a sequence does not have add up to one less the probability of the cells that it has,
    so that only these are computed.

    Parameters
    ----------
    histograms : TripleHistograms
        Histograms of the sequences.
    probability : (entries,) float64 array
        Of the window of every entry.

    Returns
    -------
    (sequences,) float64 array
        Between 0 and 2.
    """
    frequency = histograms.count / histograms.total[histograms.sequence]
    return 1 + histograms.summed(np.abs(frequency - probability) - probability)


def _labelled(
    X: DataLike, answer: NDArray[Any], name: str, coords: dict[str, NDArray[Any]]
) -> NDArray[Any] | xr.DataArray:
    """Return an answer for every sequence, labelled along them if the sequences are."""
    if not isinstance(X, xr.DataArray):
        return answer
    return labelled_answer(X, answer, (X.dims[0], *coords), name, {}).assign_coords(coords)


def _checked_labels(y: npt.ArrayLike | None, count: int) -> NDArray[Any]:
    """Return the labels of sequences, or raise a DataError."""
    if y is None:
        raise DataError(
            "TripleHistogramClassifier requires y to be passed, but the target y is None; give one "
            "label a sequence"
        )
    labels = np.asarray(y)
    if labels.shape == (count, 1):
        labels = column_or_1d(labels, warn=True)
    if labels.shape != (count,):
        raise DataError(
            f"{count} sequences and labels of shape {labels.shape} were given; give one label a "
            "sequence"
        )
    if pd.isna(labels).any():
        raise DataError("some sequences have no label; give every sequence one, or leave it out")
    if labels.dtype.kind == "f" and not (labels == np.rint(labels)).all():
        raise DataError(
            "Unknown label type: the labels are continuous numbers; give one class a sequence"
        )
    return labels


def _classes_of(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes, ascending, and the position of the class of every label.

    Raises
    ------
    DataError
        When labels of several types have no order.
    """
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        types = sorted({type(label).__name__ for label in labels.tolist()})
        raise DataError(
            f"the labels are of the types {', '.join(types)}, which cannot be sorted together; "
            "give labels of one type, for example all as strings"
        ) from error


def _checked_weight(
    sample_weight: RowVariableLike | None, count: int
) -> NDArray[np.float64] | None:
    """Return the weights of sequences, or raise a DataError."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, np.float64)
    if weight.shape != (count,) or not (weight >= 0).all() or not np.isfinite(weight).all():
        raise DataError(
            f"weights of shape {weight.shape} were given for {count} sequences; give one finite "
            "number a sequence, none of them negative"
        )
    if not weight.any():
        raise DataError("every sample weight is zero; give some sequences a positive weight")
    return weight
