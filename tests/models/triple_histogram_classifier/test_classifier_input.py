"""Unknown categories are named, models of measured values are refused, priors go by class."""

import numpy as np
import pandas as pd
import pytest

from bigtensor import HiddenMarkovModel, TripleHistogramClassifier
from bigtensor.errors import MissingValueWarning, ParameterError
from bigtensor.models.triple_histogram_classifier.estimator import RULES

NAMES = np.array(["N1", "N2", "N3", "W"])


def sequences() -> tuple[list[list[str]], list[str]]:
    """Return sequences of one class that stays in categories, and of one that does not."""
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, 4, 60) for _ in range(30)]
    steps = [np.sort(codes) if at % 2 else codes for at, codes in enumerate(drawn)]
    return [NAMES[codes].tolist() for codes in steps], ["ill", "well"] * 15


def classifier(rule: str, **parameters: object) -> TripleHistogramClassifier:
    model = HiddenMarkovModel(1, missing="marginalise", refine="triples", random_state=0)
    return TripleHistogramClassifier(model, rule=rule, **parameters)


@pytest.mark.parametrize("rule", RULES)
def test_unknown_categories__are_named_by_a_warning(rule: str) -> None:
    X, y = sequences()
    fitted = classifier(rule).fit(X, y)
    spelt = [[name.replace("W", "Wake") for name in row] for row in X]
    with pytest.warns(MissingValueWarning, match="'Wake'") as caught:
        fitted.predict(spelt)
    assert len(caught) == 1
    assert "N1" not in str(caught[0].message)
    fitted.predict(X)


def test_unknown_categories__of_all_steps_are_named() -> None:
    X, y = sequences()
    fitted = classifier("sequence_likelihood").fit(X, y)
    with pytest.warns(MissingValueWarning, match="'n1', 'n2'"):
        probability = fitted.predict_proba([[name.lower() for name in X[0]]])
    np.testing.assert_allclose(probability, [[0.5, 0.5]])


@pytest.mark.parametrize("emissions", ["gaussian", "poisson", "kernel"])
@pytest.mark.parametrize("rule", RULES)
def test_models_of_measured_values__are_refused_by_fit(emissions: str, rule: str) -> None:
    model = HiddenMarkovModel(2, emissions=emissions)
    codes = [np.arange(60) % 4, np.arange(60) % 3]
    with pytest.raises(ParameterError, match="emissions='categorical'"):
        TripleHistogramClassifier(model, rule=rule).fit(codes, [0, 1])


def test_class_prior__may_be_by_class() -> None:
    X, y = sequences()
    fitted = classifier("sequence_likelihood", class_prior={"well": 0.7, "ill": 0.3}).fit(X, y)
    np.testing.assert_array_equal(fitted.class_prior_, [0.3, 0.7])
    shares = pd.Series({"well": 0.7, "ill": 0.3})
    fitted = classifier("sequence_likelihood", class_prior=shares).fit(X, y)
    np.testing.assert_array_equal(fitted.class_prior_, [0.3, 0.7])


@pytest.mark.parametrize(
    "prior",
    [
        *({"good": 0.6, "ill": 0.4}, pd.Series({"good": 0.6, "ill": 0.4})),
        *({"ill": 1.0}, "half", {"ill", "well"}),
    ],
)
def test_class_prior__of_other_classes_is_an_error_with_the_classes(prior: object) -> None:
    X, y = sequences()
    with pytest.raises(ParameterError, match=r"\['ill', 'well'\]"):
        classifier("sequence_likelihood", class_prior=prior).fit(X, y)
