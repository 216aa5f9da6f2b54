"""Independent component analysis beside FastICA and Picard: errors, times and real data.

Run ``python -m tests.benchmarks.ica``. Errors are sines of the angles between true and estimated
mixing columns, matched one to one. Times are processor times of one thread in the same run. Mixings
of real sources need folders of data: ``--only choose`` and ``--only judge``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.benchmarks.ica.mixed_real_sources import on_mixings
from tests.benchmarks.ica.real_sources import source_sets
from tests.benchmarks.ica.simulated import (
    CLEAN,
    DATA,
    NOISY,
    OTHERS,
    bars,
    measured,
    on_real_data,
    real_sets,
)
from tests.benchmarks.ica.source_counts import on_seeds
from tests.benchmarks.tables import Report

GROUPS = {"clean": CLEAN, "noisy": NOISY, "others": OTHERS}
PURPOSES = ("choose", "judge")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--data", type=Path, default=DATA, help="Folder of real data.")
    parser.add_argument("--keel", type=Path, help="Folder of KEEL tables.")
    parser.add_argument("--only", choices=(*GROUPS, *PURPOSES, "real"))
    parser.add_argument("--counts", type=int, help="Compare the counts of so many seeds instead.")
    given = parser.parse_args()
    report = Report("ica", {"seeds": given.seeds}, given.out)
    if given.counts:
        rows = list(on_seeds(source_sets(given.data, given.keel), given.counts))
        report.add("number of sources over seeds of the pilot sample", rows)
        return
    for group, problems in GROUPS.items():
        for problem in problems if given.only in (None, group) else ():
            rows = measured(problem, given.seeds)
            report.add(str(problem), rows)
            if kept := bars(problem, rows):
                report.add(f"bars of {problem}", kept)
    for purpose in PURPOSES if given.keel else ():
        if given.only in (None, purpose):
            sets = [s for s in source_sets(given.data, given.keel) if s.purpose == purpose]
            rows, summary = on_mixings(sets, min(given.seeds, 3))
            report.add(f"mixings of real sources, sets that {purpose}", rows)
            report.add("share of cases near the best method", summary)
    if given.only in (None, "real"):
        rows = [on_real_data(name, values) for name, values in real_sets(given.data).items()]
        if rows:
            report.add("real data", rows)


if __name__ == "__main__":
    main()
