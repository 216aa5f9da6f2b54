"""Drawn rows of a linear mixture, and the error of estimated columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from bigtensor import LinearMixture, simulate
from bigtensor.errors import ConditioningWarning

Columns = list[NDArray[np.float64]]
VIEWS = ("a", "b", "c")

RECOVERED = 0.3
"""Sine of the angle below which a column is found."""


@dataclass(frozen=True)
class Drawn:
    """Rows with known columns.

    Attributes
    ----------
    values : (n, 3 d) float32 array
    label : (n,) int array
    truth : list of three (d, k) arrays
    """

    values: NDArray[np.float32]
    label: NDArray[np.int32]
    truth: Columns

    @classmethod
    def of(cls, n_features: int, k: int, rows: int, noise: float, seed: int) -> Drawn:
        """Draw rows of three views."""
        data = simulate.linear_mixture(rows, k, n_features, noise, random_state=seed)
        truth = np.split(data["true_means"].to_numpy(), 3)
        return cls(data["X"].to_numpy(), data["label"].to_numpy(), truth)

    @property
    def views(self) -> dict[str, list[int]]:
        """Columns of every view."""
        d = len(self.truth[0])
        return {view: list(range(v * d, (v + 1) * d)) for v, view in enumerate(VIEWS)}

    def oracle(self) -> Columns:
        """Return the means of the rows of every true component."""
        k = self.truth[0].shape[1]
        order = np.argsort(self.label, kind="stable")
        edges = np.searchsorted(self.label[order], np.arange(k))
        sums = np.add.reduceat(self.values[order].astype(np.float64), edges, axis=0)
        means = sums / np.bincount(self.label, minlength=k)[:, None]
        return np.split(means.T, 3)


def quiet_fit(model: LinearMixture, drawn: Drawn) -> Columns:
    """Fit a model that may not find all components, and return its columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        model.fit(drawn.values)
    return [of.to_numpy() for of in model.components_.values()]


def column_errors(truth: Columns, found: Columns) -> tuple[float, float]:
    """Return the mean distance of matched components, and the share that is found.

    The distance of two components is the largest sine of an angle over the views; a component that
    is not matched has distance one.
    """
    k = truth[0].shape[1]
    sines = np.zeros((k, found[0].shape[1]))
    for a, b in zip(truth, found, strict=True):
        cosines = (a / np.linalg.norm(a, axis=0)).T @ (b / np.linalg.norm(b, axis=0))
        sines = np.maximum(sines, np.sqrt(np.clip(1 - cosines**2, 0, 1)))
    rows, columns = linear_sum_assignment(sines)
    distance = np.ones(k)
    distance[rows] = sines[rows, columns]
    return float(distance.mean()), float((distance < RECOVERED).mean())
