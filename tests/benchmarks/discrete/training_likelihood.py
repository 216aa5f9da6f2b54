"""Log-likelihood of the rows that were learned, beside StepMix's best of twenty initialisations.

``python -m tests.benchmarks.discrete.training_likelihood FOLDER --purpose judge --out judge.json``

FOLDER is that of `keel_tables`. Columns of more than twenty values are cut at their thirds, and
tables of more than 2,000 rows are thinned at random. Fits have no ridge, as those of StepMix. Run
it with ``OMP_NUM_THREADS=1``: times are processor time on one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bigtensor import DiscreteMixture
from tests.benchmarks.baselines.latent_classes import fitted_latent_classes
from tests.benchmarks.discrete.keel_sets import keel_sets
from tests.benchmarks.discrete.real_sets import RealSet
from tests.benchmarks.tables import Report, Row, bars

BEHIND = 1e-3
"""Nats a row that are no loss."""

STARTS = 20
MOST_ROWS = 2000
COMPONENTS = (3, 5)
"""Numbers of components beside that of the classes."""


def thinned(data: RealSet) -> RealSet:
    """Return a set of at most `MOST_ROWS` rows."""
    rows = np.sort(np.random.default_rng(0).permutation(len(data.codes))[:MOST_ROWS])
    return RealSet(data.name, data.codes[rows], data.sizes, data.classes[rows])


def set_row(data: RealSet, k: int) -> Row:
    """Return the figures of a set and a number of components."""
    every = np.arange(len(data.codes))
    begun = time.process_time()
    model = DiscreteMixture(k, ridge=None, random_state=0).fit(data.data(every))
    seconds = time.process_time() - begun
    ours = float(model.score(data.data(every)))
    begun = time.process_time()
    peer = float(fitted_latent_classes(data.floats(every), k, 0, STARTS).score(data.floats(every)))
    peer_seconds = time.process_time() - begun
    return {
        "set": data.name,
        "rows": len(every),
        "views": len(data.sizes),
        "k": k,
        "ours": round(ours, 4),
        "StepMix": round(peer, 4),
        "gain": round(ours - peer, 4),
        "initialisations": len(model.diagnostics_["random_initialisations"]),
        "seconds": round(seconds, 2),
        "its seconds": round(peer_seconds, 2),
        **bars({"as likely": ours >= peer - BEHIND, "faster": seconds < peer_seconds}),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; the exit code is 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--purpose", choices=("choose", "judge", "all"), default="all")
    parser.add_argument("--only", nargs="+", help="names of sets")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    report = Report("training likelihood", {"purpose": options.purpose}, options.out)
    warnings.simplefilter("ignore")
    # loops are compiled by the first fit
    DiscreteMixture(2, n_starts=1).fit(np.random.default_rng(0).integers(0, 3, (99, 5)))
    for data in keel_sets(options.folder, options.purpose):
        if options.only is None or data.name in options.only:
            few = thinned(data)
            numbers = sorted({data.class_count, *COMPONENTS})
            report.add(data.name, [set_row(few, k) for k in numbers])
    print(f"\n{len(report.missed)} rows miss a bar")
    return 1 if report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
