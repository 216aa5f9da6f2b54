"""Known classes of the rows against the classes that populations stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.models.words.report_figures import ReliabilityDiagram
from bigtensor.models.words.sampled_rows import LabelledRows

BINS = 10
"""Bins of the confidence."""


@dataclass(frozen=True, eq=False)
class Annotation:
    """Classes of labels by majority, and the rows whose class is known.

    Attributes
    ----------
    names : tuple of str
        Classes that occur among these rows.
    of_label : (m,) int64 array
        Class of most known rows of every component, or population. It is -1 without a known row.
    true_class : (n,) int64 array
        Class of every row.
    predicted_class : (n,) int64 array
        Class of the label of every row.
    confidence : (n,) float64 array
        Posterior probability of the class found: the sum over all labels with this class.
    """

    names: tuple[str, ...]
    of_label: IntArray
    true_class: IntArray
    predicted_class: IntArray
    confidence: FloatArray

    @property
    def share_right(self) -> float:
        """Share of the rows whose class was found."""
        return float(np.mean(self.predicted_class == self.true_class))


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Scores of every class.

    Attributes
    ----------
    rows : (classes,) int64 array
        Rows that are known to be of the class.
    precision : (classes,) float64 array
        Share of the rows found that are of the class. It is not a number where none was found.
    recall : (classes,) float64 array
        Share of the rows of the class that were found.
    f1 : (classes,) float64 array
        Harmonic mean of both, zero for classes that were not found.
    """

    rows: IntArray
    precision: FloatArray
    recall: FloatArray
    f1: FloatArray


def annotate_by_majority(rows: LabelledRows) -> Annotation | None:
    """Give every component, or population, the class of most of its known rows.

    Parameters
    ----------
    rows : LabelledRows
        Rows without a class or without a label do not count.

    Returns
    -------
    Annotation or None
        None where no row has both.
    """
    if rows.truth is None:
        return None
    kept = (rows.label >= 0) & (rows.truth.codes >= 0)
    if not kept.any():
        return None
    occurring, true_class = np.unique(rows.truth.codes[kept], return_inverse=True)
    label, probability = rows.label[kept], rows.probability[kept]
    counts = np.zeros((probability.shape[1], len(occurring)), np.int64)
    np.add.at(counts, (label, true_class), 1)
    of_label = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
    predicted_class = of_label[label]
    confidence = np.where(of_label == predicted_class[:, None], probability, 0.0).sum(axis=1)
    names = tuple(rows.truth.names[code] for code in occurring)
    return Annotation(names, of_label, true_class, predicted_class, np.clip(confidence, 0.0, 1.0))


def class_scores(annotation: Annotation) -> ClassScores:
    """Return precision, recall and F1 of every class."""
    count = len(annotation.names)
    right = annotation.true_class[annotation.true_class == annotation.predicted_class]
    both, rows, predicted_rows = (
        np.bincount(codes, minlength=count)
        for codes in (right, annotation.true_class, annotation.predicted_class)
    )
    precision = np.where(predicted_rows > 0, both / np.maximum(predicted_rows, 1), np.nan)
    return ClassScores(rows, precision, both / rows, 2 * both / (rows + predicted_rows))


def reliability(annotation: Annotation) -> ReliabilityDiagram:
    """Return how often a class is right, by the confidence in it."""
    number = np.minimum((BINS * annotation.confidence).astype(np.int64), BINS - 1)
    right = annotation.predicted_class == annotation.true_class
    counts = np.bincount(number, minlength=BINS)
    filled = np.where(counts > 0, counts, np.nan)
    confidence, share_right = (
        np.bincount(number, values, minlength=BINS) / filled
        for values in (annotation.confidence, right)
    )
    distance = np.nan_to_num(np.abs(confidence - share_right))
    error = float(counts @ distance / counts.sum())
    alternative = "Share of rows with the right class by confidence"
    return ReliabilityDiagram(alternative, counts, confidence, share_right, error)
