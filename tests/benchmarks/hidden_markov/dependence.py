"""Held-out likelihood where the measurements of a state depend on each other, as of weather."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from bigtensor import HiddenMarkovModel
from bigtensor.errors import BigtensorWarning
from tests.benchmarks.tables import Report, Row

STATES, STARTS = 4, 5
BLOCKS, HOURS = 20, 250

Values = NDArray[np.float64]


def add_dependence(report: Report, sets: int) -> None:
    """Print the mean log-likelihood of held-out hours by emissions and number of states.

    Parameters
    ----------
    report : Report
    sets : int
        Simulated years.
    """
    fits: dict[str, Callable[[Values], Callable[[Values], float]]] = {
        f"kernel, {STATES}": lambda hours: _ours(hours, STATES, "kernel"),
        f"kernel, {2 * STATES}": lambda hours: _ours(hours, 2 * STATES, "kernel"),
        f"gaussian, {STATES}": lambda hours: _ours(hours, STATES, "gaussian"),
    }
    if find_spec("hmmlearn") is not None:
        fits[f"GMMHMM, {STATES} of 2"] = _mixtures
    rows: list[Row] = []
    for seed in range(sets):
        blocks = weather(seed).reshape(BLOCKS, HOURS, -1)
        held_out = np.arange(BLOCKS) % 4 == 3
        row: Row = {"seed": seed}
        for name, fit in fits.items():
            row[name] = fit(np.concatenate(blocks[~held_out]))(np.concatenate(blocks[held_out]))
        rows.append(row)
    rows.append({"seed": "mean", **{name: np.mean([r[name] for r in rows]) for name in fits}})
    report.add(
        f"Simulated weather of {BLOCKS * HOURS:,} hours: mean log-likelihood of a held-out hour, "
        "nats",
        rows,
        [
            "columns: emissions and states; GMMHMM of hmmlearn: two Gaussians of full covariance a",
            f"state, best of {STARTS} starts; every fourth block of {HOURS} hours is held out",
        ],
    )


def weather(seed: int) -> Values:
    """Draw temperature, pressure, humidity and wind, which depend on each other within an hour."""
    rng = np.random.default_rng(seed)
    hour = np.arange(BLOCKS * HOURS)

    def slow(memory: float, scale: float) -> Values:
        return np.asarray(lfilter([1.0], [1.0, -memory], rng.normal(0, scale, len(hour))))

    front = slow(0.99, 0.14)
    season, day = np.sin(2 * np.pi * hour / 2920), np.sin(2 * np.pi * (hour - 9) / 24)
    temperature = 10 + 8 * season + 4 * day * (1 - 0.5 * np.tanh(front)) + slow(0.95, 0.5)
    pressure = 1013 - 6 * front + slow(0.97, 0.4)
    humidity = 100 / (1 + np.exp(0.12 * (temperature - 10) - 0.8 * front - slow(0.9, 0.25) - 0.8))
    wind = np.abs(3 + 2 * front + slow(0.85, 0.8))
    return np.column_stack([temperature, pressure, humidity, wind])


def _ours(hours: Values, states: int, emissions: str) -> Callable[[Values], float]:
    """Fit, and return the score of other hours."""
    model = HiddenMarkovModel(states, emissions=emissions, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BigtensorWarning)
        model.fit(hours, lengths=_lengths(hours))
    return lambda others: model.score(others, lengths=_lengths(others))


def _mixtures(hours: Values) -> Callable[[Values], float]:
    """Fit the mixtures of hmmlearn, and return the score of other hours."""
    from hmmlearn.hmm import GMMHMM

    def fit(seed: int) -> GMMHMM:
        model = GMMHMM(STATES, n_mix=2, covariance_type="full", n_iter=100, random_state=seed)
        return model.fit(hours, _lengths(hours))

    best = max(map(fit, range(STARTS)), key=lambda model: model.score(hours, _lengths(hours)))
    return lambda others: best.score(others, _lengths(others)) / len(others)


def _lengths(hours: Values) -> list[int]:
    """Return the lengths of the blocks."""
    return [HOURS] * (len(hours) // HOURS)
