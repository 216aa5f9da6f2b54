"""Processor time of every family beside its peer, from 150 rows upwards.

Run ``python -m tests.benchmarks.speed --sizes``. Both are fitted with no options but the number of
components, one after the other in the same process, so that a ratio says little about the machine.
``--history FILE`` compares the ratios with the last runs of the file, adds them to it, and fails
where one is a fifth above the usual.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.decomposition import FastICA, MiniBatchDictionaryLearning
from sklearn.mixture import GaussianMixture as PeerGaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity

import bigtensor
from bigtensor import simulate
from bigtensor.engine.blas import single_blas_thread
from tests.benchmarks.baselines.flowsom import flowsom_labels
from tests.benchmarks.tables import Report, Row, bars, machine
from tests.benchmarks.topics import gibbs

SIZES = (150, 1000, 10_000)

MOST_RATIO, ENOUGH_SECONDS = 5.0, 0.3
"""Bar: processor time over the peer's, or processor seconds, whichever allows more."""

MOST_GROWTH, RUNS = 1.2, 5
"""Bar: a ratio over the median of that many runs before."""

TURNS, LONG = 3, 10.0
"""Fits of which the median counts, and seconds of one that is not repeated."""

Data = Any
Fit = Callable[[Data], object]


@dataclass(frozen=True)
class Case:
    """A family and its peer on simulated data.

    Parameters
    ----------
    name : str
        Model, as a reader would write it.
    draw : callable
        Returns the data of a number of rows.
    ours : callable
        Returns a new model.
    peer_name : str
        Name of the peer, with what is not its default.
    peer : callable
        Fits the peer.
    most_rows : int
        Largest size to which the peer is fitted.
    """

    name: str
    draw: Callable[[int], Data]
    ours: Callable[[], Any]
    peer_name: str
    peer: Fit
    most_rows: int = 10_000_000

    def fit(self, data: Data) -> object:
        """Fit a new model without options."""
        return self.ours().fit(data)


_THIRDS = {"a": list(range(10)), "b": list(range(10, 20)), "c": list(range(20, 30))}


def _cells(rows: int) -> NDArray[np.float64]:
    """Return rows of three correlated groups, six features."""
    rng = np.random.default_rng(0)
    means = 4.0 * rng.normal(size=(3, 6))
    turns = rng.normal(size=(3, 6, 6)) / 2 + np.eye(6)
    groups = rng.integers(3, size=rows)
    noise = rng.normal(size=(rows, 6))
    return np.asarray(means[groups] + np.einsum("nij,nj->ni", turns[groups], noise))


def _values(data: Any) -> NDArray[np.float64]:
    """Return the values of a simulated dataset."""
    return np.asarray(data["X"].to_numpy(), np.float64)


def _symbols(rows: int) -> NDArray[np.int64]:
    """Return one sequence of symbols, (n, 1)."""
    data = simulate.hidden_markov(rows, 3, 8, stay=0.5, random_state=0)
    return np.asarray(data["X"].to_numpy(), np.int64)


def _answers(rows: int) -> NDArray[np.int64]:
    """Return answers to six questions, (n, 6)."""
    data = simulate.discrete_mixture(rows, 3, 4, views=6, random_state=0)
    return np.asarray(data["X"].to_numpy(), np.int64)


def _gaussian_mixture(covariance_type: str) -> Fit:
    """Return one start of a Gaussian mixture of scikit-learn."""

    def fit(data: Data) -> object:
        return PeerGaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(data)

    return fit


def _hmmlearn(emissions: str, **settings: Any) -> Fit:
    """Return one start of a hidden Markov model of hmmlearn."""

    def fit(data: Data) -> object:
        from hmmlearn import hmm

        return getattr(hmm, emissions)(3, n_iter=100, random_state=0, **settings).fit(data)

    return fit


def _stepmix(data: Data) -> object:
    """Fit latent classes from one start."""
    from stepmix.stepmix import StepMix

    return StepMix(
        3, measurement="categorical", random_state=0, verbose=0, progress_bar=0, max_iter=1000
    ).fit(data)


