"""Densities of latent chains, whose truth is known."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from bigtensor import TensorTrainDensity, TensorTrainOptions, simulate
from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Workspace
from tests.benchmarks.density.peers import gaussian_mixture, kernel_density
from tests.benchmarks.tables import Row

Floats = NDArray[np.float64]

SEED = 500
TEST_ROWS = 20_000


def drawn(d: int, k: int, stay: float, rows: int, seed: int) -> tuple[xr.Dataset, Floats, Floats]:
    """Return a model, rows and test rows of it."""
    data = simulate.latent_chain(rows + TEST_ROWS, k, d, stay, SEED + seed)
    values = data["X"].values.astype(np.float64)
    return data, values[:rows], values[rows:]


def excess(truth: xr.Dataset, test: Floats, scores: Floats) -> float:
    """Return by how much the mean log-density of test rows is below the true one."""
    return float((simulate.latent_chain_density(truth, test) - scores).mean())


def few_rows(models: int) -> list[Row]:
    """Return the excess of the train and of peers for 1,500 rows of 12 variables."""
    rows = []
    for seed in range(models):
        truth, X, test = drawn(12, 4, 0.7, 1500, seed)
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        volume = float(np.log(deviation).sum())
        train = excess(truth, test, TensorTrainDensity().fit(X).score_samples(test))
        of_peers = [
            excess(
                truth,
                test,
                make().fit((X - mean) / deviation).score_samples((test - mean) / deviation)
                - volume,
            )
            for make in (kernel_density, gaussian_mixture)
        ]
        ratios = [train / other for other in of_peers]
        rows.append(
            {
                "seed": seed,
                "train": round(train, 3),
                "kernel density": round(of_peers[0], 3),
                "Gaussian mixture": round(of_peers[1], 3),
                "ratios": f"{ratios[0]:.3f} {ratios[1]:.3f}",
                "bar": 0.15,
                "holds": max(ratios) <= 0.15,
            }
        )
    return rows


def orders(models: int) -> list[Row]:
    """Return the excess with the learned order over that with the true order."""
    rows = []
    for seed in range(models):
        truth, X, test = drawn(16, 4, 0.75, 2000, seed)
        for rank in (4, 8, 12):
            model = TensorTrainDensity(
                rank, coordinates="z", trains=TensorTrainOptions(n_trains=1)
            ).fit(X)
            learned = excess(truth, test, model.score_samples(test))
            shuffled = np.random.default_rng(seed).permutation(16)
            # the same rows with their variables in another order
            other = TensorTrainDensity(
                rank, coordinates="z", trains=TensorTrainOptions(n_trains=1)
            ).fit(X[:, shuffled])
            permuted = excess(truth, test, other.score_samples(test[:, shuffled]))
            in_order = [int(name[1:]) for name in model.order_] in (
                list(range(16)),
                list(range(16))[::-1],
            )
            ratio = permuted / learned
            rows.append(
                {
                    "seed": seed,
                    "rank": rank,
                    "excess": round(learned, 3),
                    "true order found": in_order,
                    "of permuted variables": round(permuted, 3),
                    "ratio": round(ratio, 3),
                    "bar": 1.2,
                    "holds": in_order and ratio <= 1.2,
                }
            )
    return rows


def many_rows(models: int, rows_of: int = 1_000_000) -> list[Row]:
    """Return how passes over a million rows improve the train of the sample."""
    rows = []
    for seed in range(models):
        truth, X, test = drawn(10, 4, 0.7, rows_of, seed)
        single = X.astype(np.float32)
        excesses = []
        for passes in range(4):
            model = TensorTrainDensity(8, coordinates="z", widths=(0.26,), max_iter=max(passes, 1))
            model = model.fit(single if passes else X[:20_000])
            excesses.append(excess(truth, test, model.score_samples(test)))
        ratio = excesses[3] / excesses[0]
        rows.append(
            {
                "seed": seed,
                "sample": round(excesses[0], 4),
                **{f"{n} passes": round(excesses[n], 4) for n in (1, 2, 3)},
                "ratio": round(ratio, 3),
                "bar": 0.6,
                "holds": ratio <= 0.6,
            }
        )
    return rows


def speed() -> list[Row]:
    """Return the time of a pass for a row of ten variables, rank 8, beside products of matrices."""
    _, X, _ = drawn(10, 4, 0.7, 200_000, 0)
    model = TensorTrainDensity(
        8, coordinates="z", widths=(0.26,), trains=TensorTrainOptions(n_trains=1)
    ).fit(X[:20_000])
    sums = model.solution_.counts(0, 0)
    rows = []
    for dtype in (np.float32, np.float64):
        values = X.astype(dtype)
        spent = min(_seconds(sums, values) for _ in range(3))
        # the operations of the published formula: 6 r^2 p for a row and variable
        bumps = np.mean([len(table) for table in model.solution_.bumps])
        operations = 6 * 64 * bumps * 10
        microseconds = 1e6 * spent / len(X)
        rows.append(
            {
                "rows in": np.dtype(dtype).name,
                "microseconds a row": round(microseconds, 2),
                "bumps": round(float(bumps), 1),
                "over float32 products": round(operations / microseconds / 1e3 / _gemm(), 3),
                "bar": 1.8,
                "holds": microseconds <= 1.8,
            }
        )
    return rows


def anomalies(models: int) -> list[Row]:
    """Return how well log-densities tell rows from rows with permuted columns."""
    rows = []
    for seed in range(models):
        truth, X, test = drawn(8, 4, 0.75, 4000, seed)
        rng = np.random.default_rng(seed)
        broken = np.stack([rng.permutation(column) for column in test.T], axis=1)
        both = np.concatenate([test, broken])
        is_row = np.repeat([1, 0], len(test))
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        areas = {"exact": roc_auc_score(is_row, simulate.latent_chain_density(truth, both))}
        areas["train"] = roc_auc_score(is_row, TensorTrainDensity().fit(X).score_samples(both))
        for name, make in (
            ("kernel density", kernel_density),
            ("Gaussian mixture", gaussian_mixture),
        ):
            scores = make().fit((X - mean) / deviation).score_samples((both - mean) / deviation)
            areas[name] = roc_auc_score(is_row, scores)
        rows.append(
            {
                "seed": seed,
                **{name: round(float(area), 3) for name, area in areas.items()},
                "holds": areas["train"] >= areas["kernel density"],
            }
        )
    return rows


def _seconds(sums: Any, values: NDArray[Any]) -> float:
    """Return the processor time of a statistic over rows in memory."""
    state, work = sums.init(), Workspace()
    begin = time.process_time()
    for start in range(0, len(values), sums.block_rows):
        part = values[start : start + sums.block_rows]
        sums.update(state, Block(part, {}, start, len(part)), work)
    return time.process_time() - begin


def _gemm() -> float:
    """Return the rate of products of float32 matrices, in 1e9 operations a second."""
    left = np.ones((2048, 2048), np.float32)
    left @ left
    begin = time.process_time()
    for _ in range(3):
        left @ left
    return 3 * 2 * 2048**3 / (time.process_time() - begin) / 1e9
