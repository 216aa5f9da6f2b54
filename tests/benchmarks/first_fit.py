"""Seconds that the first fit of a process takes beyond the second one, by model.

Run ``python -m tests.benchmarks.first_fit``. Every model is fitted to 1,000 rows twice in a process
of its own: at first where no machine code is kept, so that loops are compiled, and then where it is
read. Imports of the data and of the peer come before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from tests.benchmarks.sizes import CASES
from tests.benchmarks.tables import Report, Row

ROWS = 1000


def seconds_beyond(case: int, cache: Path) -> float:
    """Return the seconds of a first fit in a new process, less those of the second.

    Parameters
    ----------
    case : int
        Place in `CASES`.
    cache : Path
        Folder of machine code.
    """
    ran = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.first_fit", str(case)],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(ran.stdout)


def print_difference(number: int) -> None:
    """Fit a case twice, and print by how many seconds the first fit took longer."""
    warnings.simplefilter("ignore")
    case, taken = CASES[number], list[float]()
    data = case.draw(ROWS)
    for _ in range(2):
        began = time.perf_counter()
        case.fit(data)
        taken.append(time.perf_counter() - began)
    print(taken[0] - taken[1])


def main() -> None:
    """Print the table."""
    report = Report("first fit", {"rows": ROWS})
    rows: list[Row] = []
    for number, case in enumerate(CASES):
        with tempfile.TemporaryDirectory() as folder:
            compiles, reads = (seconds_beyond(number, Path(folder)) for _ in range(2))
        rows.append({"model": case.name, "compiles": compiles, "reads": reads})
    report.add(f"Seconds of the first fit of {ROWS:,} rows beyond the second", rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print_difference(int(sys.argv[1]))
    else:
        main()
