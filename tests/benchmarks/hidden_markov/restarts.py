"""Mean log-likelihood of fitted sequences beside hmmlearn's best of ten initialisations.

``python -m tests.benchmarks.hidden_markov.restarts --data FOLDER --out restarts.json``

FOLDER holds ``splice.npz`` and ``foetal_ecg.npz``. Fits have no pseudo-count, as those of hmmlearn.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor import HiddenMarkovModel, simulate
from tests.benchmarks.tables import Report, Row, bars

BEHIND = 0.002
"""Nats a step that are no loss."""

RESTARTS, ITERATIONS = 10, 200
STRETCHES = 400


@dataclass(frozen=True)
class Steps:
    """Sequences, and the model that they are fitted with.

    Attributes
    ----------
    name
        Name of the set.
    emissions
        Of the model.
    values
        Rows in their order, ``(n, d)``.
    lengths
        Rows of every sequence.
    states
        Numbers of states.
    covariance_type
        Of Gaussian emissions.
    """

    name: str
    emissions: str
    values: NDArray[Any]
    lengths: list[int]
    states: tuple[int, ...]
    covariance_type: str = "full"


def simulated() -> Iterator[Steps]:
    """Yield symbols, correlated measurements as of weather, and counts."""
    symbols = simulate.hidden_markov(10_000, 4, n_symbols=10, sequences=20, random_state=11)
    yield Steps("simulated symbols", "categorical", symbols["X"].to_numpy(), [500] * 20, (4, 6))
    hidden = simulate.hidden_markov(5000, 4, n_symbols=8, stay=0.9, random_state=12)
    label, rng = hidden["label"].to_numpy(), np.random.default_rng(13)
    hour = np.arange(5000) * 2 * np.pi / 24
    mixing = rng.normal(size=(4, 3, 3))
    noise = np.einsum("nij,nj->ni", mixing[label], rng.normal(size=(5000, 3)))
    weather = 3 * rng.normal(size=(4, 3))[label] + noise
    weather[:, 0] += 2 * np.sin(hour)
    yield Steps("simulated weather", "gaussian", weather, [5000], (4, 6))
    rates = rng.gamma(2.0, 3.0, (4, 3))
    counts = rng.poisson(rates[label]).astype(np.float64)
    yield Steps("simulated counts", "poisson", counts, [5000], (3, 4))


def recorded(folder: Path) -> Iterator[Steps]:
    """Yield DNA and a recording, as measurements, as symbols, and as counts of steps up."""
    if (folder / "splice.npz").exists():
        letters = np.load(folder / "splice.npz")["X"][:STRETCHES].astype(np.int32)
        rows, width = letters.shape
        lengths = [width] * rows
        yield Steps("splice", "categorical", letters.reshape(-1, 1), lengths, (2, 3, 4))
    if (folder / "foetal_ecg.npz").exists():
        channels = np.load(folder / "foetal_ecg.npz")["X"].astype(np.float64)
        n = len(channels)
        edges = np.quantile(channels[:, 0], np.arange(1, 8) / 8)
        symbols = np.searchsorted(edges, channels[:, :1]).astype(np.int32)
        yield Steps("recording, eighths", "categorical", symbols, [n], (3, 5))
        yield Steps("recording, first channel", "gaussian", channels[:, :1], [n], (2, 4))
        yield Steps("recording, full", "gaussian", channels, [n], (2, 3, 4))
        yield Steps("recording, diag", "gaussian", channels, [n], (2, 3, 4), "diag")
        rises = (np.diff(channels, axis=0) > 0)[: n // 10 * 10 - 10]
        counts = rises.reshape(-1, 10, channels.shape[1]).sum(axis=1).astype(np.float64)
        yield Steps("recording, rises", "poisson", counts, [len(counts)], (2, 3))


def peer_of(steps: Steps, states: int, seed: int) -> Any:
    """Return a model of hmmlearn, not fitted."""
    from hmmlearn import hmm

    shared = {"n_components": states, "n_iter": ITERATIONS, "random_state": seed}
    if steps.emissions == "categorical":
        return hmm.CategoricalHMM(**shared)
    if steps.emissions == "poisson":
        return hmm.PoissonHMM(**shared)
    return hmm.GaussianHMM(covariance_type=steps.covariance_type, **shared)


def best_peer(steps: Steps, states: int) -> tuple[float, float]:
    """Return the best mean log-likelihood of restarts, and the seconds of all of them."""
    logging.getLogger("hmmlearn").setLevel(logging.CRITICAL)
    values = steps.values if steps.emissions == "gaussian" else steps.values.astype(np.int64)
    begun, scores = time.process_time(), []
    for seed in range(RESTARTS):
        peer = peer_of(steps, states, seed)
        try:
            peer.fit(values, steps.lengths)
            scores.append(peer.score(values, steps.lengths) / len(values))
        except ValueError:
            # a covariance that is not positive definite
            continue
    return max(scores), time.process_time() - begun


def set_row(steps: Steps, states: int) -> Row:
    """Return the figures of a set and a number of states."""
    begun = time.process_time()
    model = HiddenMarkovModel(
        states,
        emissions=steps.emissions,
        covariance_type=steps.covariance_type,
        ridge=None,
        random_state=0,
    ).fit(steps.values, lengths=steps.lengths)
    seconds = time.process_time() - begun
    ours = model.score(steps.values, lengths=steps.lengths)
    peer, peer_seconds = best_peer(steps, states)
    return {
        "set": steps.name,
        "states": states,
        "ours": round(ours, 4),
        "hmmlearn": round(peer, 4),
        "gain": round(ours - peer, 4),
        "iterations": model.n_iter_,
        "seconds": round(seconds, 1),
        "its seconds": round(peer_seconds, 1),
        **bars({f"gain >= -{BEHIND:g}": ours >= peer - BEHIND}),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; the exit code is 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--only", nargs="+", help="names of sets")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    report = Report("hidden_markov_restarts", {"restarts": RESTARTS}, options.out)
    warnings.simplefilter("ignore")
    for steps in (*simulated(), *recorded(options.data)):
        if options.only is None or steps.name in options.only:
            report.add(steps.name, [set_row(steps, states) for states in steps.states])
    print(f"\n{len(report.missed)} rows miss a bar")
    return 1 if report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
