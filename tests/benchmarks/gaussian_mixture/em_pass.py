"""Processor time of an EM pass beside scikit-learn's E and M step and the bare matrix products.

``python -m tests.benchmarks.gaussian_mixture.em_pass --out em_pass.json``

All run on one thread, in the same process, one after the other. The least of several runs counts.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.mixture import GaussianMixture as Peer

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.engine.blas import single_blas_thread
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.gaussian.own_covariance_densities import Frame, OwnCovarianceDensities
from bigtensor.statistics.gaussian.own_covariance_sums import OwnCovarianceSums
from tests.benchmarks.tables import Report, Row

SHAPES = ((6, 8), (10, 20), (18, 30), (30, 50))
"""Features and components."""

PEER_ROWS = 40_000


def processor_seconds(run: Callable[[], object], repeats: int) -> float:
    """Return the least processor time of several runs."""
    best = np.inf
    for _ in range(repeats):
        begin = time.process_time()
        run()
        best = min(best, time.process_time() - begin)
    return best


def peer_seconds(rows: FloatArray, k: int, covariance_type: str) -> float:
    """Return scikit-learn's seconds a row of an E and an M step."""
    peer = Peer(k, covariance_type=covariance_type, max_iter=1, init_params="random_from_data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(rows)

    def step() -> None:
        peer._m_step(rows, peer._e_step(rows)[1])

    return processor_seconds(step, 5) / len(rows)


def pass_seconds(mixture: OwnCovarianceDensities, rows: FloatArray) -> float:
    """Return the seconds a row of one block."""
    statistic, work = OwnCovarianceSums(mixture), Workspace()
    values = rows[: statistic.block_rows].astype(mixture.dtype)
    block, state = Block(values, {"all": slice(0, rows.shape[1])}, 0, len(values)), statistic.init()
    return processor_seconds(lambda: statistic.update(state, block, work), 25) / len(values)


def product_seconds(mixture: OwnCovarianceDensities) -> float:
    """Return the seconds a row of the two matrix products alone."""
    rows, width = mixture.tile_rows, mixture.features.width
    features = np.ones((width, rows), mixture.dtype)
    joint = np.ones((rows, mixture.n_components), mixture.dtype)
    sums = np.empty((width, mixture.n_components), mixture.dtype)

    def products() -> None:
        np.matmul(features.T, mixture.factor, out=joint)
        np.matmul(features, joint, out=sums)

    return processor_seconds(products, 50) / rows


def shape_rows(d: int, k: int, covariance_type: str) -> list[Row]:
    """Return a row of the table for each dtype."""
    rng = np.random.default_rng(0)
    means = 2 * rng.normal(size=(k, d))
    rows = means[rng.integers(0, k, PEER_ROWS)] + rng.normal(size=(PEER_ROWS, d))
    covariances = {
        "full": np.repeat(np.eye(d)[None], k, axis=0),
        "diag": np.ones((k, d)),
        "spherical": np.ones(k),
    }[covariance_type]
    scaling = np.eye(d) if covariance_type == "full" else np.ones(d)
    table: list[Row] = []
    for dtype in ("float64", "float32"):
        mixture = OwnCovarianceDensities(
            np.full(k, 1 / k), means, covariances, Frame(np.zeros(d), scaling), dtype
        )
        peer, own = peer_seconds(rows, k, covariance_type), pass_seconds(mixture, rows)
        table.append(
            {
                "covariance": covariance_type,
                "features": d,
                "components": k,
                "dtype": dtype,
                "million rows a second": round(1e-6 / own, 2),
                "scikit-learn / ours": round(peer / own, 1),
                "ours / products": round(own / product_seconds(mixture), 2),
            }
        )
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    report = Report("gaussian_em_pass", {"rows": PEER_ROWS}, parser.parse_args().out)
    with single_blas_thread():
        table = [
            row
            for covariance_type in ("full", "diag", "spherical")
            for d, k in SHAPES
            for row in shape_rows(d, k, covariance_type)
        ]
    report.add("processor time of an EM pass", table)


if __name__ == "__main__":
    main()
