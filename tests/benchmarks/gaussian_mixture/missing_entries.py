"""Gaussian mixtures of rows of which a share of the entries was removed at random.

``python -m tests.benchmarks.gaussian_mixture.missing_entries --share .1 --out missing.json``

The mean log-likelihood is that of the complete rows, for as many components as classes. Times are
processor times of the fit to rows with missing entries; run it with ``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bigtensor import GaussianMixture
from tests.benchmarks.gaussian_mixture.real_sets import LabelledSet, bundled_sets
from tests.benchmarks.tables import Report, Row

KINDS = ("full", "diag", "spherical")
MOST_ROWS = 1_000
"""Larger sets have enough complete rows."""


def rows_of(data: LabelledSet, share: float, seed: int = 0) -> Iterator[Row]:
    """Yield the log-likelihoods of every covariance type."""
    removed = np.random.default_rng(seed).random(data.values.shape) < share
    holes = np.where(removed, np.nan, data.values)
    for kind in KINDS:
        options = {"covariance_type": kind, "random_state": seed}
        whole = GaussianMixture(data.n_classes, **options).fit(data.values)
        begin = time.process_time()
        kept = GaussianMixture(data.n_classes, missing="marginalise", **options).fit(holes)
        seconds = time.process_time() - begin
        omitted = GaussianMixture(data.n_classes, missing="omit", **options).fit(holes)
        yield {
            "set": data.name,
            "covariance": kind,
            "all entries": round(whole.score(data.values), 3),
            "marginalise": round(kept.score(data.values), 3),
            "omit": round(omitted.score(data.values), 3),
            "complete rows": f"{1 - removed.any(axis=1).mean():.0%}",
            "seconds": round(seconds, 2),
        }


def main() -> None:
    """Print a table of every small set of scikit-learn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    report = Report("missing entries", {"share": given.share}, given.out)
    warnings.simplefilter("ignore")
    for data in bundled_sets():
        if len(data.values) <= MOST_ROWS:
            report.add(data.name, list(rows_of(data, given.share)))


if __name__ == "__main__":
    main()
