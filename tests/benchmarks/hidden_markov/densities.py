"""States of measured rows: error of the transitions, and accuracy beside Gaussian emissions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from bigtensor import HiddenMarkovModel, simulate
from tests.benchmarks.tables import Report, Row, bars

STATES, STAY = 3, 0.7

LARGEST_ERROR = 0.02
"""Bound on the error of every transition probability, in nine sets of ten."""

LEAST_GAIN = -0.002
"""Bound on the accuracy less that of Gaussian emissions, on sets that are Gaussian."""

STARTS, ROWS_OF_STARTS, PEER_ITERATIONS, PEER_TOLERANCE = 10, 100_000, 200, 1e-2
"""Random starts of hmmlearn, the first rows that they are compared on, and where they end."""

Values = NDArray[np.float64]


def gaussian(states: NDArray[np.integer], rng: np.random.Generator) -> Values:
    """Draw from normal distributions, two units apart."""
    means = 2.0 * np.arange(STATES) + rng.uniform(-0.3, 0.3, STATES)
    deviations = rng.uniform(0.6, 1.2, STATES)
    return means[states] + deviations[states] * rng.standard_normal(len(states))


def gamma(states: NDArray[np.integer], rng: np.random.Generator) -> Values:
    """Draw from Gamma distributions, the first of which is exponential."""
    shape = np.array([1.0, 3.0, 9.0]) * rng.uniform(0.8, 1.25, STATES)
    scale = rng.uniform(0.8, 1.25, STATES)
    return np.asarray(rng.gamma(shape[states], scale[states]))


FAMILIES: dict[str, Callable[[NDArray[np.integer], np.random.Generator], Values]] = {
    "gaussian": gaussian,
    "gamma": gamma,
}


def add_densities(
    report: Report, sets: int, *, first_seed: int, rows: int = 1_000_000, starts: int = STARTS
) -> None:
    """Print the errors of every set, and what the bars say of all.

    Parameters
    ----------
    report : Report
    sets : int
        Data sets of every family.
    first_seed : int
    rows : int
        Steps of a sequence.
    starts : int
        Random starts of hmmlearn.
    """
    for family, draw in FAMILIES.items():
        found = [_row(draw, seed, rows, starts) for seed in range(first_seed, first_seed + sets)]
        report.add(
            f"Measured rows of {STATES} states, {family} emissions, {rows:,} steps",
            [*found, _summary(found, family)],
            [
                "error: largest of a transition probability; accuracy: of the states on the most",
                "probable path, states matched to the truth; peer: GaussianHMM, best of "
                f"{starts} starts on {ROWS_OF_STARTS:,} steps, continued on all",
            ],
        )


def _row(draw: Callable[..., Values], seed: int, rows: int, starts: int) -> Row:
    """Return the errors on one set."""
    truth = simulate.hidden_markov(rows, STATES, stay=STAY, random_state=seed)
    states = truth["label"].to_numpy()
    values = draw(states, np.random.default_rng(seed)).astype(np.float32)[:, None]
    model = HiddenMarkovModel(STATES, emissions="kernel", random_state=0).fit(values)
    path = model.predict(values)
    order = _matched(states, path)
    transition = model.transition_.to_numpy()[np.ix_(order, order)]
    row = {
        "seed": seed,
        "error": _error(transition, truth),
        "accuracy": float(np.mean(order[states] == path)),
    }
    peer = _peer(values.astype(np.float64), starts)
    if peer is not None:
        found = peer.predict(values)
        matched = _matched(states, found)
        row["peer error"] = _error(peer.transmat_[np.ix_(matched, matched)], truth)
        row["peer accuracy"] = float(np.mean(matched[states] == found))
        row["gain"] = row["accuracy"] - row["peer accuracy"]
    return row


def _summary(found: list[Row], family: str) -> Row:
    """Return the worst of all sets, with the bars."""
    near = sum(row["error"] <= LARGEST_ERROR for row in found)
    held = {f"error <= {LARGEST_ERROR} in 9 of 10": near >= 0.9 * len(found)}
    if "gain" in found[0]:
        least = LEAST_GAIN if family == "gaussian" else 0.0
        held[f"gain >= {least:g}"] = min(row["gain"] for row in found) >= least
    worst = {name: max(row[name] for row in found) for name in found[0] if "error" in name}
    others = {name: min(row[name] for row in found) for name in found[0] if name not in worst}
    return {**others, **worst, "seed": "worst", **bars(held)}


def _matched(states: NDArray[np.integer], path: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the state of the model for every true one, by the rows that they share."""
    shared = np.zeros((STATES, STATES))
    np.add.at(shared, (states, path), 1.0)
    return np.asarray(linear_sum_assignment(-shared)[1])


def _error(transition: Values, truth: xr.Dataset) -> float:
    """Return the largest error of a transition probability."""
    return float(np.abs(transition - truth["true_transition"].to_numpy()).max())


def _peer(values: Values, starts: int) -> Any:
    """Return the Gaussian model of hmmlearn; None where it is not installed."""
    best = best_gaussian(values[:ROWS_OF_STARTS], STATES, starts)
    if best is None:
        return None
    best.init_params = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return best.fit(values)


def best_gaussian(values: Values, states: int, starts: int = STARTS) -> Any:
    """Return the likeliest Gaussian model of several starts; None where hmmlearn is missing.

    Parameters
    ----------
    values : (rows, features) float64 array
    states : int
    starts : int, default 10
    """
    try:
        from hmmlearn.hmm import GaussianHMM
    except ImportError:
        return None
    options = {"n_iter": PEER_ITERATIONS, "tol": PEER_TOLERANCE}
    with warnings.catch_warnings():
        # EM iterations of hmmlearn may end at their largest number
        warnings.simplefilter("ignore")
        models = [
            GaussianHMM(states, random_state=seed, **options).fit(values) for seed in range(starts)
        ]
    return max(models, key=lambda model: float(model.score(values)))
