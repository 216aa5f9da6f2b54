"""Labels of some rows: which component belongs to which label, and labels without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from bigtensor.array_types import FloatArray
from bigtensor.models.contract.data_shape import GroupLabels
from bigtensor.models.gaussian.component_labels import label_log_densities
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.linear_mixture.columns import LEAST_ROWS
from bigtensor.statistics.gaussian.label_means import LabelMeansResult

LEAST_PROBABILITY = 0.05
"""Probability of the labelled rows under the component of their label, against the component that
suits them best, below which it is told."""

_MOST_NAMES = 6


def matched_to_labels(
    components: GaussianComponents, label_means: LabelMeansResult, labels: GroupLabels
) -> GaussianComponents:
    """Return components in the order of the labels whose rows are most probable in them together.

    Parameters
    ----------
    components : GaussianComponents
        At most as many as labels.
    label_means : LabelMeansResult
        Means of labelled rows.
    labels : tuple of str, or of int or float
        Names of the labels. Without enough components, only some are used.
    """
    chosen, matched = linear_sum_assignment(_log_probabilities(components, label_means), True)
    return replace(
        components,
        weights=components.weights[matched],
        means=components.means[matched],
        names=tuple(labels[label] for label in chosen),
    )


def labels_elsewhere(
    components: GaussianComponents, label_means: LabelMeansResult, labels: GroupLabels
) -> list[str]:
    """Return a sentence on labels whose rows are far more probable in other components.

    Parameters
    ----------
    components : GaussianComponents
        The mixture, whose components have the names of labels.
    label_means : LabelMeansResult
        Means of labelled rows.
    labels : tuple of str, or of int or float
        Names of the labels, in the order of their means.
    """
    logs = _log_probabilities(components, label_means)
    elsewhere = []
    for own, name in enumerate(components.names):
        of_label = logs[labels.index(name)]
        if of_label[own] < of_label.max() + np.log(LEAST_PROBABILITY):
            elsewhere.append(name)
    if not elsewhere:
        return []
    return [
        f"The labelled rows of {in_words(elsewhere)} are more probable in a component with another "
        "label: components may be wrong or exchanged. Check these labels, or label more rows."
    ]


def empty_components(components: GaussianComponents, rows: float) -> list[str]:
    """Return a sentence on labels whose components have hardly any of so many rows."""
    empty = [
        name
        for name, weight in zip(components.names, components.weights, strict=False)
        if weight * rows < LEAST_ROWS
    ]
    if not empty:
        return []
    return [
        f"No or hardly any rows are in the component of {in_words(empty)}: another component has "
        "taken its rows, or there are no more of them. Label more rows of it."
    ]


def in_words(names: Sequence[float | str]) -> str:
    """Return the first of some names."""
    return ", ".join(map(repr, names[:_MOST_NAMES])) + ", ..." * (len(names) > _MOST_NAMES)


def _log_probabilities(components: GaussianComponents, label_means: LabelMeansResult) -> FloatArray:
    """Return the log-densities of all labelled rows by component: ``(labels, components)``."""
    return label_log_densities(
        label_means, components.weights, components.means, components.covariance
    )
