"""EM passes of Gaussian mixtures beside their products of matrices and exponentials.

Run ``python -m tests.benchmarks.gaussian_em``. All times are processor times of one thread, in
float32, in the same run.
"""

from __future__ import annotations

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.engine.blas import single_blas_thread
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.gaussian.gaussian_densities import GaussianDensities
from bigtensor.statistics.gaussian.gaussian_posterior import GaussianPosteriorSums
from tests.benchmarks.floors import fastest

SHAPES = ((100, 50), (100, 100), (1000, 200))
"""Components and features."""

ROWS = 15360
REPEATS = 15


def pass_seconds(mixture: GaussianDensities, values: np.ndarray) -> float:
    """Return the seconds of one block of an EM pass."""
    statistic, work = GaussianPosteriorSums(mixture), Workspace()
    state = statistic.init()
    block = Block(values, {"all": slice(0, values.shape[1])}, 0, len(values))
    return fastest(lambda: statistic.update(state, block, work), REPEATS)


def floor_seconds(mixture: GaussianDensities, values: np.ndarray) -> tuple[float, float]:
    """Return the seconds of the products, and of the exponentials, of the same block.

    Products are those of rows with means and of posterior probabilities with rows, and for a full
    covariance of rows with the whitening, tile by tile.
    """
    tile, (d, k) = values[: mixture.tile_rows].copy(), (values.shape[1], mixture.n_components)
    means = np.ones((d, k), np.float32)
    whitening = np.eye(d, dtype=np.float32)
    joint, sums = np.empty((len(tile), k), np.float32), np.empty((k, d), np.float32)
    whitened = np.empty_like(tile)
    exponents = np.full_like(joint, -5.0)
    is_full = mixture.covariance.ndim == 2

    def products() -> None:
        if is_full:
            np.matmul(tile, whitening, out=whitened)
        np.matmul(tile, means, out=joint)
        np.matmul(joint.T, tile, out=sums)

    tiles = len(values) / len(tile)
    exponentials = fastest(lambda: np.exp(exponents, out=joint), REPEATS)
    return tiles * fastest(products, REPEATS), tiles * exponentials


def main() -> None:
    """Print rows per second and the shares of both floors."""
    print("   k    d  covariance    rows/s  products  products + exponentials")
    rng = np.random.default_rng(0)
    for k, d in SHAPES:
        means = rng.normal(size=(k, d)) / np.sqrt(d)
        values = means[rng.integers(0, k, ROWS)] + rng.normal(size=(ROWS, d)) / np.sqrt(d)
        for name, covariance in (("spherical", np.full(d, 1 / d)), ("full", np.eye(d) / d)):
            mixture = GaussianDensities(np.full(k, 1 / k), means, covariance)
            with single_blas_thread():
                seconds = pass_seconds(mixture, values.astype(np.float32))
                products, exponentials = floor_seconds(mixture, values.astype(np.float32))
            shares = products / seconds, (products + exponentials) / seconds
            print(
                f"{k:4} {d:4}  {name:10} {ROWS / seconds:9,.0f}  {shares[0]:8.0%}  {shares[1]:8.0%}"
            )


if __name__ == "__main__":
    main()
