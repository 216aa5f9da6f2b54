"""Sparse sources beside dictionary learning: errors of columns, times and patches of a photograph.

Run ``python -m tests.benchmarks.sparse_ica``. Errors are sines of the angles between true and
estimated columns, matched one to one. The floor of the fourth cumulant is a Gauss-Newton descent on
the cumulant of all rows from the true columns. Times are processor times of one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_sample_image
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.feature_extraction.image import extract_patches_2d

from bigtensor import SparseICA
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.sample_tensors.gauss_newton import descended
from bigtensor.decomposition.sample_tensors.terms import Terms, unit_columns
from bigtensor.decomposition.sources.independent_components import principal_axes
from bigtensor.engine.blas import single_blas_thread
from bigtensor.models.sources.whitened_sample import ORDERS, WhitenedSample
from tests.benchmarks.ica.simulated import column_error
from tests.benchmarks.tables import Report, Row

Array = NDArray[Any]

MOST_ERROR, MOST_POLISHED = 1.1, 0.03
"""Bars: columns of the cumulant against its floor, and error after two polish passes."""

ALPHAS = (0.1, 0.2, 0.3, 0.5, 0.8)
"""Penalties of dictionary learning, of which the best by the true columns counts."""


@dataclass(frozen=True)
class Problem:
    """Rows of a few Gaussian sources, columns on the unit sphere, and noise."""

    d: int
    k: int
    active: int
    rows: int
    noise: float = 0.05

    def draw(self, seed: int) -> tuple[Array, Array]:
        """Return rows and columns."""
        rng = np.random.default_rng(seed)
        columns = rng.standard_normal((self.d, self.k))
        columns /= np.linalg.norm(columns, axis=0)
        sources = rng.standard_normal((self.rows, self.k))
        sources[rng.random(sources.shape) >= self.active / self.k] = 0
        values = sources @ columns.T + self.noise * rng.standard_normal((self.rows, self.d))
        return values.astype(np.float32), columns

    def __str__(self) -> str:
        return f"{self.d}x{self.k} s={self.active} n={self.rows:,} noise {self.noise:g}"


PROBLEMS = (
    Problem(50, 75, 3, 50_000),
    Problem(50, 100, 4, 100_000),
    Problem(20, 30, 2, 50_000, 0.1),
    Problem(50, 50, 5, 100_000),
)


def cumulant_floor(values: Array, columns: Array) -> Array:
    """Return the columns of the fourth cumulant of all rows, from the true ones."""
    exact = values.astype(np.float64)
    mean = exact.mean(axis=0)
    covariance = np.cov(exact.T, bias=True)
    axes = principal_axes(covariance, np.zeros(len(mean)))
    block = Block(values, {"sample": slice(0, len(mean))}, 0, len(values))
    sample = WhitenedSample.of_block(block, axes, mean, "float32")
    along = unit_columns((axes.whitening.T @ columns,))
    contract = sample.cumulant()
    start = Terms(np.full(columns.shape[1], 1.0), along, ORDERS)
    weights = (along[0] * contract(along)[0]).sum(axis=0)
    found = descended(contract, Terms(weights, start.factors, ORDERS))
    return np.asarray(axes.unwhitening @ found.factors[0])


def methods(problem: Problem, *, peers: bool) -> dict[str, Callable[[Array, Array], Array]]:
    """Return functions of rows and true columns that return columns."""
    k = problem.k
    found: dict[str, Callable[[Array, Array], Array]] = {
        "cumulant": lambda X, _: SparseICA(k, max_iter=0, random_state=0).fit(X).mixing_,
        "SparseICA": lambda X, _: SparseICA(k, random_state=0).fit(X).mixing_,
        "floor of the cumulant": cumulant_floor,
    }
    for alpha in ALPHAS if peers else ():
        found[f"dictionary learning {alpha:g}"] = lambda X, _, alpha=alpha: (
            MiniBatchDictionaryLearning(
                k, alpha=alpha, batch_size=512, max_iter=5, fit_algorithm="cd", random_state=0
            )
            .fit(X)
            .components_.T
        )
    return found


def measured(problem: Problem, seeds: int, peer_seeds: int) -> list[Row]:
    """Return the errors and times of all methods on a problem."""
    found: dict[str, list[tuple[int, float, float]]] = {}
    for seed in range(seeds):
        values, columns = problem.draw(seed)
        for name, fit in methods(problem, peers=seed < peer_seeds).items():
            begin = time.process_time()
            with warnings.catch_warnings(), single_blas_thread():
                warnings.simplefilter("ignore")
                fitted = fit(values, columns)
            seconds = time.process_time() - begin
            entry = (fitted.shape[1], column_error(columns, fitted), seconds)
            found.setdefault(name, []).append(entry)
    return [
        {
            "method": name,
            "seeds": len(entries),
            "fewest found": min(entry[0] for entry in entries),
            "error": round(float(np.mean([entry[1] for entry in entries])), 4),
            "worst": round(max(entry[1] for entry in entries), 4),
            "seconds": round(float(np.median([entry[2] for entry in entries])), 2),
        }
        for name, entries in found.items()
    ]


def bars(problem: Problem, rows: list[Row]) -> list[Row]:
    """Return the rows of the bars."""
    by_name = {row["method"]: row for row in rows}
    ratio = by_name["cumulant"]["error"] / by_name["floor of the cumulant"]["error"]
    polished = by_name["SparseICA"]["worst"]
    every = min(by_name[name]["fewest found"] for name in ("cumulant", "SparseICA"))
    return [
        {"bar": "error, floor", "value": round(ratio, 3), "holds": ratio <= MOST_ERROR},
        {"bar": "polished", "value": polished, "holds": polished <= MOST_POLISHED},
        {"bar": "sources found", "value": every, "holds": every == problem.k},
    ]


def patches(side: int = 8, rows: int = 100_000) -> Array:
    """Return patches of a photograph that scikit-learn has, each less its mean."""
    image = load_sample_image("china.jpg").mean(axis=2) / 255
    found = extract_patches_2d(image, (side, side), max_patches=rows, random_state=0)
    values = found.reshape(len(found), -1)
    return np.asarray((values - values.mean(axis=1, keepdims=True)).astype(np.float32))


def on_patches(k: int) -> list[Row]:
    """Return how much of half of the patches each model explains, and with how many sources.

    Dictionary learning has the penalty that leaves about as many codes a row.
    """
    values = patches()
    fitted_to, held_out = values[::2], values[1::2]
    rows = []
    with warnings.catch_warnings(), single_blas_thread():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        model = SparseICA(k, random_state=0).fit(fitted_to)
        seconds = time.process_time() - begin
        codes = model.transform(held_out)
        rows.append(_explained("SparseICA", held_out, codes, model.inverse_transform(codes)))
        rows[-1]["seconds"] = round(seconds, 1)
        active = round(float((codes != 0).sum(axis=1).mean()))
        begin = time.process_time()
        peer = MiniBatchDictionaryLearning(
            model.mixing_.shape[1],
            alpha=0.1,
            batch_size=512,
            max_iter=5,
            fit_algorithm="cd",
            transform_algorithm="omp",
            transform_n_nonzero_coefs=active,
            random_state=0,
        ).fit(fitted_to)
        seconds = time.process_time() - begin
        codes = peer.transform(held_out)
        rows.append(_explained("dictionary learning", held_out, codes, codes @ peer.components_))
        rows[-1]["seconds"] = round(seconds, 1)
    return rows


def _explained(name: str, values: Array, codes: Array, again: Array) -> Row:
    """Return the share of the variance that codes explain, and how many are not zero."""
    left = np.square(values - again).sum() / np.square(values - values.mean(axis=0)).sum()
    return {
        "method": name,
        "sources": codes.shape[1],
        "active": round(float((codes != 0).sum(axis=1).mean()), 1),
        "explained": round(1 - float(left), 3),
    }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--peer-seeds", type=int, default=2, help="Seeds of dictionary learning.")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", choices=("simulated", "patches"))
    given = parser.parse_args()
    report = Report("sparse ica", {"seeds": given.seeds}, given.out)
    for problem in PROBLEMS if given.only in (None, "simulated") else ():
        rows = measured(problem, given.seeds, given.peer_seeds)
        report.add(str(problem), rows)
        report.add(f"bars of {problem}", bars(problem, rows))
    if given.only in (None, "patches"):
        report.add("patches of a photograph", on_patches(100))


if __name__ == "__main__":
    main()
