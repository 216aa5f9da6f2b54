"""Errors on mixings of real sources, and what the choice between two estimators costs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable

import numpy as np

from bigtensor.engine.blas import single_blas_thread
from bigtensor.errors import IdentifiabilityError
from tests.benchmarks.ica.real_sources import SourceSet
from tests.benchmarks.ica.simulated import column_error, methods
from tests.benchmarks.tables import Row

NOISES = (0.0, 0.1, 1.0)

MOST_OVER_BEST, LEAST_SHARE = 1.1, 0.9
"""Bar: error over the smallest error of all methods, and share of the cases that hold it."""

OWN = ("whitened", "cumulant")
COMPARED = (*OWN, "FastICA logcosh", "picard extended")
"""Methods of the bar. The other ones are further contrasts of the same peers."""


def errors_of(source_set: SourceSet, noise: float, seed: int) -> dict[str, tuple[float, float]]:
    """Return error and processor time of every method on one mixing."""
    values, mixing = source_set.draw(noise, seed)
    results = {}
    for name, fit in methods(mixing.shape[1], len(mixing)).items():
        begin = time.process_time()
        with warnings.catch_warnings(), single_blas_thread():
            warnings.simplefilter("ignore")
            try:
                error = column_error(mixing, fit(values))
            except IdentifiabilityError:
                error = 1.0
        results[name] = error, time.process_time() - begin
    return results


def on_mixings(sets: Iterable[SourceSet], seeds: int) -> tuple[list[Row], list[Row]]:
    """Return the errors of all cases, and the share of cases near the best method.

    The bar compares ``auto`` with the best of `COMPARED` in every case. The oracle takes the
    better of our own two estimators with knowledge of the truth.
    """
    cases, rows = [], []
    for source_set in sets:
        for noise in NOISES:
            drawn = [errors_of(source_set, noise, seed) for seed in range(seeds)]
            cases += drawn
            means = {name: float(np.mean([one[name][0] for one in drawn])) for name in drawn[0]}
            within = sum(one["auto"][0] <= MOST_OVER_BEST * _best(one) for one in drawn)
            rows.append(
                {
                    "sources": source_set.name,
                    "noise": noise,
                    **{name: round(error, 4) for name, error in means.items()},
                    "within": f"{within}/{seeds}",
                }
            )
    oracle = [_best(one, OWN) for one in cases]
    return rows, [_summary(name, [one[name][0] for one in cases], cases) for name in cases[0]] + [
        _summary("oracle of whitened and cumulant", oracle, cases)
    ]


def _best(results: dict[str, tuple[float, float]], names: Iterable[str] = COMPARED) -> float:
    """Return the smallest error of some methods."""
    return min(results[name][0] for name in names)


def _summary(name: str, errors: list[float], cases: list[dict[str, tuple[float, float]]]) -> Row:
    """Return how often a method is near the best one, and how far it is from it."""
    ratios = np.array(errors) / [_best(one) for one in cases]
    share = float(np.mean(ratios <= MOST_OVER_BEST))
    of_all = np.array(errors) / [_best(one, [n for n in one if n != "auto"]) for one in cases]
    row: Row = {
        "method": name,
        "cases": len(cases),
        "within 1.1": round(share, 3),
        "of all methods": round(float(np.mean(of_all <= MOST_OVER_BEST)), 3),
        "median ratio": round(float(np.median(ratios)), 3),
        "90 %": round(float(np.quantile(ratios, 0.9)), 2),
        "worst": round(float(ratios.max()), 2),
        "mean error": round(float(np.mean(errors)), 4),
    }
    if name in cases[0]:
        row["seconds"] = round(float(np.median([one[name][1] for one in cases])), 2)
    if name == "auto":
        row["holds"] = share >= LEAST_SHARE
    return row
