"""Random damage of everything that the package reads: one clear error, or the right values.

``python -m tests.fuzz --minutes 10``

Every case damages a valid input at random and does with it what a user would. Fine are a result and
an error of the package. Bad are other errors, messages without end, crashes, cases that take too
long or too much memory, and other values than those that were written where checksums could tell.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

# the processes work side by side; set before NumPy is imported in them
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.fuzz.cases import BAD, FINE, Case, Inputs, Outcome
from tests.fuzz.kinds import KINDS
from tests.fuzz.processes import Limits, run_cases

MOST_LINES = 12
"""Lines of a traceback in the summary."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run cases; the exit code is 1 if one of them is bad."""
    options = _parser().parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        inputs = Inputs(folder / "inputs", {kind: KINDS[kind] for kind in options.only})
        inputs.folder.mkdir()
        for kind in options.only:
            inputs.make(kind)
        begun = time.monotonic()
        print(f"inputs of {len(options.only)} kinds made in {begun - start:.1f} s", flush=True)
        deadline = begun + 60 * options.minutes
        cases = _until(deadline, _cases(options))
        outcomes = run_cases(cases, inputs, folder / "cases", Limits(), options.processes)
        verdicts = Counter[tuple[str, str]]()
        bad = []
        for outcome in outcomes:
            verdicts[outcome.case.kind, outcome.verdict] += 1
            if outcome.verdict in BAD or options.case is not None:
                bad.append(outcome)
                print(_described(outcome, whole=options.case is not None), flush=True)
    _print_table(verdicts, time.monotonic() - begun)
    return int(any(outcome.verdict in BAD for outcome in bad))


def _parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="time to run, 10 by default")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="random seed")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=KINDS,
        default=list(KINDS),
        help="kinds of input; all by default",
    )
    parser.add_argument("--cases", type=int, help="most cases of a kind")
    parser.add_argument("--case", type=int, help="run this case of a kind alone")
    parser.add_argument("--processes", type=int, choices=(1, 2), default=2)
    return parser


def _cases(options: argparse.Namespace) -> Iterator[Case]:
    """Yield the cases of all kinds in turn."""
    number = 0 if options.case is None else options.case
    last = options.cases if options.case is None else number + 1
    while last is None or number < last:
        yield from (Case(options.seed, kind, number) for kind in options.only)
        number += 1


def _until(deadline: float, cases: Iterable[Case]) -> Iterator[Case]:
    """Yield cases while there is time."""
    for case in cases:
        if time.monotonic() > deadline:
            return
        yield case


def _described(outcome: Outcome, *, whole: bool) -> str:
    """Return a case with the command that repeats it."""
    lines = outcome.detail.rstrip().splitlines()
    # the stack of a crash begins where it happened, a traceback ends there
    part = lines[:MOST_LINES] if outcome.verdict == "crash" else lines[-MOST_LINES:]
    shown = lines if whole else part
    return "\n".join(
        [
            f"\n{outcome.verdict}: {outcome.case.command()}",
            f"  {outcome.damage[:1000].encode('unicode_escape').decode()}",
            *(f"  {line[:1000].encode('unicode_escape').decode()}" for line in shown),
        ]
    )


def _print_table(verdicts: Counter[tuple[str, str]], seconds: float) -> None:
    """Print the cases by kind and verdict."""
    columns = (*FINE, *BAD)
    print(f"\n{'':14}" + "".join(f"{name:>9}" for name in columns))
    for kind in dict.fromkeys(kind for kind, _ in verdicts):
        print(f"{kind:14}" + "".join(f"{verdicts[kind, name]:>9,}" for name in columns))
    total = verdicts.total()
    bad = sum(count for (_, verdict), count in verdicts.items() if verdict in BAD)
    print(f"\n{total:,} cases in {seconds:.0f} s ({total / seconds:.1f} a second), {bad:,} bad")


if __name__ == "__main__":
    raise SystemExit(main())
