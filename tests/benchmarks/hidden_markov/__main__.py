"""Hidden Markov models of triples against EM on the same counts, and against hmmlearn.

``python -m tests.benchmarks.hidden_markov --models 10 --out hidden_markov.json``

``--only growth --figure errors.svg`` draws the errors against the number of triples.

The models have other seeds than those that the constants of the package were chosen with. Run it
with ``OMP_NUM_THREADS=1``: times are processor time on one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks.figures import markov_error_against_triples, save
from tests.benchmarks.hidden_markov.accuracy import add_accuracy
from tests.benchmarks.hidden_markov.classification import add_classification
from tests.benchmarks.hidden_markov.densities import add_densities
from tests.benchmarks.hidden_markov.dependence import add_dependence
from tests.benchmarks.hidden_markov.growth import add_growth
from tests.benchmarks.hidden_markov.recording import add_recording
from tests.benchmarks.hidden_markov.state_choice import add_state_choice
from tests.benchmarks.hidden_markov.times import add_times
from tests.benchmarks.hidden_markov.triples import FIRST_SEED
from tests.benchmarks.tables import Report

PARTS: dict[str, Callable[[Report, argparse.Namespace], None]] = {
    "accuracy": lambda report, asked: add_accuracy(report, asked.models, first_seed=asked.seed),
    "growth": lambda report, asked: add_growth(report, asked.models, first_seed=asked.seed),
    "densities": lambda report, asked: add_densities(report, asked.models, first_seed=asked.seed),
    "recording": lambda report, asked: add_recording(report, asked.data),
    "dependence": lambda report, asked: add_dependence(report, asked.models),
    "times": lambda report, _: add_times(report),
    "states": lambda report, asked: add_state_choice(report, asked.models),
    "classification": lambda report, _: add_classification(report),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=10, help="models of every kind")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="seed of the first model")
    parser.add_argument("--data", type=Path, help="folder of the real recording")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="TABLE")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--figure", type=Path, help="file for a drawing of the growth of errors")
    options = parser.parse_args(arguments)
    if options.figure is not None and "growth" not in options.only:
        parser.error("--figure draws the table growth: add it to --only")
    settings = {"models": options.models, "seed": options.seed}
    report = Report("hidden_markov", settings, options.out)
    for name in options.only:
        PARTS[name](report, options)
    if options.figure is not None:
        save(markov_error_against_triples(report.tables), options.figure)
    print(f"\n{len(report.missed)} rows miss a bar")
    return 1 if report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
