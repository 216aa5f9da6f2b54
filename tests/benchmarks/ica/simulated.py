"""Simulated sources: errors and times of independent component analysis and its peers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import kurtosis
from sklearn.decomposition import FastICA

from bigtensor import ICA
from bigtensor.engine.blas import single_blas_thread
from tests.benchmarks.tables import Row

Array = NDArray[Any]

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


@dataclass(frozen=True)
class Problem:
    """Rows with known mixing columns: sources and noise of another variance in every direction."""

    sources: str
    d: int
    k: int
    rows: int
    noise: float = 0.0

    def draw(self, seed: int) -> tuple[Array, Array]:
        """Return rows and mixing columns."""
        rng = np.random.default_rng(seed)
        mixing = rng.standard_normal((self.d, self.k))
        mixing /= np.linalg.norm(mixing, axis=0)
        values = drawn_sources(self.sources, (self.rows, self.k), rng) @ mixing.T
        if self.noise:
            values += gaussian_noise(self.noise, values.shape, rng)
        return values.astype(np.float32), mixing

    def __str__(self) -> str:
        return f"{self.sources} {self.d}x{self.k} n={self.rows:,} noise {self.noise:g}"


CLEAN = (Problem("laplace", 50, 50, 100_000), Problem("uniform", 20, 20, 100_000))
NOISY = tuple(Problem("laplace", 20, 10, 200_000, noise) for noise in (0.1, 0.5, 1.0))
OTHERS = (
    Problem("mixed", 20, 20, 100_000),
    Problem("mixed", 20, 20, 100_000, 0.3),
    Problem("uniform", 20, 10, 200_000, 0.5),
    Problem("laplace", 10, 15, 200_000, 0.1),
)

MOST_ERROR, MOST_TIME, MOST_NOISY_ERROR = 1.1, 1.2, 0.25
"""Bars against FastICA with log cosh: without noise, and with noise of .5."""


def drawn_sources(name: str, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Return sources of unit variance."""
    heavy = rng.laplace(scale=np.sqrt(0.5), size=shape)
    light = rng.uniform(-np.sqrt(3), np.sqrt(3), shape)
    if name == "mixed":
        heavy[:, ::2] = light[:, ::2]
    return light if name == "uniform" else heavy


