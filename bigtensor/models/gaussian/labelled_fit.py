"""Fits with labels of some rows: their means start the components."""

from __future__ import annotations

from typing import Any, Self, Unpack

import numpy as np
from sklearn.callback import with_callbacks

from bigtensor.errors import DataError, ParameterError, Setting
from bigtensor.models.contract.latent_variable_model import LatentVariableModel
from bigtensor.models.contract.parameters import check_workers
from bigtensor.models.contract.run import RunOptions
from bigtensor.statistics.gaussian.label_means import LabelMeansResult


class LabelledFit(LatentVariableModel):
    """A model whose fit takes labels of some rows."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, **options: Unpack[RunOptions]
    ) -> Self:
        """Fit the model in a few passes over the data.

        Parameters
        ----------
        X : path, xarray, AnnData, dask array, array-like, Samples, or a list of these
            ``(rows, features)`` of measured values, as `bigtensor.open_samples` reads it. Integers,
            booleans and float16 are converted to floats.
        y : str or (rows,) array-like, optional
            Label of every row, or the name of a variable that holds it. Negative numbers, NaN and
            empty names stand for none. Components are the labels, in ascending order, and start
            from the means of their rows; one row of every label may do. An array that labels all
            rows is ignored, as by other mixtures. So is an array of -1 and 1, which are the two
            classes of a classifier.
        sample_weight : (rows,) array-like, optional
            Weights of the rows, not negative, by default those that are stored with the data. Their
            meaning is the parameter `weights` of the model.
        **options
            ``client``, ``scheduler``, ``workers``, ``memory_limit``, ``wait_for_workers``,
            ``checkpoint`` and ``listeners``; see `LatentVariableModel.fit`.

        Raises
        ------
        ParameterError, DataError, PlanError, CheckpointError, ClusterError
            See `bigtensor.errors`. Every message names a remedy.
        """
        check_workers(options.get("workers"))
        labels = y if isinstance(y, str) or _labels_a_part(y) else None
        return self._fit_to(X, self._open(X, sample_weight, groups=labels), **options)


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


def _labels_a_part(y: Any) -> bool:
    """Return True for labels of which some say that a row has none."""
    if y is None:
        return False
    values = np.asarray(y)
    if values.dtype.kind in "if":
        distinct = np.unique(values)
        is_two_classes = np.array_equal(distinct, (-1, 1))
        return not is_two_classes and bool(((distinct < 0) | np.isnan(distinct)).any())
    return values.dtype.kind in "OUST" and bool((values == "").any())
