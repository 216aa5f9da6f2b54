"""Mixtures whose joint table is known: how they are drawn, and what an estimate is judged by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor import DiscreteMixture
from tests.benchmarks.baselines.count_em import Factors, joint_table

FloatArray = NDArray[np.float64]

FIRST_SEED = 7000
"""Models of the study that the constants were chosen in have other seeds."""

VIEWS = ("first", "second", "third")


@dataclass(frozen=True)
class Drawn:
    """Counts of rows that were drawn from a mixture of three views.

    Attributes
    ----------
    factors : Factors
        True weights and probabilities.
    counts : (n, n, n) array
    """

    factors: Factors
    counts: NDArray[np.int64]

    @property
    def components(self) -> int:
        """Number of components."""
        return len(self.factors[0])

    @cached_property
    def table(self) -> FloatArray:
        """True joint probabilities."""
        return joint_table(self.factors)

    def error(self, table: FloatArray) -> float:
        """Return the sum over all cells of the absolute difference from the true probability."""
        return float(np.abs(table - self.table).sum())

    @property
    def distinct(self) -> tuple[xr.DataArray, FloatArray]:
        """Distinct rows, and how often each occurs."""
        seen = self.counts > 0
        return _coded(np.argwhere(seen), self.counts.shape), self.counts[seen].astype(np.float64)

    def rows(self, seed: int) -> xr.DataArray:
        """Every row by itself, in random order."""
        rows = np.repeat(np.argwhere(self.counts > 0), self.counts[self.counts > 0], axis=0)
        return _coded(np.random.default_rng(seed).permutation(rows), self.counts.shape)

    @classmethod
    def of(cls, k: int, rows: int, seed: int) -> Drawn:
        """Draw a mixture of k components and 2k symbols a view, and the counts of its rows.

        Weights and probabilities are uniform on their simplices. Models of one seed are the same
        for any number of rows.
        """
        rng = np.random.default_rng([seed, k])
        first, second, third = (rng.dirichlet(np.ones(2 * k), k).T for _ in VIEWS)
        factors = (rng.dirichlet(np.ones(k)), first, second, third)
        table = joint_table(factors)
        counts = rng.multinomial(rows, (table / table.sum()).ravel())
        return cls(factors, counts.reshape(table.shape))


def models(k: int, rows: int, count: int) -> Iterator[Drawn]:
    """Yield fresh models with the counts of their rows."""
    for number in range(count):
        yield Drawn.of(k, rows, FIRST_SEED + number)


def table_of(model: DiscreteMixture) -> FloatArray:
    """Return the joint probabilities of a fitted mixture of three views."""
    first, second, third = (np.asarray(p) for p in model.component_probabilities_.values())
    return joint_table((model.weights_, first, second, third))


def _coded(rows: NDArray[np.int64], sizes: tuple[int, ...]) -> xr.DataArray:
    """Return codes with the names of all categories."""
    return xr.DataArray(
        rows.astype(np.int32),
        dims=("sample", "feature"),
        coords={"feature": list(VIEWS)},
        attrs={
            "categories": {
                view: tuple(map(str, range(size))) for view, size in zip(VIEWS, sizes, strict=True)
            }
        },
    )
