"""Held-out likelihood of a real recording, beside Gaussian emissions."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from bigtensor import HiddenMarkovModel
from bigtensor.errors import ConditioningWarning
from tests.benchmarks.hidden_markov.densities import best_gaussian
from tests.benchmarks.tables import Report, Row

FILE = "foetal_ecg.npz"
STATES = (2, 3, 4, 6)


def add_recording(report: Report, folder: Path | None) -> None:
    """Print the mean log-likelihood of the second half of a recording, fitted to the first.

    Parameters
    ----------
    report : Report
    folder : Path, optional
        Where the recording lies; nothing is printed without it.
    """
    if folder is None or not (folder / FILE).exists():
        return
    values = np.load(folder / FILE)["X"]
    half = len(values) // 2
    found: list[Row] = []
    every = list(range(values.shape[1]))
    for name, columns in {"first": [0], "third": [2], "all": every}.items():
        first, second = values[:half, columns], values[half:, columns]
        for states in STATES:
            model = HiddenMarkovModel(states, emissions="kernel", random_state=0)
            with warnings.catch_warnings():
                # six states of 1,250 steps are said to be rare
                warnings.simplefilter("ignore", ConditioningWarning)
                model.fit(first)
            row: Row = {"channels": name, "states": states, "ours": model.score(second)}
            peer = best_gaussian(first.astype(np.float64), states)
            if peer is not None:
                row["gaussian"] = peer.score(second.astype(np.float64)) / len(second)
                row["gain"] = row["ours"] - row["gaussian"]
            found.append(row)
    report.add(
        "Foetal electrocardiogram: mean log-likelihood of a held-out step, nats",
        found,
        ["gaussian: GaussianHMM of hmmlearn with diagonal covariances, best of ten starts"],
    )
