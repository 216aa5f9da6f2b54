"""Errors and warnings of calls without options on tables that nobody prepared for them.

``python -m tests.benchmarks.default_calls --keel FOLDER``

The tables are those of KEEL (see `tests.benchmarks.keel_tables`) and of scikit-learn. Models of
measured rows get the numbers, and models of categories the words and the numbers of few values.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from bigtensor import ICA, DiscreteMixture, GaussianMixture, HiddenMarkovModel, TensorTrainDensity
from bigtensor.features.modes import FEW_SYMBOLS
from tests.benchmarks.keel_tables import keel_tables
from tests.benchmarks.tables import Report, Row

BUNDLED: dict[str, Callable[[], Any]] = {
    "iris": datasets.load_iris,
    "wine of scikit-learn": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "diabetes": datasets.load_diabetes,
    "linnerud": datasets.load_linnerud,
}

MODELS: dict[str, Callable[[], Any]] = {
    "GaussianMixture": GaussianMixture,
    "ICA": ICA,
    "TensorTrainDensity": TensorTrainDensity,
    "HiddenMarkovModel": HiddenMarkovModel,
    "DiscreteMixture": DiscreteMixture,
}

OF_CATEGORIES = ("DiscreteMixture", "HiddenMarkovModel")
"""Models that get whole numbers of few values as categories."""


def tables(keel: Path | None) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the names and values of all tables."""
    for name, load in BUNDLED.items():
        yield name, np.asarray(load().data, np.float64)
    for table in keel_tables(keel) if keel is not None else ():
        yield table.name, table.values


def rows_for(model: str, values: NDArray[Any], most: int) -> NDArray[Any] | None:
    """Return rows of the kind that a model takes, or None if there are too few columns of it."""
    few = np.array([len(np.unique(column)) <= FEW_SYMBOLS for column in values.T])
    rows = values[np.random.default_rng(0).permutation(len(values))[:most]]
    if model not in OF_CATEGORIES:
        return rows
    chosen = rows[:, few]
    if chosen.shape[1] < (1 if model == "HiddenMarkovModel" else 3):
        return None
    codes = [np.unique(column, return_inverse=True)[1] for column in chosen.T]
    return np.column_stack(codes[:1] if model == "HiddenMarkovModel" else codes)


def called(model: str, values: NDArray[Any]) -> Row:
    """Fit a model and return what it said."""
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        error = ""
        try:
            MODELS[model]().fit(values)
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"
    return {
        "seconds": round(time.process_time() - begin, 1),
        "error": error,
        "warnings": " | ".join(sorted({f"{w.category.__name__}: {w.message}" for w in raised})),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what every call said, and return zero."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keel", type=Path)
    parser.add_argument("--rows", type=int, default=3_000, help="at most, of a table")
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    report = Report("default_calls", {"rows": chosen.rows}, chosen.out)
    counts: Counter[tuple[str, str]] = Counter()
    for name, values in tables(chosen.keel):
        rows: list[Row] = []
        for model in chosen.models:
            given = rows_for(model, values, chosen.rows)
            if given is None:
                continue
            said = called(model, given)
            rows.append({"model": model, "rows": len(given), "features": given.shape[1], **said})
            counts[model, "calls"] += 1
            counts[model, "errors"] += bool(said["error"])
            counts[model, "with warnings"] += bool(said["warnings"])
        report.add(name, rows)
    summary = [
        {
            "model": model,
            **{key: counts[model, key] for key in ("calls", "errors", "with warnings")},
        }
        for model in chosen.models
    ]
    report.add("all tables", summary)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