def _kernel_density(data: Data) -> object:
    """Fit a kernel density whose width is chosen among twelve by five folds."""
    widths = {"bandwidth": np.geomspace(0.1, 3, 12)}
    return GridSearchCV(KernelDensity(rtol=1e-3), widths, cv=5).fit(data)


CASES = (
    Case(
        "KernelMixture(3)",
        _cells,
        lambda: bigtensor.KernelMixture(3, random_state=0),
        "GaussianMixture of scikit-learn",
        _gaussian_mixture("full"),
    ),
    Case(
        "KernelMixture(8) of cells",
        lambda rows: _values(simulate.cytometry(rows, random_state=0)),
        lambda: bigtensor.KernelMixture(8, random_state=0),
        "FlowSOM",
        lambda data: flowsom_labels(data, 8),
        most_rows=1_000_000,
    ),
    Case(
        "GaussianMixture(3)",
        _cells,
        lambda: bigtensor.GaussianMixture(3, random_state=0),
        "GaussianMixture of scikit-learn",
        _gaussian_mixture("full"),
    ),
    Case(
        "LinearMixture(3)",
        lambda rows: _values(simulate.linear_mixture(rows, 3, random_state=0)),
        lambda: bigtensor.LinearMixture(3, views=_THIRDS, random_state=0),
        "GaussianMixture of scikit-learn, spherical",
        _gaussian_mixture("spherical"),
    ),
    Case(
        "ICA(4)",
        lambda rows: _values(simulate.ica(rows, 4, 6, noise=0.1, random_state=0)),
        lambda: bigtensor.ICA(4, random_state=0),
        "FastICA",
        lambda data: FastICA(4, whiten="unit-variance", random_state=0).fit(data),
    ),
    Case(
        "KernelICA(4)",
        lambda rows: _values(simulate.ica(rows, 4, 4, random_state=0)),
        lambda: bigtensor.KernelICA(4, random_state=0),
        "FastICA",
        lambda data: FastICA(4, whiten="unit-variance", random_state=0).fit(data),
    ),
    Case(
        "SparseICA(6)",
        lambda rows: _values(simulate.ica(rows, 6, 6, sources="laplace", random_state=0)),
        lambda: bigtensor.SparseICA(6, random_state=0),
        "MiniBatchDictionaryLearning",
        lambda data: MiniBatchDictionaryLearning(6, random_state=0).fit(data),
    ),
    Case(
        "TensorTrainDensity()",
        _cells,
        lambda: bigtensor.TensorTrainDensity(random_state=0),
        "KernelDensity by five folds",
        _kernel_density,
        most_rows=10_000,
    ),
    Case(
        "HiddenMarkovModel(3)",
        _symbols,
        lambda: bigtensor.HiddenMarkovModel(3, random_state=0),
        "CategoricalHMM of hmmlearn, one start",
        _hmmlearn("CategoricalHMM"),
        most_rows=100_000,
    ),
    Case(
        'HiddenMarkovModel(3, emissions="kernel")',
        _cells,
        lambda: bigtensor.HiddenMarkovModel(3, emissions="kernel", random_state=0),
        "GMMHMM of hmmlearn, one start",
        _hmmlearn("GMMHMM", n_mix=2, covariance_type="diag"),
        most_rows=100_000,
    ),
    Case(
        "DiscreteMixture(3)",
        _answers,
        lambda: bigtensor.DiscreteMixture(3, random_state=0),
        "StepMix, one start",
        _stepmix,
        most_rows=100_000,
    ),
    Case(
        "TopicModel(5)",
        lambda rows: csr_array(simulate.topics(rows, 5, 500, random_state=0).X),
        lambda: bigtensor.TopicModel(5, random_state=0),
        "tomotopy, 200 sweeps",
        lambda data: gibbs(200)(data, 5, 0),
        most_rows=10_000,
    ),
)
"""Every family of the package."""


