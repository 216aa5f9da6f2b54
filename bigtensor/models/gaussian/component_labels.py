"""Labels of some rows, whose means start the components."""

from __future__ import annotations

import numpy as np

from bigtensor.errors import DataError, ParameterError, Setting
from bigtensor.statistics.gaussian.label_means import LabelMeansResult


def check_labels(labels: tuple[str, ...], n_components: int) -> None:
    """Raise a ParameterError unless there is a label for every component.

    Parameters
    ----------
    labels : tuple of str
        Names of the labels; empty without labels.
    n_components : int
        Number of components.
    """
    if labels and len(labels) != n_components:
        shown = ", ".join(labels[:6]) + (", ..." if len(labels) > 6 else "")
        raise ParameterError(
            Setting("n_components")
            + f" is {n_components}, but the rows have {len(labels)} different labels ({shown}): "
            "label rows of every component, or none"
        )


def check_label_means(label_means: LabelMeansResult, labels: tuple[str, ...]) -> None:
    """Raise a DataError for a label whose rows have no weight."""
    empty = np.flatnonzero(~(label_means.weights > 0))
    if empty.size:
        raise DataError(
            f"the rows with the label {labels[empty[0]]!r} are left out or have no weight: label "
            "other rows of this component"
        )
