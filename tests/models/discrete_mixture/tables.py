"""Discrete mixtures with a known truth, and rows that are exactly in proportion."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import xarray as xr

from bigtensor import DiscreteMixture


@dataclass(frozen=True)
class Truth:
    """Weights, descending, and probabilities (categories, components) of every view."""

    weights: np.ndarray
    probabilities: tuple[np.ndarray, ...]

    @property
    def joint(self) -> np.ndarray:
        """The joint table of all views."""
        return joint_table(self.weights, self.probabilities)

    def rows(self, total: float = 1e6) -> tuple[xr.DataArray, np.ndarray]:
        """Every row that may occur, with its probability times a total as its weight."""
        joint = self.joint
        codes = np.indices(joint.shape).reshape(joint.ndim, -1).T
        return labelled(codes, joint.shape), total * joint.ravel()

    def drawn(self, rows: int, rng: np.random.Generator) -> tuple[xr.DataArray, np.ndarray]:
        """Distinct rows of a sample, with how often they occur."""
        joint = self.joint
        counts = rng.multinomial(rows, joint.ravel())
        codes = np.indices(joint.shape).reshape(joint.ndim, -1).T
        return labelled(codes[counts > 0], joint.shape), counts[counts > 0].astype(float)


def truth(k: int, sizes: tuple[int, ...], seed: int = 0) -> Truth:
    """Return a mixture of components that are not too small."""
    rng = np.random.default_rng(seed)
    weights = np.sort(rng.dirichlet(np.full(k, 20.0)))[::-1]
    return Truth(weights, tuple(rng.dirichlet(np.ones(size), k).T for size in sizes))


def labelled(codes: np.ndarray, sizes: tuple[int, ...]) -> xr.DataArray:
    """Return codes with named features and categories."""
    names = [f"view{view}" for view in range(len(sizes))]
    categories = {
        name: [f"c{code}" for code in range(size)] for name, size in zip(names, sizes, strict=True)
    }
    return xr.DataArray(
        codes.astype(np.int32),
        {"feature": names},
        ("sample", "feature"),
        attrs={"categories": categories},
    )


def joint_table(weights: np.ndarray, probabilities: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the joint probabilities of all views."""
    table = weights
    for columns in probabilities:
        table = table[..., None, :] * columns
    return table.sum(axis=-1)


def fitted_table(model: DiscreteMixture) -> np.ndarray:
    """Return the joint probabilities of a fitted mixture."""
    tables = tuple(table.to_numpy() for table in model.component_probabilities_.values())
    return joint_table(model.weights_, tables)


def distance(model: DiscreteMixture, known: Truth) -> float:
    """Return the largest difference of a parameter, with the components in their best order."""
    found = [table.to_numpy() for table in model.component_probabilities_.values()]
    k = len(known.weights)

    def largest(order: Any) -> float:
        apart = [np.abs(model.weights_[list(order)] - known.weights).max()]
        for table, expected in zip(found, known.probabilities, strict=True):
            apart.append(np.abs(table[:, list(order)] - expected).max())
        return float(max(apart))

    return min(largest(order) for order in permutations(range(k)))
