"""Declaration of the data that a model takes."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.rows.code_maps import Categories, CodeMap
from bigtensor.data.rows.data_like import RowVariableLike
from bigtensor.data.rows.row_groups import as_names, stands_for_none
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.selected_rows import rows_left_out
from bigtensor.data.sources.csr_source import is_sparse
from bigtensor.data.values.categories import MOST_CATEGORIES, are_strings
from bigtensor.data.values.kinds import Kind
from bigtensor.data.values.lazy_arrays import is_lazy_array
from bigtensor.data.values.missing_values import MARGINALISE
from bigtensor.data.values.plain_arrays import CODES, converted
from bigtensor.errors import DataError, LabelWarning, ParameterError, Setting, warn
from bigtensor.models.contract.parameters import ParameterValues

_LONG = np.dtype(np.int64)

_NAMES: dict[Kind, str] = {
    "measured": "measured values (numbers)",
    "codes": "codes of categories (whole numbers, or strings)",
    "counts": "counts in sparse rows (CSR)",
}

_COUNTS = (
    "import files of counts with --counts (import_counts), or give a sparse matrix in rows, for "
    "example scipy.sparse.csr_array(X)"
)

_REMEDIES: dict[tuple[Kind, Kind], str] = {
    ("codes", "measured"): "convert with .astype('float32') if the numbers are measurements, and "
    "import files without --codes (codes=False)",
    ("measured", "codes"): "import files with --codes (codes=True), or convert whole numbers that "
    "are not in memory with .astype('int32')",
    ("counts", "measured"): "give dense rows, for example .toarray()",
    ("measured", "counts"): _COUNTS,
    ("codes", "counts"): _COUNTS,
    ("counts", "codes"): "import the tables of categories with --codes (codes=True)",
}
"""From the kind of the data to a kind that the model takes."""


@dataclass(frozen=True)
class Data:
    """Data that a model takes.

    Whole numbers without names are taken for what the model takes: integers and booleans are
    converted to floats for a model of measured values, and whole floats to codes for a model of
    categories.

    Parameters
    ----------
    kinds : set of {"measured", "codes", "counts"}
        Kinds of data that a model takes.
    marginalises : set of {"measured", "codes"}, default empty
        Kinds of data of which the model can leave missing entries out of a row, and use the others.
    dense_counts : bool, default False
        Dense numbers are counts too.
    labels : bool, default False
        The model can start from labels of some rows.
    by_view : bool, default False
        Data may come view by view: a mapping or a list of arrays with the same rows.
    in_order : bool, default False
        Consecutive rows of a sequence belong together.
    """

    kinds: AbstractSet[Kind]
    marginalises: AbstractSet[Kind] = frozenset()
    dense_counts: bool = False
    labels: bool = False
    by_view: bool = False
    in_order: bool = False

    def can_marginalise(self, samples: Samples) -> bool:
        """Return True if the model can use the other entries of rows with missing ones."""
        return ("measured" if samples.categories is None else "codes") in self.marginalises

    def with_parameters(
        self, parameters: ParameterValues, check: Callable[[ParameterValues], None]
    ) -> Data:
        """Return the data that the model takes with its parameters, which may refuse gaps.

        Parameters
        ----------
        parameters : ParameterValues
            Of the model.
        check : callable
            Raises a ParameterError for parameters that contradict each other.
        """
        try:
            check(parameters.changed(missing=MARGINALISE))
        except ParameterError:
            return replace(self, marginalises=frozenset())
        return self

    def check(
        self,
        samples: Samples,
        model: str,
        *,
        prefer: Kind | None = None,
        fit_categories: Categories | None = None,
    ) -> Samples:
        """Return the samples, converted where that is needed, if the model takes them.

        Parameters
        ----------
        samples : Samples
            The data.
        model : str
            Name of the model, for the message.
        prefer : {"measured", "codes"}, optional
            Kind that whole numbers are converted to if the model takes several kinds.
        fit_categories : mapping of str to tuple of str, optional
            Categories of the fit, for codes without names.

        Returns
        -------
        Samples
            Sparse rows of AnnData are read as dense ones, if the model takes no counts. float16 is
            read as float32.

        Raises
        ------
        DataError
            When the kind of the data is another one, or codes have no categories, or a condition
            leaves out rows inside sequences of a model that needs them in order.
        """
        if self.in_order:
            _check_whole_sequences(samples, model)
        if self.dense_counts and not has_named_codes(samples):
            # as measured values, because dense integers would be codes, and -1 a missing one
            return samples if samples.kind == "counts" else samples.as_measured()
        if samples.kind == "counts" and "counts" not in self.kinds and _may_be_dense(samples):
            samples = samples.as_dense()
        samples = _converted(samples, {prefer} if prefer else self.kinds, fit_categories)
        kind = samples.kind
        if kind not in self.kinds:
            taken = sorted(self.kinds)
            raise DataError(
                f"the values of {samples.describe()} are {samples.dtype}, {_NAMES[kind]}; {model} "
                f"takes {' or '.join(_NAMES[other] for other in taken)}: "
                + "; or ".join(_remedy(samples, kind, other) for other in taken)
            )
        if kind != "codes":
            return samples
        if samples.dtype.kind == "b":
            samples = replace(samples, read_as=CODES)
        if samples.categories is None and fit_categories is not None:
            return replace(samples, code_map=CodeMap(fit_categories, fit_categories))
        if samples.categories is None:
            raise DataError(
                f"the integers of {samples.describe()} have no categories. Without names, integers "
                f"in memory are codes from 0 to {MOST_CATEGORIES - 1:,}, with -1 for a missing "
                "entry. Replace other codes of missing answers, such as -9, by -1. Convert other "
                "integers to strings, or name the codes of every feature in the "
                "attribute 'categories' of the values, or import with --codes (codes=True)"
            )
        return samples


def _check_whole_sequences(samples: Samples, model: str) -> None:
    """Refuse rows that a condition selected from inside sequences."""
    for source, row in rows_left_out(samples):
        raise DataError(
            f"{model} reads consecutive rows, and the condition {source.where.condition.text!r} "
            f"leaves out row {row:,} between rows of its sequence; choose whole sequences, for "
            "example by a variable such as sample_id"
        )


def labels_of_some_rows(
    y: str | RowVariableLike | None,
) -> str | RowVariableLike | None:
    """Return labels if they are the name of a variable, or if they say that a row has none.

    Parameters
    ----------
    y : object
        Labels as `fit` takes them.

    Returns
    -------
    object
        None for labels of all rows, which are ignored, and for the classes -1 and 1.
    """
    if y is None or isinstance(y, str):
        return y
    values = as_names(y)
    if values.dtype.kind not in "iufbOUST":
        return None
    unlabelled = stands_for_none(values)
    if not unlabelled.any() or _are_two_classes(values[unlabelled], values[~unlabelled]):
        return None
    return y


def labels_of_fit(
    y: str | RowVariableLike | None, takes: Data, model: object
) -> str | RowVariableLike | None:
    """Return labels of some rows, or None for a model that takes none.

    Parameters
    ----------
    y : object
        Labels as `fit` takes them.
    takes : Data
        Data that the model takes.
    model : Estimator
        The model. If it predicts a component of every row and takes no labels, labels of some rows
        are a mistake. Other models ignore them, as steps of a pipeline do.

    Warns
    -----
    LabelWarning
        As for `warn_of_labels`.
    """
    if takes.labels:
        return labels_of_some_rows(y)
    if hasattr(model, "predict"):
        warn_of_labels(y, type(model).__name__)
    return None


def warn_of_labels(y: str | RowVariableLike | None, model: str) -> None:
    """Warn of labels of few rows for a model that ignores them.

    Complete labels are part of what scikit-learn passes to every step. They may have a class -1 or
    an empty name, so that these stand for none only if most rows have them.

    Parameters
    ----------
    y : object
        Labels as `fit` takes them. Lazy ones are not read.
    model : str
        Name of the model, for the message.

    Warns
    -----
    LabelWarning
        If `y` names a variable, or more than half of the rows are without a label.
    """
    if y is None or is_lazy_array(y.data if isinstance(y, xr.DataArray) else y):
        return
    if isinstance(y, str):
        labels = f"the variable {y!r}"
    else:
        values = _names_as_objects(y)
        unlabelled = _has_no_label(values)
        n_unlabelled, rows = np.count_nonzero(unlabelled), len(unlabelled)
        if 2 * n_unlabelled <= rows or _are_two_classes(values[unlabelled], values[~unlabelled]):
            return
        labels = f"labels of {rows - n_unlabelled:,} of {rows:,} rows"
    warn(
        Setting("y") + f" holds {labels}, and {model} takes no labels: they are ignored. Leave out "
        "y, or use GaussianMixture or LinearMixture, which start from labels of some rows.",
        LabelWarning,
    )


def _names_as_objects(y: RowVariableLike) -> NDArray[Any]:
    """Return labels as an array, which holds the objects of a list as they are.

    NumPy would make texts of numbers and of None among texts, and refuses lists of several lengths.
    """
    return np.asarray(y, object) if isinstance(y, list | tuple) else np.asarray(y)


def _has_no_label(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True for -1, NaN, None and empty names; no entry without one label a row.

    All entries are compared at once, because two million names would take a second one by one.
    """
    if values.ndim != 1 or values.dtype.kind not in "iufbOUST":
        return np.zeros(0, bool)
    if values.dtype.kind in "iufb":
        return np.asarray((values == -1) | np.isnan(values))
    unlabelled = np.asarray(pd.isna(values))
    named = values[~unlabelled]
    empty = b"" if values.dtype.kind == "S" else ""
    try:
        is_none = named == empty
        unlabelled[~unlabelled] = is_none | (named == -1) if named.dtype.kind == "O" else is_none
    except (TypeError, ValueError):
        # objects that cannot be compared, such as arrays, are no labels
        return np.zeros(0, bool)
    return unlabelled


