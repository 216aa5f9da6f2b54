"""Calibration of posterior probabilities: reliability curve and expected calibration error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.annotation import annotate_by_majority
from tests.benchmarks.tables import Row

BINS = 15


@dataclass(frozen=True)
class Reliability:
    """Sums over rows, by bin of the largest probability. Bins have equal width.

    Attributes
    ----------
    rows : (bins,) float64 array
        Rows of every bin.
    confidence : (bins,) float64 array
        Sums of the largest probabilities.
    right : (bins,) float64 array
        Rows whose most probable class is their class.
    """

    rows: NDArray[np.float64]
    confidence: NDArray[np.float64]
    right: NDArray[np.float64]

    @classmethod
    def of_classes(
        cls, probabilities: NDArray[Any], classes: NDArray[Any], bins: int = BINS
    ) -> Reliability:
        """Sum over rows with a class.

        Parameters
        ----------
        probabilities : (rows, classes) array
        classes : (rows,) integer array
        bins : int, default 15
        """
        confidence = probabilities.max(axis=1)
        right = probabilities.argmax(axis=1) == classes
        # a probability of one belongs to the last bin, also where float32 rounds it up
        place = np.clip((confidence * bins).astype(np.intp), 0, bins - 1)
        sums = [
            np.bincount(place, of, bins).astype(np.float64)
            for of in (np.ones(len(place)), confidence, right)
        ]
        return cls(*sums)

    @classmethod
    def of_populations(
        cls, probabilities: NDArray[Any], classes: NDArray[Any], bins: int = BINS
    ) -> Reliability:
        """Sum over rows after majority annotation; probabilities of one class are added.

        Parameters
        ----------
        probabilities : (rows, populations) array
        classes : (rows,) integer array
        bins : int, default 15
        """
        labels = probabilities.argmax(axis=1)
        annotation = annotate_by_majority(labels, classes, probabilities.shape[1])
        return cls.of_classes(probabilities @ annotation, classes, bins)

    def __add__(self, other: Reliability) -> Reliability:
        return Reliability(
            self.rows + other.rows, self.confidence + other.confidence, self.right + other.right
        )

    @property
    def error(self) -> float:
        """Expected calibration error: mean distance of confidence and share right over rows."""
        return float(np.abs(self.confidence - self.right).sum() / self.rows.sum())

    @property
    def mean_confidence(self) -> float:
        """Mean of the largest probabilities of all rows."""
        return float(self.confidence.sum() / self.rows.sum())

    @property
    def share_right(self) -> float:
        """Share of all rows whose most probable class is their class."""
        return float(self.right.sum() / self.rows.sum())


def curve_rows(curves: Mapping[str, Reliability]) -> list[Row]:
    """Return the reliability curves of several methods beside each other, one row a bin.

    Bins that are empty with every method are left out.

    Parameters
    ----------
    curves : mapping of method to Reliability
        With equally many bins.
    """
    occupied = np.sum([curve.rows for curve in curves.values()], axis=0)
    bins = len(occupied)
    return [
        {"from": place / bins, "to": (place + 1) / bins}
        | {
            f"{method}: {name}": value
            for method, curve in curves.items()
            for name, value in _point(curve, place).items()
        }
        for place in np.flatnonzero(occupied).tolist()
    ]


def _point(curve: Reliability, place: int) -> Row:
    """Return one point of a curve; a bin without rows has no means."""
    rows = int(curve.rows[place])
    means = [of[place] / rows if rows else None for of in (curve.confidence, curve.right)]
    return {"confidence": means[0], "share right": means[1], "rows": rows}
