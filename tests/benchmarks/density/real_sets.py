"""Real sets: negative log-likelihood of test folds, the same floors for all."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bigtensor import TensorTrainDensity, TensorTrainOptions
from bigtensor.features.modes import FEW_SYMBOLS
from tests.benchmarks.density.peers import FLOOR, PEERS
from tests.benchmarks.tables import Row

Floats = NDArray[np.float64]

SETS = ("australian", "bupa", "heart_statlog", "ionosphere", "sonar", "wpbc")
FOLDS = 10

OURS = {
    "train": lambda: TensorTrainDensity(
        coordinates="density", trains=TensorTrainOptions(least_width=FLOOR)
    ),
    "train, queries": lambda: TensorTrainDensity(
        coordinates="queries", trains=TensorTrainOptions(least_width=FLOOR)
    ),
}


def rows_of(data: Path, name: str) -> Floats:
    """Return the complete rows of a set, without columns of few values."""
    with np.load(data / "uci" / f"{name}.npz", allow_pickle=True) as file:
        X = file["X"].astype(np.float64)
    X = X[~np.isnan(X).any(axis=1)]
    many = [len(np.unique(column)) > FEW_SYMBOLS for column in X.T]
    return np.asarray(X[:, many])


def folds_of(X: Floats, count: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield training and test rows in the units of the training rows."""
    order = np.random.default_rng(0).permutation(len(X))
    for number, test in enumerate(np.array_split(order, FOLDS)):
        if number == count:
            return
        training = np.setdiff1d(order, test)
        mean, deviation = X[training].mean(axis=0), X[training].std(axis=0)
        yield (X[training] - mean) / deviation, (X[test] - mean) / deviation


def set_rows(data: Path, name: str, count: int) -> list[Row]:
    """Return the scores of all methods on one set."""
    X = rows_of(data, name)
    found: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    for training, test in folds_of(X, count):
        for method, make in {**OURS, **PEERS}.items():
            begin = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                score = -float(make().fit(training).score_samples(test).mean())
            seconds[method] = seconds.get(method, 0.0) + time.process_time() - begin
            found.setdefault(method, []).append(score)
    ours = np.array(found["train"])
    rows = []
    for method, scores in found.items():
        gain = np.array(scores) - ours
        rows.append(
            {
                "set": name,
                "rows": len(X),
                "variables": X.shape[1],
                "method": method,
                "negative log-likelihood": round(float(np.mean(scores)), 3),
                "train is better by": round(float(gain.mean()), 3),
                "+-": round(float(gain.std() / np.sqrt(len(gain))), 3),
                "seconds a fold": round(seconds[method] / len(scores), 1),
            }
        )
    return rows


def bars(rows: list[Row]) -> list[Row]:
    """Return on how many sets the train is ahead of each peer, with the bars."""
    least = {
        "kernel density": 6,
        "Gaussian mixture": 5,
        "Gaussian copula": 5,
        "vine, parametric": 4,
        "vine, nonparametric": 4,
    }
    names = {row["set"] for row in rows}
    found = []
    for method, bar in least.items():
        ahead = sum(row["train is better by"] > 0 for row in rows if row["method"] == method)
        complete = len(names) == len(SETS)
        found.append(
            {
                "ahead of": method,
                "sets": ahead,
                "bar": bar,
                **({"holds": ahead >= bar} if complete else {}),
            }
        )
    return found