def _are_two_classes(unlabelled: NDArray[Any], labelled: NDArray[Any]) -> bool:
    """Return True if the values are the classes -1 and 1 of a classifier."""
    if not labelled.size or labelled.dtype.kind not in "ifO" or pd.isna(unlabelled).any():
        return False
    return bool((unlabelled == -1).all() and (labelled == 1).all())


def category_values(values: NDArray[Any]) -> NDArray[Any]:
    """Return categories as strings or as integers if the values can be converted.

    Parameters
    ----------
    values : array
        Strings, also as objects with None or NaN for missing ones, or numbers with NaN.

    Returns
    -------
    array
        Missing strings are empty, and missing numbers are -1. Other objects are returned as they
        are.

    Raises
    ------
    DataError
        When numbers are not whole.
    """
    if values.dtype.kind == "O" and are_strings(values.tolist()):
        return np.where(pd.isna(values), "", values).astype(str)
    if values.dtype.kind == "O":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            return values
    return np.asarray(converted(values, _LONG)) if values.dtype.kind in "fb" else values


def _converted(
    samples: Samples, kinds: AbstractSet[Kind], fit_categories: Categories | None
) -> Samples:
    """Convert samples to one of the kinds if their values allow it.

    Parameters
    ----------
    samples : Samples
        The data.
    kinds : set of {"measured", "codes", "counts"}
        Kinds of data that a model takes.
    fit_categories : mapping of str to tuple of str, optional
        Categories of values that are not in memory.
    """
    if samples.kind == "measured" and "measured" not in kinds and "codes" in kinds:
        samples = samples.as_codes(fit_categories) or samples
    # codes without categories are numbers
    if samples.kind == "codes" and "measured" in kinds and not has_named_codes(samples):
        are_numbers = "codes" not in kinds or (
            samples.categories is None and fit_categories is None
        )
        samples = samples.as_measured() if are_numbers else samples
    return samples.as_measured() if samples.dtype == np.float16 else samples


def _remedy(samples: Samples, kind: Kind, other: Kind) -> str:
    """Return what to do about data of another kind than the model takes."""
    in_memory = all(source.held_nbytes for source in samples.sources)
    if (kind, other) == ("measured", "codes") and in_memory:
        return (
            "give strings, or whole numbers from 0 to 65,535 with NaN or -1 for a missing entry. "
            "If there are other codes of missing answers, such as -9, replace them by NaN"
        )
    return _REMEDIES[kind, other]


def has_named_codes(samples: Samples) -> bool:
    """Return True for codes whose categories have names, which plain integers do not have."""
    return any(
        names != tuple(map(str, range(len(names)))) for names in (samples.categories or {}).values()
    )


def _may_be_dense(samples: Samples) -> bool:
    """Return True for sparse rows that are read as dense ones where a model takes no others."""
    return all(is_sparse(source) and source.may_be_dense for source in samples.sources)
