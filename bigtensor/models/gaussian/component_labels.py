"""Labels of some rows: their means start the components, and they are the classes of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError, ParameterError, Setting
from bigtensor.models.contract.data_shape import GroupLabels
from bigtensor.statistics.gaussian.label_means import LabelMeansResult


def check_labels(labels: GroupLabels, n_components: int) -> None:
    """Raise a ParameterError unless there is a label for every component.

    Parameters
    ----------
    labels : tuple of str, or of int or float
        Labels of the groups of rows; empty without.
    n_components : int
        Number of components.
    """
    if labels and len(labels) != n_components:
        shown = ", ".join(map(str, labels[:6])) + (", ..." if len(labels) > 6 else "")
        raise ParameterError(
            Setting("n_components")
            + f" is {n_components}, but the rows have {len(labels)} different labels ({shown}): "
            "label rows of every component, or none"
        )


def check_label_means(label_means: LabelMeansResult, labels: GroupLabels) -> None:
    """Raise a DataError for a label whose rows have no weight."""
    empty = np.flatnonzero(~(label_means.weights > 0))
    if empty.size:
        raise DataError(
            f"the rows with the label {labels[empty[0]]!r} are left out or have no weight: label "
            "other rows of this component"
        )


def label_log_densities(
    label_means: LabelMeansResult, weights: FloatArray, means: FloatArray, covariance: FloatArray
) -> FloatArray:
    """Return the log-densities of all rows of a label by component: ``(labels, components)``.

    What they have in common over the components is left out. Of rows with one covariance, their
    mean tells the rest.

    Parameters
    ----------
    label_means : LabelMeansResult
        Means of labelled rows.
    weights : (k,) float64 array
        Of the components.
    means : (k, d) float64 array
        Of the components.
    covariance : (d, d) float64 array
        Of all components, or their mean.
    """
    root = np.linalg.cholesky(covariance)
    rows, centres = (
        solve_triangular(root, points.T, lower=True).T for points in (label_means.means, means)
    )
    squares = cdist(rows, centres, "sqeuclidean")
    # a component may have lost all its rows
    log_weights = np.log(np.maximum(weights, np.finfo(np.float64).tiny))
    return np.asarray(label_means.weights[:, None] * (log_weights - squares / 2))


def array_of_labels(labels: GroupLabels) -> NDArray[Any]:
    """Return the labels of components as an array: of numbers, or of objects for names."""
    return np.array(labels, object if isinstance(labels[0], str) else None)


def lost_labels(kept: GroupLabels, labels: GroupLabels) -> list[str]:
    """Return a sentence on labels without a component.

    Parameters
    ----------
    kept : tuple of str, or of int or float
        Labels of the components of a fit; empty without.
    labels : tuple of str, or of int or float
        Labels of the rows.
    """
    lost = [repr(label) for label in labels if label not in kept]
    if not (kept and lost):
        return []
    return [
        f"No component is left for the label{'s' * (len(lost) > 1)} {', '.join(lost)}. Predictions "
        f"are positions in classes_, which lacks {'them' if len(lost) > 1 else 'it'}: use "
        "model.classes_[model.predict(X)] to get labels."
    ]
