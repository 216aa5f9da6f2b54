"""A fit whose results are stored, and the numbers that stand for any model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.testing.cases import ANSWERS

MOST_ENTRIES = 60
"""Entries of an array that are stored; of a larger one, this many at even distances."""

JUDGED_ROWS = 40
"""Rows whose answers are stored."""


@dataclass(frozen=True)
class ExpectedFit:
    """A fit whose results are stored.

    Attributes
    ----------
    results : callable
        Fits the model and returns the numbers by name. Integers are compared exactly.
    tolerance : float, default 1e-6
        Tolerance of other numbers, relative to the largest number of the same name. Another
        processor adds in another order, and iterations multiply the difference.
    """

    results: Callable[[], dict[str, Any]]
    tolerance: float = 1e-6


def numbers_of(model: Any, rows: Any = None) -> dict[str, Any]:
    """Return what a fitted model is held to: parameters, likelihoods, and answers for rows.

    Parameters
    ----------
    model : estimator
        A fitted model. Its parameters are the numeric attributes that end in ``_``.
    rows : data set, optional
        Rows for the answers; none without it.
    """
    numbers = {
        name: array
        for name, value in vars(model).items()
        if name.endswith("_") and name != "n_features_in_"
        for name, array in _arrays(name, value)
    }
    likelihoods = getattr(model, "diagnostics_", {}).get("mean_log_likelihood", [])
    if len(likelihoods):
        numbers["mean_log_likelihood"] = np.asarray(likelihoods, np.float64)
    if rows is not None:
        answers = [name for name in ANSWERS if hasattr(model, name)]
        numbers |= {name: np.asarray(getattr(model, name)(rows)) for name in answers}
    return {name: _thinned(array) for name, array in numbers.items()}


def _arrays(name: str, value: Any) -> list[tuple[str, np.ndarray]]:
    """Return the numeric arrays of an attribute: itself, or the entries of a mapping by view."""
    if isinstance(value, dict):
        if name == "diagnostics_":
            return []
        return [pair for key, entry in value.items() for pair in _arrays(f"{name}[{key}]", entry)]
    array = np.asarray(value)
    return [(name, array)] if array.dtype.kind in "biuf" else []


def _thinned(array: np.ndarray) -> list[Any]:
    """Return the entries of an array, or so many at even distances."""
    flat = array.ravel()
    if flat.size > MOST_ENTRIES:
        flat = flat[np.linspace(0, flat.size - 1, MOST_ENTRIES).astype(np.intp)]
    return flat.tolist()