def gaussian_noise(size: float, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Return Gaussian noise of another variance in every direction; `size` is its mean root."""
    n, d = shape
    axes, _ = np.linalg.qr(rng.standard_normal((d, d)))
    deviations = np.exp(rng.uniform(-1, 1, d))
    deviations *= size / np.sqrt(np.mean(deviations**2))
    return np.asarray((rng.standard_normal((n, d)) * deviations) @ axes.T)


def column_error(true: Array, found: Array) -> float:
    """Return the mean sine of the angle between matched columns; 1 for a column without a match."""
    true, found = (columns / np.linalg.norm(columns, axis=0) for columns in (true, found))
    cosines = np.abs(true.T @ found)
    ours, theirs = linear_sum_assignment(-cosines)
    sines = np.ones(true.shape[1])
    sines[ours] = np.sqrt(np.maximum(1 - cosines[ours, theirs] ** 2, 0))
    return float(sines.mean())


def methods(k: int, d: int) -> dict[str, Callable[[Array], Array]]:
    """Return functions of rows that return mixing columns."""
    own = {"auto": lambda X: ICA(k, random_state=0).fit(X).mixing_}
    if k > d:
        return own
    own["whitened"] = lambda X: ICA(k, method="whitened", random_state=0).fit(X).mixing_
    own["cumulant"] = lambda X: ICA(k, method="cumulant", random_state=0).fit(X).mixing_
    for fun in ("logcosh", "cube"):
        peer = FastICA(k, fun=fun, whiten="unit-variance", random_state=0, max_iter=500)
        own[f"FastICA {fun}"] = lambda X, peer=peer: _fast_ica(peer, X)
    try:
        from picard import Picard
    except ImportError:
        return own
    for name, extended in (("picard", False), ("picard extended", True)):
        model = Picard(k, ortho=False, extended=extended, random_state=0)
        own[name] = lambda X, model=model: model.fit(X.astype(np.float64)).mixing_
    return own


def _fast_ica(peer: FastICA, X: Array) -> Array:
    """Return the mixing columns, of rows in float64 where the iterations fail in float32."""
    try:
        return np.asarray(peer.fit(X).mixing_)
    except ValueError:
        return np.asarray(peer.fit(X.astype(np.float64)).mixing_)


def measured(problem: Problem, seeds: int) -> list[Row]:
    """Return the errors and times of all methods on a problem."""
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(seeds):
        values, mixing = problem.draw(seed)
        for name, fit in methods(problem.k, problem.d).items():
            begin = time.process_time()
            with warnings.catch_warnings(), single_blas_thread():
                warnings.simplefilter("ignore")
                columns = fit(values)
            seconds = time.process_time() - begin
            found.setdefault(name, []).append((column_error(mixing, columns), seconds))
    rows = []
    for name, pairs in found.items():
        errors, seconds = np.array(pairs).T
        rows.append(
            {
                "method": name,
                "error": round(float(errors.mean()), 4),
                "worst": round(float(errors.max()), 4),
                "seconds": round(float(np.median(seconds)), 2),
            }
        )
    return rows


def bars(problem: Problem, rows: list[Row]) -> list[Row]:
    """Return the rows of the bars that a problem has."""
    by_name = {row["method"]: row for row in rows}
    peer, own = by_name.get("FastICA logcosh"), by_name["auto"]
    if peer is None:
        return []
    ratio = own["error"] / peer["error"]
    if problem in CLEAN:
        pace = own["seconds"] / peer["seconds"]
        polished = by_name["whitened"]["seconds"] / peer["seconds"]
        return [
            {"bar": "error, FastICA", "value": ratio, "holds": ratio <= MOST_ERROR},
            {"bar": "time, FastICA", "value": pace, "holds": pace <= MOST_TIME},
            {"bar": "time (whitened)", "value": polished, "holds": polished <= MOST_TIME},
        ]
    if problem in NOISY and problem.noise >= 0.5:
        return [{"bar": "error, FastICA", "value": ratio, "holds": ratio <= MOST_NOISY_ERROR}]
    return []


def matched_correlations(first: Array, second: Array) -> Array:
    """Return the absolute correlations of matched sources, ascending."""
    k = first.shape[1]
    cosines = np.abs(np.corrcoef(first.T, second.T)[:k, k:])
    ours, theirs = linear_sum_assignment(-cosines)
    return np.sort(cosines[ours, theirs])


def real_sets(folder: Path) -> dict[str, Array]:
    """Return the real recordings that a folder has: an electrocardiogram and flow cytometry."""
    names = ("foetal_ecg", "gvhd", "hipc_w2")
    found = {}
    for name in names:
        path = folder / f"{name}.npz"
        if path.exists():
            with np.load(path) as file:
                found[name] = file["X"]
    return found


def on_real_data(name: str, values: Array) -> Row:
    """Return how the sources of the plainest call agree with those of FastICA."""
    k = values.shape[1]
    with warnings.catch_warnings(), single_blas_thread():
        warnings.simplefilter("ignore")
        model = ICA(random_state=0).fit(values)
        peer = FastICA(k, whiten="unit-variance", random_state=0, max_iter=1000)
        theirs = peer.fit_transform(values)
    ours = model.transform(values)
    agreement = matched_correlations(ours, theirs)
    return {
        "data": name,
        "method": model.method_,
        "sources": ours.shape[1],
        "least correlation": round(float(agreement[0]), 4),
        "median": round(float(np.median(agreement)), 4),
        "kurtosis": " ".join(f"{value:.1f}" for value in model.kurtosis_[:4]),
        "of FastICA": " ".join(f"{v:.1f}" for v in -np.sort(-np.abs(kurtosis(theirs)))[:4]),
    }
