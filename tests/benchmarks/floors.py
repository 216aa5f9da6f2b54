"""The least a pass can cost: what the processor and the disk do at their measured rates.

The work is that of exact features. Those of views of one feature are interpolated from tables,
which can be less work than the exponentials that are counted here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import zarr

from bigtensor.features.group_map import GroupMap

SQUARE = 2048
"""Side of the matrices whose product gives the rate of multiplications."""

BLOCK = 100 * 1536
"""Numbers that are exponentiated at once: as many as a block of a pass has for one view."""


@dataclass(frozen=True)
class Work:
    """What has to be done for one row."""

    flops: float
    exponentials: float
    nbytes: float

    @classmethod
    def of_moments(cls, groups: Sequence[GroupMap], itemsize: int = 4) -> Work:
        """Count the work of the moments of three groups of views.

        Every view has one product of ``[x, |x|^2, 1]`` with the p landmarks, p exponentials, and
        one product with the (p, q) projection; then come the triple product and the second
        moments of the augmented features.
        """
        flops = exponentials = nbytes = 0.0
        for group in groups:
            for part in group.maps:
                p, d, q = part.n_basis, part.n_inputs, part.n_features
                flops += 2 * p * (d + 2) + 2 * p * q
                exponentials += p
                nbytes += itemsize * d
        sizes = [group.n_features + 1 for group in groups]
        flops += 2 * float(np.prod(sizes)) + sum(2 * size**2 for size in sizes)
        return cls(flops, exponentials, nbytes)


@dataclass(frozen=True)
class Rates:
    """What one thread does in a second, in float32."""

    flops: float
    exponentials: float
    nbytes: float

    def seconds(self, work: Work) -> float:
        """Return the least seconds that the work of one row takes."""
        return (
            work.flops / self.flops
            + work.exponentials / self.exponentials
            + work.nbytes / self.nbytes
        )


def fastest(action: Callable[[], object], repeats: int = 5) -> float:
    """Return the least processor seconds of an action; the first call does not count."""
    action()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        seconds.append(time.process_time() - start)
    return min(seconds)


def flop_rate() -> float:
    """Return float32 operations a second of a large square product; BLAS must be on one thread."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, SQUARE, SQUARE), dtype=np.float32)
    out = np.empty_like(left)
    return 2 * SQUARE**3 / fastest(lambda: np.matmul(left, right, out=out), 3)


def exponential_rate() -> float:
    """Return float32 exponentials a second in the cache."""
    exponents = -20 * np.random.default_rng(0).random(BLOCK, dtype=np.float32)
    out = np.empty_like(exponents)
    times = 200

    def action() -> None:
        for _ in range(times):
            np.exp(exponents, out=out)

    return times * BLOCK / fastest(action)


def read_rate(store: Path, rows: int) -> float:
    """Return bytes a second of reading and decoding the features of a store, whole pieces at once.

    The store has just been read, so that this is the rate of memory and decoding, not of a disk.
    """
    values = zarr.open_group(store, mode="r")["X"]
    assert isinstance(values, zarr.Array)
    chunk = (values.shards or values.chunks)[0]
    last = max(chunk, rows // chunk * chunk)

    def action() -> None:
        for start in range(0, last, chunk):
            values[start : start + chunk]

    nbytes = min(last, values.shape[0]) * values.shape[1] * values.dtype.itemsize
    return nbytes / fastest(action, 3)


def measure_rates(store: Path, rows: int) -> Rates:
    """Return all rates of this process."""
    return Rates(flop_rate(), exponential_rate(), read_rate(store, rows))
