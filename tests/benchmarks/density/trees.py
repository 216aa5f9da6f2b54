"""A latent chain and a balanced latent tree on rows of either."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor import TensorTrainDensity
from tests.benchmarks.density.chains import drawn, excess
from tests.benchmarks.tables import Row

Floats = NDArray[np.float64]

TEST_ROWS = 20_000

_DEVIATION = 0.6
_OUTERMOST = 2.2


@dataclass(frozen=True, eq=False)
class LatentTree:
    """Gaussian variables at the leaves of a balanced binary tree of latent states.

    Attributes
    ----------
    means : (d, k) float64 array
        Permutations of equally spaced points; d is a power of two.
    move : (k, k) float64 array
        From a state to that of either child.
    """

    means: Floats
    move: Floats

    @classmethod
    def random(cls, d: int, k: int, stay: float, rng: np.random.Generator) -> LatentTree:
        """Return a tree with the means and moves of the simulated chains."""
        points = np.linspace(-_OUTERMOST, _OUTERMOST, k)
        means = np.stack([rng.permutation(points) for _ in range(d)])
        return cls(means, stay * np.eye(k) + (1 - stay) * rng.dirichlet(np.ones(k), k))

    def draw(self, rows: int, rng: np.random.Generator) -> Floats:
        """Draw rows, (rows, d)."""
        d, k = self.means.shape
        states = rng.integers(k, size=(rows, 1))
        steps = self.move.cumsum(axis=1)
        while states.shape[1] < d:
            states = np.repeat(states, 2, axis=1)
            uniform = rng.random((*states.shape, 1))
            states = np.minimum((uniform > steps[states]).sum(axis=2), k - 1)
        noise = _DEVIATION * rng.normal(size=(rows, d))
        return np.asarray(self.means[np.arange(d), states] + noise)

    def log_densities(self, rows: Floats) -> Floats:
        """Return the log-densities of rows, (n,)."""
        distance = (rows[:, :, None] - self.means) / _DEVIATION
        below = np.exp(-0.5 * np.square(distance)) / (_DEVIATION * np.sqrt(2 * np.pi))
        log_density = np.zeros(len(rows))
        while below.shape[1] > 1:
            moved = below @ self.move.T
            below = moved[:, ::2] * moved[:, 1::2]
            # products of many densities are small
            largest = below.max(axis=2, keepdims=True)
            below /= largest
            log_density += np.log(largest).sum(axis=(1, 2))
        return np.asarray(log_density + np.log(below[:, 0].mean(axis=1)))


def structures(models: int) -> list[Row]:
    """Return the excess of a chain and of a balanced tree, fitted to rows of a tree and a chain."""
    rows = []
    for seed in range(models):
        rng = np.random.default_rng(seed)
        tree = LatentTree.random(16, 4, 0.75, rng)
        X, test = tree.draw(2000, rng), tree.draw(TEST_ROWS, rng)
        true = tree.log_densities(test)
        rows.append(_row("tree", seed, X, test, lambda scores, true=true: (true - scores).mean()))
        chain, X, test = drawn(16, 4, 0.75, 2000, seed)
        rows.append(
            _row("chain", seed, X, test, lambda scores, c=chain, t=test: excess(c, t, scores))
        )
    return rows


def _row(truth: str, seed: int, X: Floats, test: Floats, above: Callable[[Floats], float]) -> Row:
    """Return the excess of both structures at two ranks."""
    found = {
        f"{structure}, rank {rank}": round(
            float(
                above(
                    TensorTrainDensity(rank, coordinates="z", structure=structure)
                    .fit(X)
                    .score_samples(test)
                )
            ),
            3,
        )
        for structure in ("chain", "balanced")
        for rank in (4, 8)
    }
    return {"rows of a": truth, "seed": seed, **found}
