"""Missing entries of real sets: errors and intervals beside scikit-learn's iterative imputer."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from bigtensor import TensorTrainDensity
from tests.benchmarks.density.real_sets import rows_of
from tests.benchmarks.tables import Row

Floats = NDArray[np.float64]

SETS = ("australian", "bupa", "ionosphere")
MISSING = 0.2
DRAWS = 100


def imputation_rows(data: Path, seeds: int) -> list[Row]:
    """Return errors in standard deviations, and how often intervals of 80 % cover."""
    rows = []
    for name in SETS:
        X = rows_of(data, name)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        found: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(seeds):
            holes = np.random.default_rng(seed).random(X.shape) < MISSING
            given = np.where(holes, np.nan, X)
            for method, (mean, draws) in _imputed(given, seed).items():
                error = (mean - X)[holes]
                low, high = np.quantile(draws[:, holes], [0.1, 0.9], axis=0)
                inside = np.where(
                    np.isnan(low), np.nan, (X[holes] >= low) & (X[holes] <= high)
                ).mean()
                scores = (np.sqrt(np.mean(error**2)), np.mean(np.abs(error)), inside)
                found.setdefault(method, []).append(scores)
        for method, scores in found.items():
            root, absolute, covered = np.mean(scores, axis=0)
            rows.append(
                {
                    "set": name,
                    "method": method,
                    "root mean squared error": round(float(root), 3),
                    "mean absolute error": round(float(absolute), 3),
                    "80 % intervals cover": "-" if np.isnan(covered) else round(float(covered), 3),
                }
            )
    return rows


def _imputed(given: Floats, seed: int) -> dict[str, tuple[Floats, Floats]]:
    """Return means, and draws, of every method."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TensorTrainDensity(random_state=seed).fit(given)
        draws = [model.impute(given, "sample", random_state=number) for number in range(DRAWS)]
        linear = IterativeImputer(random_state=seed).fit_transform(given)
        posterior = [
            IterativeImputer(sample_posterior=True, random_state=number).fit_transform(given)
            for number in range(20)
        ]
        forest = IterativeImputer(
            RandomForestRegressor(50, random_state=seed), max_iter=5, random_state=seed
        ).fit_transform(given)
    constant = np.broadcast_to(np.nanmean(given, axis=0), given.shape)
    never = np.full((1, *given.shape), np.nan)
    return {
        "train": (model.impute(given), np.stack(draws)),
        "iterative, ridge": (linear, np.stack(posterior)),
        "iterative, forest": (forest, never),
        "means": (constant, never),
    }
