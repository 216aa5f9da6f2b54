"""Runs of models that several laws compare."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from bigtensor.data.rows.data_like import DataLike
from bigtensor.errors import BigtensorWarning
from bigtensor.models.contract.estimator import Estimator
from bigtensor.testing.cases import ModelCase, fitted
from bigtensor.testing.comparison import law, require, require_close, require_same

_NAME_OR_NUMBER = re.compile(r"(?P<name>(?<!\w)'[^']*'|[^\W\d]\w*)|-?\d[\d,]*(\.\d+)?(e[-+]?\d+)?")
"""A name, in quotes or a word that begins with a letter, or else a number."""


def model_law(check: Callable[[ModelCase], None]) -> Callable[[ModelCase], None]:
    """Make a law of models: advice on a fit of few rows is not shown."""

    @wraps(check)
    def quiet(case: ModelCase) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BigtensorWarning)
            check(case)

    return law(quiet)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder for the stores of a law."""
    with tempfile.TemporaryDirectory(prefix="bigtensor-law-") as name:
        yield Path(name)


def contents(model: Estimator) -> dict[str, Any]:
    """Return all arrays that a saved model consists of."""
    return dict(model.to_contents().arrays)


def values_of(data: npt.ArrayLike | csr_array) -> dict[str, Any]:
    """Return the values of data in memory as named arrays."""
    if hasattr(data, "indptr"):
        return {name: getattr(data, name) for name in ("data", "indices", "indptr")}
    return {"values": np.asarray(data)}


def require_same_model(model: Estimator, reference: Estimator, case: ModelCase, what: str) -> None:
    """Raise an AssertionError unless two models are equal bit for bit, and so are their answers."""
    require_same(contents(model), contents(reference), what)
    require_same(
        case.answers_of(model, case.data),
        case.answers_of(reference, case.data),
        f"answers of {what}",
    )


def require_close_answers(
    actual: dict[str, Any], expected: dict[str, Any], case: ModelCase, what: str
) -> None:
    """Raise an AssertionError unless answers agree to the tolerance of their type."""
    for name, answer in expected.items():
        require_close({name: actual[name]}, {name: answer}, case.tolerance(answer), what)


def require_close_model(model: Estimator, reference: Estimator, case: ModelCase, what: str) -> None:
    """Raise an AssertionError unless fitted attributes and answers of two models agree."""
    require_close(fitted_arrays(model), fitted_arrays(reference), case.rtol, what)
    answers = case.answers_of(model, case.data)
    require_close_answers(
        answers, case.answers_of(reference, case.data), case, f"answers of {what}"
    )


def fitted_arrays(model: Estimator) -> dict[str, Any]:
    """Return the fitted attributes that are numbers or arrays of numbers."""
    values = {
        name: np.asarray(value)
        for name, value in vars(model).items()
        if name.endswith("_") and isinstance(value, np.ndarray | int | float | list | tuple)
    }
    return {name: array for name, array in values.items() if array.dtype.kind in "biuf"}


def reported_fit(
    model: Estimator, data: DataLike, **options: Any
) -> tuple[Estimator, dict[str, Any]]:
    """Return a model after a fit, and its warnings and verdict with ``#`` for numbers.

    Names of features keep their numbers. Numbers and places of rows differ between rows with
    weights and repeated rows.

    Returns
    -------
    model : Estimator
        The fitted model.
    report : dict
        ``warnings`` with their classes, ``good`` and ``sentences`` of the verdict.
    """
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", BigtensorWarning)
        fitted(model, data, **options)
    verdict = model.diagnostics_.get("verdict", {})
    shown = [warning for warning in raised if issubclass(warning.category, BigtensorWarning)]
    return model, {
        "warnings": sorted(
            item.category.__name__ + ": " + _numberless(item.message) for item in shown
        ),
        "good": verdict.get("good"),
        "sentences": [*map(_numberless, verdict.get("sentences", []))],
    }


def require_same_report(actual: dict[str, Any], expected: dict[str, Any], what: str) -> None:
    """Raise an AssertionError unless two reports of `reported_fit` are equal."""
    for name in expected.keys() | actual.keys():
        entry, other = actual.get(name), expected.get(name)
        require(entry == other, f"{what}: {name} are {entry}, expected {other}")


def _numberless(sentence: object) -> str:
    """Return a sentence without its numbers, except those in names."""
    return _NAME_OR_NUMBER.sub(lambda match: match["name"] or "#", str(sentence))
