"""Agreement of labels with the classes in the data, from a table of counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from bigtensor.array_types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of the labels of a model with the classes in the data.

    Attributes
    ----------
    names : tuple of str
        Names of the classes.
    counts : (classes, labels) int64 array
        Rows of every class with every label: a component, or a population.
    matched : (classes,) int64 array
        The label that every class is compared with.
    """

    names: tuple[str, ...]
    counts: IntArray
    matched: IntArray

    @classmethod
    def of_best_labels(cls, names: tuple[str, ...], counts: IntArray) -> Agreement:
        """Compare every class with the label of the largest F1 score.

        Arguments are the names of the classes and the counts as in the attributes.
        """
        totals = counts.sum(axis=1)[:, None] + counts.sum(axis=0)
        score = 2 * counts / np.maximum(totals, 1)
        return cls(names, counts, score.argmax(axis=1))

    @classmethod
    def one_to_one(cls, names: tuple[str, ...], counts: IntArray) -> Agreement:
        """Match classes with labels one to one so that most rows agree (Hungarian method).

        Parameters
        ----------
        names : tuple of str
            Names of the classes.
        counts : (classes, labels) int64 array
            With at least as many labels as classes.
        """
        return cls(names, counts, linear_sum_assignment(counts, maximize=True)[1])

    @property
    def agreeing(self) -> IntArray:
        """Rows of every class that have its label."""
        return np.asarray(self.counts[np.arange(len(self.matched)), self.matched])

    @property
    def recall(self) -> FloatArray:
        """Share of every class that has its label."""
        return _ratio(self.agreeing, self.counts.sum(axis=1))

    @property
    def precision(self) -> FloatArray:
        """Share of the rows with the label of every class that are of the class."""
        return _ratio(self.agreeing, self.counts.sum(axis=0)[self.matched])

    @property
    def f1(self) -> FloatArray:
        """Harmonic mean of precision and recall of every class."""
        whole = self.counts.sum(axis=1) + self.counts.sum(axis=0)[self.matched]
        return _ratio(2 * self.agreeing, whole)

    @property
    def mean_f1(self) -> float:
        """Mean F1 score over classes, each counting the same."""
        return float(self.f1.mean())

    @property
    def accuracy(self) -> float:
        """Share of rows with the label of their class."""
        return float(self.agreeing.sum() / self.counts.sum())

    @property
    def adjusted_rand(self) -> float:
        """Adjusted Rand index (Hubert and Arabie 1985): 1 is the same partition, 0 chance."""
        together = _pairs(self.counts).sum()
        rows, columns = (_pairs(self.counts.sum(axis=axis)).sum() for axis in (1, 0))
        chance = rows * columns / _pairs(self.counts.sum())
        most = (rows + columns) / 2
        return 1.0 if most == chance else float((together - chance) / (most - chance))


def _ratio(part: IntArray, whole: IntArray) -> FloatArray:
    """Divide, with 0 where there is nothing."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _pairs(counts: IntArray) -> FloatArray:
    """Return the number of pairs of rows in every cell."""
    n = np.asarray(counts, np.float64)
    return n * (n - 1) / 2
