"""Models of codes and counts whose results are stored, on small simulated data."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from bigtensor import (
    DiscreteMixture,
    HiddenMarkovModel,
    TopicModel,
    TripleHistogramClassifier,
    simulate,
)
from bigtensor.models.discrete_mixture.declared_parameters import METHODS
from tests.models.expected.expected_fit import JUDGED_ROWS, ExpectedFit, numbers_of


@cache
def rows_of_codes() -> np.ndarray:
    """Rows of four categorical columns and three components."""
    drawn = simulate.discrete_mixture(2000, 3, 5, 4, concentration=0.4, random_state=3)
    return drawn["X"].to_numpy()


@cache
def chain() -> tuple[np.ndarray, np.ndarray]:
    """Codes of a hidden Markov chain in ten sequences, and measured values of its states."""
    drawn = simulate.hidden_markov(
        1500, 2, 5, sequences=10, concentration=0.4, stay=0.7, random_state=2
    )
    noise = np.random.default_rng(0).normal(size=(1500, 2))
    values = drawn["label"].to_numpy()[:, None] * [3.0, -2.0] + noise
    return drawn["X"].to_numpy(), values


def discrete_mixture(n_components: int | str = 3, **parameters: Any) -> dict[str, Any]:
    codes = rows_of_codes()
    model = DiscreteMixture(n_components, n_starts=2, random_state=0, **parameters)
    return numbers_of(model.fit(codes), codes[:JUDGED_ROWS])


def weighted_discrete_mixture() -> dict[str, Any]:
    codes = rows_of_codes()
    weight = np.random.default_rng(1).integers(0, 4, len(codes))
    model = DiscreteMixture(3, n_starts=2, random_state=0).fit(codes, sample_weight=weight)
    return numbers_of(model, codes[:JUDGED_ROWS])


def hidden_markov(emissions: str = "categorical", n_components: Any = 2, **parameters: Any) -> Any:
    rows = chain()[0 if emissions == "categorical" else 1]
    model = HiddenMarkovModel(n_components, emissions=emissions, random_state=0, **parameters)
    return numbers_of(model.fit(rows, lengths=[150] * 10), rows[:JUDGED_ROWS])


def classifier(rule: str) -> dict[str, Any]:
    """Fit two classes of sequences, and answer for their decisions."""
    drawn = [
        simulate.hidden_markov(1200, 2, 4, 40, stay=0.8, random_state=seed)["X"] for seed in (3, 5)
    ]
    sequences = np.concatenate([codes.to_numpy().reshape(40, 30) for codes in drawn])
    model = TripleHistogramClassifier(rule=rule).fit(sequences, np.repeat([0, 1], 40))
    parameters = [numbers_of(estimator) for estimator in model.estimators_]
    numbers = {
        f"{name} of class {label}": values
        for label, arrays in enumerate(parameters)
        for name, values in arrays.items()
    }
    numbers["decision_function"] = model.decision_function(sequences[::4]).tolist()
    return numbers | {"predict": model.predict(sequences[::4]).tolist()}


def topic_model(n_components: int | str = 3, **parameters: Any) -> dict[str, Any]:
    counts = simulate.topics(1500, 3, 40, 100, concentration=0.3, random_state=2).X
    model = TopicModel(n_components, random_state=0, **parameters).fit(counts)
    return numbers_of(model, counts[:JUDGED_ROWS])


def expected(function: Callable[..., dict[str, Any]], *args: Any, **options: Any) -> ExpectedFit:
    return ExpectedFit(partial(function, *args, **options))


FAMILIES = {
    "discrete_mixture": {
        **{method: expected(discrete_mixture, method=method) for method in METHODS},
        "counted components": expected(discrete_mixture, "auto"),
        "weights": expected(weighted_discrete_mixture),
    },
    "hidden_markov": {
        "triples": expected(hidden_markov, refine="triples"),
        "sequences": expected(hidden_markov, refine="sequences", max_iter=5),
        "counted states": expected(hidden_markov, n_components="auto", max_iter=5),
        "kernel emissions": expected(hidden_markov, "kernel", max_iter=5),
    },
    "triple_histogram_classifier": {
        "histogram": expected(classifier, "histogram"),
        "triple likelihood": expected(classifier, "triple_likelihood"),
        "sequence likelihood": expected(classifier, "sequence_likelihood"),
    },
    "topic_model": {
        "polished": expected(topic_model, max_iter=2),
        "spectral": expected(topic_model, max_iter=0),
        "counted topics": expected(topic_model, "auto", max_iter=1),
    },
}
"""Fits by family and name."""
