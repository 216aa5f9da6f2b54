"""Densities and imputations of tables that people know, beside tuned peers.

``python -m tests.benchmarks.density.peers_on_tables FOLDER --purpose choose --out peers.json``

FOLDER holds the tables of `tests.benchmarks.keel_tables`. Columns of at most ten values are left
out, because peers have no categories. Rows are of two kinds.

``given``
    As they are. Standard deviations of peers are at least .02 of those of the training rows. The
    peak of such a kernel is as high as an even density over .05 standard deviations, so that the
    probability of an atom of `TensorTrainDensity` counts as spread over this unit.
``blurred``
    With even noise over the distance of neighbouring values of every column, and at least over .05
    standard deviations. No value occurs twice, and no estimate gains by ties.

Run it with ``OMP_NUM_THREADS=1``: times are processor times on one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from bigtensor import GaussianMixture, TensorTrainDensity
from bigtensor.engine.blas import single_blas_thread
from bigtensor.errors import ParameterError
from bigtensor.features.modes import FEW_SYMBOLS
from tests.benchmarks.density.peers import Floats
from tests.benchmarks.density.tuned_peers import BESIDE, TUNED_PEERS
from tests.benchmarks.keel_tables import keel_tables
from tests.benchmarks.tables import Report, Row

UNIT = 0.05
"""Width over which an atom is spread, in standard deviations of the training rows."""

MOST_ROWS = 6_000
"""Rows of a table, of which a quarter are tested."""

MISSING = 0.2
"""Share of the entries that are imputed."""

FEWEST_ROWS = 20
"""Fewest rows that are fitted."""

HOLES = 0.15
"""Share of the entries of training rows that are missing."""

OURS = "tensor train"


def rows_of(values: Floats, kind: str, count: int) -> tuple[Floats, Floats]:
    """Return training and test rows in the units of the training rows."""
    rng = np.random.default_rng(0)
    rows = values[rng.permutation(len(values))[:count]]
    rows = rows[:, [len(np.unique(column)) > FEW_SYMBOLS for column in rows.T]]
    if kind == "blurred":
        units = np.array([_distance(column) for column in rows.T])
        units = np.maximum(units, UNIT * rows.std(axis=0))
        rows = rows + units * (rng.random(rows.shape) - 0.5)
    training, test = np.split(rows, [3 * len(rows) // 4])
    varies = training.std(axis=0) > 0
    mean, deviation = training.mean(axis=0)[varies], training.std(axis=0)[varies]
    return (training[:, varies] - mean) / deviation, (test[:, varies] - mean) / deviation


def _distance(column: Floats) -> float:
    """Return the usual distance of neighbouring values."""
    values = np.unique(column)
    return float(np.median(np.diff(values))) if len(values) < len(column) / 2 else 0.0


def spread_log_densities(model: TensorTrainDensity, X: Floats) -> Floats:
    """Return log-densities with every atom spread over the unit."""
    on_atom = [np.isin(X[:, int(name[1:])], atoms) for name, atoms in model.atoms_.items()]
    return np.asarray(model.score_samples(X) - np.log(UNIT) * np.sum(on_atom, axis=0))


def densities(name: str, split: tuple[Floats, Floats], peers: Sequence[str]) -> Iterator[Row]:
    """Yield the mean log-density of test rows of every estimate."""
    training, test = split
    for method in (OURS, *peers):
        begin = time.process_time()
        if method == OURS:
            model = TensorTrainDensity().fit(training)
            scores = spread_log_densities(model, test)
        else:
            scores = {**TUNED_PEERS, **BESIDE}[method]().fit(training).score_samples(test)
        yield {
            "set": name,
            "rows": len(training),
            "variables": training.shape[1],
            "method": method,
            "log-density": round(float(scores.mean()), 3),
            "lowest": round(float(scores.min()), 1),
            "seconds": round(time.process_time() - begin, 1),
        }


def imputations(name: str, split: tuple[Floats, Floats]) -> Iterator[Row]:
    """Yield root mean squared errors of removed test entries in standard deviations."""
    training, test = split
    removed = np.random.default_rng(1).random(test.shape) < MISSING
    holes = np.where(removed, np.nan, test)
    trees = ExtraTreesRegressor(50, min_samples_leaf=3, random_state=0)
    methods: dict[str, Any] = {
        OURS: TensorTrainDensity().fit(training).impute,
        "ridge": IterativeImputer(random_state=0).fit(training).transform,
        "extra trees": IterativeImputer(trees, max_iter=4, random_state=0).fit(training).transform,
    }
    errors = {method: (impute(holes) - test)[removed] for method, impute in methods.items()}
    yield {
        "set": name,
        "rows": len(training),
        "variables": training.shape[1],
        **{key: round(float(np.sqrt(np.mean(value**2))), 3) for key, value in errors.items()},
    }


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return the best peer of every set beside the train."""
    compared = []
    for name in dict.fromkeys(row["set"] for row in rows):
        of_set = {row["method"]: row for row in rows if row["set"] == name}
        ours = of_set.pop(OURS)
        beside = {key: of_set.pop(key)["log-density"] for key in BESIDE if key in of_set}
        best = max(of_set.values(), key=lambda row: row["log-density"])
        gain = ours["log-density"] - best["log-density"]
        compared.append(
            {
                "set": name,
                "rows": ours["rows"],
                "variables": ours["variables"],
                OURS: ours["log-density"],
                "best peer": best["log-density"],
                "is": best["method"],
                "ahead by": round(gain, 3),
                "a variable": round(gain / ours["variables"], 3),
                **beside,
            }
        )
    return compared