def size_rows(case: Case, sizes: Sequence[int]) -> list[Row]:
    """Return the processor times of a family and of its peer.

    Parameters
    ----------
    case : Case
        Family and peer.
    sizes : sequence of int
        Numbers of rows.
    """
    table: list[Row] = []
    for rows in sizes:
        data = case.draw(rows)
        seconds, wall, peer = _medians(case, data, with_peer=rows <= case.most_rows)
        row: Row = {"model": case.name, "rows": rows, "processor s": seconds, "wall s": wall}
        if peer is not None:
            ratio = seconds / peer
            row |= {"peer": case.peer_name, "peer's processor s": peer, "ratio": ratio}
            if rows <= SIZES[-1]:
                allowed = max(MOST_RATIO * peer, ENOUGH_SECONDS)
                row |= bars({f"<= {MOST_RATIO:g} x or {ENOUGH_SECONDS:g} s": seconds <= allowed})
        table.append(row)
    return table


def _medians(case: Case, data: Data, *, with_peer: bool) -> tuple[float, float, float | None]:
    """Return processor and wall seconds of ours, and processor seconds of the peer."""
    # the first call compiles
    _seconds(case.fit, data)
    processor, wall = np.median(_turns(case.fit, data), axis=0)
    if not with_peer:
        return float(processor), float(wall), None
    return float(processor), float(wall), float(np.median(_turns(case.peer, data), axis=0)[0])


def _turns(fit: Fit, data: Data) -> list[tuple[float, float]]:
    """Return the seconds of a few fits; one is enough where it takes long."""
    taken = [_seconds(fit, data)]
    while len(taken) < TURNS and taken[0][1] < LONG:
        taken.append(_seconds(fit, data))
    return taken


def _seconds(fit: Fit, data: Data) -> tuple[float, float]:
    """Return the processor and wall seconds of a fit."""
    with warnings.catch_warnings(), single_blas_thread():
        warnings.simplefilter("ignore")
        began = time.process_time(), time.perf_counter()
        fit(data)
        return time.process_time() - began[0], time.perf_counter() - began[1]


def add_sizes(
    report: Report, sizes: Sequence[int], only: Sequence[str] = (), history: Path | None = None
) -> list[str]:
    """Print the table of every family, and compare ratios with those of the history.

    Parameters
    ----------
    report : Report
        Receives a table a family.
    sizes : sequence of int
        Numbers of rows.
    only : sequence of str
        Beginnings of the names of the families; all by default.
    history : Path, optional
        File of one line of JSON a run, to which the ratios of this run are added.

    Returns
    -------
    list of str
        Families and sizes whose ratio is above `MOST_GROWTH` times the usual one of the history.
    """
    usual, ratios, slower = _usual_ratios(history), dict[str, float](), list[str]()
    for case in CASES:
        if only and not case.name.startswith(tuple(only)):
            continue
        rows = size_rows(case, sizes)
        for row in rows:
            if "ratio" not in row:
                continue
            key = f"{case.name} {row['rows']}"
            ratios[key] = row["ratio"]
            if key in usual:
                row["usual ratio"] = usual[key]
                if row["ratio"] > MOST_GROWTH * usual[key]:
                    slower.append(key)
        report.add(case.name, rows)
    if history is not None:
        line = {"date": datetime.now(UTC).date().isoformat(), **machine(), "ratios": ratios}
        history.parent.mkdir(parents=True, exist_ok=True)
        with history.open("a") as file:
            file.write(json.dumps(line) + "\n")
    return slower


def _usual_ratios(history: Path | None) -> dict[str, float]:
    """Return the median of the last ratios of every family and size: one run alone is noisy."""
    lines = history.read_text().splitlines() if history is not None and history.exists() else []
    collected: dict[str, list[float]] = {}
    for line in lines[-RUNS:]:
        for key, ratio in json.loads(line)["ratios"].items():
            collected.setdefault(key, []).append(ratio)
    return {key: float(np.median(values)) for key, values in collected.items()}
