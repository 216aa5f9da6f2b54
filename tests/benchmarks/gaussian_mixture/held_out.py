"""Held-out log-likelihood of Gaussian mixtures beside scikit-learn's, with as many components.

``python -m tests.benchmarks.gaussian_mixture.held_out FOLDER --splits 3 --out held_out.json``

FOLDER is that of `real_sets`, or with ``--keel choose`` or ``--keel judge`` that of `keel_tables`,
of which tables of numbers are taken. Features are standardised, because the regularisation of
scikit-learn is in the units of the data. Three tenths of the rows are held out. Classes give the
number of components alone. The peer is fitted once more with other seeds: where it is behind
itself, the seeds alone decide.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from sklearn.mixture import GaussianMixture as Peer
from sklearn.model_selection import train_test_split

from bigtensor import GaussianMixture
from tests.benchmarks.gaussian_mixture.real_sets import LabelledSet, bundled_sets, sets_in
from tests.benchmarks.keel_tables import Purpose, keel_tables
from tests.benchmarks.tables import Report, Row

MANY_ROWS = 5_000
"""Rows of which one split is enough."""

KINDS = ("full", "tied", "diag", "spherical")
BEHIND = 0.01
"""Nats a row that are no loss."""

OTHER_SEEDS = 1_000
"""Added to the seeds of the second fit of the peer."""


def rows_of(data: LabelledSet, splits: int, kinds: Sequence[str]) -> Iterator[Row]:
    """Yield mean held-out log-likelihoods of covariance types."""
    values, k = data.standardised().values, data.n_classes
    splits = 1 if len(values) > MANY_ROWS else splits
    for kind in kinds:
        ours, peers, again, seconds, peer_seconds = [], [], [], 0.0, 0.0
        for split in range(splits):
            train, test = train_test_split(values, test_size=0.3, random_state=split)
            # constant features have no density, and ours leaves them out
            varying = train.std(axis=0) > 0
            train, test = train[:, varying], test[:, varying]
            begin = time.process_time()
            model = GaussianMixture(k, covariance_type=kind, max_iter=100, random_state=split)
            ours.append(model.fit(train).score(test))
            seconds += time.process_time() - begin
            begin = time.process_time()
            peer = Peer(k, covariance_type=kind, n_init=10, random_state=split).fit(train)
            peers.append(peer.score(test))
            peer_seconds += time.process_time() - begin
            other = Peer(k, covariance_type=kind, n_init=10, random_state=split + OTHER_SEEDS)
            again.append(other.fit(train).score(test))
        yield {
            "set": data.name,
            "rows": len(values),
            "features": values.shape[1],
            "k": k,
            "covariance": kind,
            "ours": round(float(np.mean(ours)), 3),
            "scikit-learn": round(float(np.mean(peers)), 3),
            "scikit-learn again": round(float(np.mean(again)), 3),
            "gain": f"{np.mean(ours) - np.mean(peers):+.4f}",
            "seconds": round(seconds / splits, 2),
            "its seconds": round(peer_seconds / splits, 2),
        }


def counted(rows: list[Row], kinds: Sequence[str]) -> Iterator[Row]:
    """Yield on how many sets ours and the peer with other seeds hold, by covariance type."""
    for kind in kinds:
        of_kind = [row for row in rows if row["covariance"] == kind]
        for method in ("ours", "scikit-learn again"):
            gains = np.array([row[method] - row["scikit-learn"] for row in of_kind])
            yield {
                "covariance": kind,
                "method": method,
                "sets": len(of_kind),
                "hold": int((gains > -BEHIND).sum()),
                "median gain": round(float(np.median(gains)), 3),
                "least gain": round(float(np.min(gains)), 3),
            }


def tables_of_numbers(folder: Path, purpose: Purpose) -> Iterator[LabelledSet]:
    """Yield the tables of `keel_tables` that hold no words."""
    for table in keel_tables(folder, purpose):
        if not table.categorical.any():
            yield LabelledSet(table.name, table.values, table.classes)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keel", choices=("choose", "judge"))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--covariances", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--only", nargs="+", help="names of sets")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    report = Report("held-out likelihood", {"splits": given.splits}, given.out)
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    sets = (
        tables_of_numbers(given.folder, given.keel)
        if given.keel
        else (*bundled_sets(), *sets_in(given.folder))
    )
    for data in sets:
        if given.only is None or data.name in given.only:
            report.add(data.name, list(rows_of(data, given.splits, given.covariances)))
            rows += report.tables[data.name]["rows"]
    report.add("sets that are at most .01 nats behind", list(counted(rows, given.covariances)))


if __name__ == "__main__":
    main()