def with_holes(name: str, split: tuple[Floats, Floats]) -> Iterator[Row]:
    """Yield the mean log-density of complete test rows after fits to rows with missing entries."""
    training, test = split
    removed = np.random.default_rng(2).random(training.shape) < HOLES
    holes = np.where(removed, np.nan, training)[~removed.all(axis=1)]
    complete = holes[~np.isnan(holes).any(axis=1)]
    mixture = GaussianMixture("auto", missing="marginalise")
    for method, model, rows in (
        ("no entry missing", TensorTrainDensity(), training),
        (OURS, TensorTrainDensity(), holes),
        ("incomplete rows left out", TensorTrainDensity(), complete),
        ("Gaussian mixture", mixture, holes),
    ):
        if len(rows) < FEWEST_ROWS:
            continue
        begin = time.process_time()
        try:
            fitted = model.fit(rows)
        except ParameterError:
            # the regularisation of a mixture may be too small for nearly singular rows with holes
            continue
        scores = (
            spread_log_densities(fitted, test)
            if isinstance(fitted, TensorTrainDensity)
            else fitted.score_samples(test)
        )
        yield {
            "set": name,
            "rows": len(rows),
            "method": method,
            "log-density": round(float(np.mean(scores)), 3),
            "seconds": round(time.process_time() - begin, 1),
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, and return zero."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--purpose", choices=("choose", "judge"), default="choose")
    parser.add_argument("--kind", choices=("given", "blurred"), default="given")
    parser.add_argument("--sets", nargs="*", help="names of tables, by default those that fit")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="at most, of a table")
    parser.add_argument(
        "--peers", nargs="*", choices=[*TUNED_PEERS, *BESIDE], default=list(TUNED_PEERS)
    )
    parser.add_argument("--imputation", action="store_true", help="impute instead")
    parser.add_argument("--holes", action="store_true", help="fit rows with holes instead")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    report = Report(
        "peers_on_tables",
        {"purpose": given.purpose, "kind": given.kind, "rows": given.rows},
        given.out,
    )
    every: list[Row] = []
    warnings.simplefilter("ignore")
    with single_blas_thread():
        for table in keel_tables(given.folder, given.purpose):
            measured = sum(len(np.unique(column)) > FEW_SYMBOLS for column in table.values.T)
            wanted = given.sets if given.sets else [table.name] * (5 <= measured <= 60)
            if table.name not in wanted:
                continue
            split = rows_of(table.values, given.kind, given.rows)
            if given.imputation:
                rows = list(imputations(table.name, split))
            elif given.holes:
                rows = list(with_holes(table.name, split))
            else:
                rows = list(densities(table.name, split, given.peers))
            report.add(table.name, rows)
            every += rows
    if not (given.imputation or given.holes) and {*given.peers} & {*TUNED_PEERS}:
        report.add("beside the best peer", summary(every))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
