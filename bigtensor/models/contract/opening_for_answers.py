"""Open rows that a fitted model answers for: with the features, kinds and codes of the fit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
import xarray as xr
from sklearn.utils.validation import validate_data

from bigtensor.data.anndata.files import element_keys, is_h5ad
from bigtensor.data.opening import open_samples
from bigtensor.data.rows.code_maps import Categories, CodeMap
from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.data.rows.row_sequences import (
    Lengths,
    in_sequences,
    split_column,
)
from bigtensor.data.rows.sample_weights import with_weight_meaning
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.views import Views
from bigtensor.data.sources.anndata_source import holds_anndata, is_anndata
from bigtensor.data.values.import_record import ImportRecord, RecordedData, require_same_import
from bigtensor.data.values.kinds import Kind
from bigtensor.data.values.matrices import numbered_features
from bigtensor.errors import BigtensorWarning, DataError, Message, Setting, ViewError, warn
from bigtensor.models.contract.containers import (
    is_by_view,
    is_named,
    scikit_learn_table,
    side_by_side,
)
from bigtensor.models.contract.data_kinds import Data, has_named_codes
from bigtensor.models.contract.run import warn_of_unknown_categories


class KnowsFeatures(Protocol):
    """A model that knows the features of its fit."""

    takes: Data
    weights: str
    sample_dim: str
    views_: Views
    n_features_in_: int
    matrix_: str | None
    import_record_: ImportRecord | None

    @property
    def categories_without_rows(self) -> Categories:
        """Categories of the fit whose entries are ignored, by feature."""


def open_for_answers(
    model: KnowsFeatures,
    X: DataLike,
    unseen: frozenset[str] = frozenset(),
    *,
    sample_weight: RowVariableLike | None = None,
    sequence: str | RowVariableLike | Lengths | None = None,
) -> Samples:
    """Open data that have to have the features of the fit, under scikit-learn's rules.

    Parameters
    ----------
    model, X, unseen, sample_weight, sequence
        As for `with_features_of_fit`.

    Raises
    ------
    ViewError, DataError
        When features of the fit are missing, or there are others.
    """
    if model.takes.by_view and is_by_view(X):
        X, _ = side_by_side(X, model.views_.names)
    table = np.empty((0, len(X.features))) if _is_unnamed(X, model) else scikit_learn_table(X)
    if table is not None and _dimensions(table) == 2:
        _check_features(model, table)
    return with_features_of_fit(model, X, unseen, sample_weight=sample_weight, sequence=sequence)


def _is_unnamed(X: DataLike, model: KnowsFeatures) -> TypeGuard[Samples]:
    """Return True for samples with numbered features after a fit to named ones.

    Samples of an array number its features.
    """
    if not isinstance(X, Samples) or not hasattr(model, "feature_names_in_"):
        return False
    numbered = numbered_features(len(X.features), X.describe(), "")
    return X.features == numbered and set(numbered).isdisjoint(model.feature_names_in_)


def _check_features(model: KnowsFeatures, table: Any) -> None:
    """Check the features as scikit-learn does. Another column may hold ids of sequences."""
    names = getattr(model, "feature_names_in_", ())
    columns = list(getattr(table, "columns", ()))
    _check_numbers(model, columns)
    try:
        validate_data(model, table, reset=False, skip_check_array=True)
    except ValueError as error:
        others = [column for column in columns if column not in names]
        if not model.takes.in_order or not len(names) or not others:
            raise
        raise DataError(
            f"{error}\nIf this column holds the ids of sequences, name it: "
            + Setting("sequence", others[0])
        ) from error


def _check_numbers(model: KnowsFeatures, columns: list[Any]) -> None:
    """Raise an error for numbered columns if the order of the fit was another one.

    Columns that are numbered in order have no names, in the fit or here, so that scikit-learn has
    nothing to compare.

    Raises
    ------
    DataError
    """
    in_order = [str(column) for column in range(len(columns))]
    names = list(map(str, columns))
    fitted = list(getattr(model, "feature_names_in_", in_order))
    if names == fitted or {*names} != {*in_order} or {*fitted} != {*in_order}:
        return
    raise DataError(
        f"the columns of X are {', '.join(names)}, and {type(model).__name__} was fitted to "
        f"columns in the order {', '.join(fitted)}; give them in this order, or give X.to_numpy() "
        "to read them as they stand"
    )


def with_features_of_fit(
    model: KnowsFeatures,
    X: DataLike,
    unseen: frozenset[str] = frozenset(),
    *,
    sample_weight: RowVariableLike | None = None,
    sequence: str | RowVariableLike | Lengths | None = None,
) -> Samples:
    """Open data that have to have the features of the fit, without a row read.

    Labelled features are found by name, in any order, if the features of the fit had names; all
    others by their position, also those of `Samples` of an array, which have no names.

    Parameters
    ----------
    model : fitted model
        Model that is to answer.
    X : path, xarray, AnnData, dask array, array-like, Samples, or a list of these
        Rows to answer for.
    unseen : frozenset of str
        Views that may be missing.
    sample_weight, sequence : optional
        As for ``fit``.

    Raises
    ------
    ViewError, DataError
        When features of the fit are missing, or there are others.
    """
    named = is_named(X) and hasattr(model, "feature_names_in_") and not _is_unnamed(X, model)
    by_position = dict(zip(model.views_.names, model.views_.columns, strict=True))
    views = model.views_.as_mapping() if named else by_position
    try:
        samples = open_samples(
            in_matrix_of_fit(model, X),
            {name: members for name, members in views.items() if name not in unseen},
            sample_dim=model.sample_dim,
            weight=sample_weight,
            sequence=sequence,
        )
    except ViewError as error:
        absent = _absent(model, X) if named else ""
        expected = f". {type(model).__name__} is expecting {model.n_features_in_} features as input"
        raise ViewError(
            f"X lacks features of the fit: {absent or f'{error}{expected}'}"
            + (_zero_columns(model) if named else "")
            + _other_matrix(model, X)
        ) from error
    if not named and len(samples.features) != model.n_features_in_:
        raise DataError(
            f"X has {len(samples.features)} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input"
        )
    if not named:
        _warn_of_names(model, samples)
    require_import_of_fit(model, samples)
    return _as_in_fit(model, samples, named=named)


def _warn_of_names(model: KnowsFeatures, samples: Samples) -> None:
    """Warn of AnnData that are read by position, as scikit-learn warns of a DataFrame."""
    if samples.matrix is None:
        return
    # arrays of obsm have no names, and features are numbered
    key = samples.matrix.removeprefix("obsm/")
    begins = "" if key == samples.matrix else f"{key}_"
    if samples.features == tuple(f"{begins}{number}" for number in range(len(samples.features))):
        return
    name = type(model).__name__
    warn(
        f"X has feature names, but {name} was fitted without feature names, so that columns are "
        "read by position; fit to AnnData, or to a table, to find them by name",
        BigtensorWarning,
    )


def require_import_of_fit(model: KnowsFeatures, samples: Samples) -> None:
    """Raise an error if the data and the fit had different imports.

    Parameters
    ----------
    model : fitted model
        Model with the record of the import of its data.
    samples : Samples
        Rows with the features of the fit. Without a record they are not compared.

    Raises
    ------
    DataError
        When the transform or the compensation of a feature of the views differs.
    """
    if samples.record is not None and model.import_record_ is not None:
        require_same_import(
            RecordedData(samples.record, samples.describe()),
            RecordedData(model.import_record_, "the data of the fit"),
            samples.views.feature_names,
        )


def _absent(model: KnowsFeatures, X: DataLike) -> str:
    """Return the features of the fit that data lack, for the message; empty if they lack none."""
    samples = open_samples(in_matrix_of_fit(model, X), sample_dim=model.sample_dim)
    features = samples.features
    expected = [name for _, members in model.views_.features for name in members]
    there = {*features}
    absent = [name for name in expected if name not in there]
    if not absent:
        return ""
    return (
        f"{len(absent):,} of {len(expected):,} are absent from the data ({_few(absent)}), which "
        f"have {len(features):,} features ({_few(features)})" + _panel(model, samples)
    )


def _panel(model: KnowsFeatures, samples: Samples) -> str:
    """Return the way to the names of the fit if both data were imported, for the message."""
    if model.import_record_ is None or samples.record is None:
        return ""
    return "; if a panel named the features of the fit, import the files with the same --panel"


def _few(names: Sequence[str]) -> str:
    """Return the first names, for the message."""
    return ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")


def _zero_columns(model: KnowsFeatures) -> str:
    """Return the way to columns of zeros for words that do not occur, for the message."""
    if "counts" not in (model.takes.kinds or ()):
        return ""
    return (
        "; words that do not occur need columns of zeros: count new documents with the vocabulary "
        "of the fit, such as by 'bigtensor import --counts --vocabulary FILE'"
    )


def in_matrix_of_fit(model: KnowsFeatures, X: DataLike) -> DataLike:
    """Return data in which AnnData are opened as the matrix that the model was fitted to.

    Other data are returned as they are, and so are all data if the model was fitted to ``X`` or to
    no AnnData.

    Parameters
    ----------
    model : fitted model
        Model that is to answer.
    X : path, xarray, AnnData, dask array, array-like, Samples, or a list of these
        Rows to answer for.

    Raises
    ------
    DataError
        When AnnData have no such matrix.
    """
    if model.matrix_ in (None, "X"):
        return X
    if isinstance(X, list | tuple):
        return [_opened_as(model, part) if holds_anndata(part) else part for part in X]
    return _opened_as(model, X) if holds_anndata(X) else X


def _opened_as(model: KnowsFeatures, data: DataLike) -> Samples:
    """Open AnnData as the matrix that the model was fitted to."""
    assert model.matrix_ is not None
    layer, obsm = element_keys(model.matrix_)
    try:
        return open_samples(data, sample_dim=model.sample_dim, layer=layer, obsm=obsm)
    except DataError as error:
        raise DataError(
            f"{type(model).__name__} was fitted to {model.matrix_} of AnnData, and its answers for "
            "AnnData read this matrix: "
            + error.message
            + ". To read another matrix, use open_samples or 'bigtensor import'"
        ) from error


def _other_matrix(model: KnowsFeatures, X: DataLike) -> str | Message:
    """Return the way to name another matrix of AnnData, for the message."""
    is_stored = isinstance(X, str | os.PathLike) and is_h5ad(os.fspath(X))
    if model.matrix_ is not None or not (is_anndata(X) or is_stored):
        return ""
    return (
        "; if the fit was to a layer or an entry of obsm, open it here too: open_samples takes "
        + Setting("layer")
        + " and "
        + Setting("obsm")
    )


def open_with_groups(
    model: KnowsFeatures,
    X: DataLike,
    by: str | RowVariableLike,
    sequence: str | RowVariableLike | None = None,
    lengths: npt.ArrayLike | None = None,
    *,
    sample_weight: RowVariableLike | None = None,
) -> Samples:
    """Open data for a fitted model, with the group of every row.

    Parameters
    ----------
    model : fitted model
        Model that is to answer.
    X : path, xarray, AnnData, dask array or array-like, or a list of these
        Rows to answer for.
    by : str, or (rows,) array-like
        Variable along the samples, column of a table, or the group of every row.
    sequence, lengths : optional
        Sequences of the rows.
    sample_weight : (rows,) array-like, optional
        By default the weights that are stored with the data.
    """
    groups: str | RowVariableLike = by
    parts = split_column(X, by) if isinstance(by, str) else None
    if isinstance(by, str) and parts is not None:
        others, column = parts
        groups = xr.DataArray(column, dims=[model.sample_dim], name=by)
        sequence = column if isinstance(sequence, str) and sequence == by else sequence
        X = X if by in getattr(model, "feature_names_in_", ()) else others
    X, ids = in_sequences(X, sequence, lengths)
    rows = in_matrix_of_fit(model, X)
    samples = open_samples(
        rows,
        sample_dim=model.sample_dim,
        weight=sample_weight,
        groups=groups,
        sequence=ids,
    )
    samples = model.takes.check(samples, type(model).__name__, prefer=_kind_of_fit(model))
    # features by name or by position, and codes of the fit, as for every other answer
    opened = open_for_answers(model, samples if is_named(X) else X)
    return replace(samples, views=opened.views, code_map=opened.code_map)


def open_with_subjects(
    model: KnowsFeatures, X: DataLike, by: str | RowVariableLike | None
) -> Samples:
    """Open data for a fitted model, with weights in the sense of the fit, and subjects if known.

    A subject is the file or patient of a row.

    Parameters
    ----------
    model, X
        As for `open_with_groups`.
    by : str, or (rows,) array-like, optional
        By default the variable ``sample_id`` if the data have it. Otherwise rows have no group.
    """
    try:
        samples = open_with_groups(model, X, "sample_id" if by is None else by)
    except DataError:
        if by is not None:
            raise
        # data that cannot be opened at all raise the same error again
        samples = open_for_answers(model, X)
    return with_weight_meaning(samples, model.weights)


def _as_in_fit(model: KnowsFeatures, samples: Samples, *, named: bool) -> Samples:
    """Return samples with the kind of values of the fit, and with its codes.

    Categories are matched by name. Codes without names are taken for the codes of the fit, or for
    its names if some of these are numbers.
    """
    fit_categories: Categories | None = getattr(model, "categories_", None)
    without_rows = model.categories_without_rows
    if fit_categories is not None and not named:
        places = dict(zip(fit_categories, samples.features, strict=True))
        fit_categories = {places[name]: own for name, own in fit_categories.items()}
        without_rows = {places[name]: own for name, own in without_rows.items()}
    prefer = _kind_of_fit(model)
    samples = model.takes.check(
        samples, type(model).__name__, prefer=prefer, fit_categories=fit_categories
    )
    if prefer == "measured" and samples.kind == "codes":
        raise DataError(
            f"{type(model).__name__} was fitted to measured values, and {samples.describe()} holds "
            "names of categories; give numbers of the same features"
        )
    own = samples.categories
    if fit_categories is None or own is None:
        return samples
    if not has_named_codes(samples) and not _has_numbers(fit_categories):
        samples = replace(samples, code_map=CodeMap(fit_categories, fit_categories))
    else:
        samples = samples.with_categories(
            {name: fit_categories.get(name, own[name]) for name in own}
        )
    warn_of_unknown_categories(samples, without_rows)
    return samples


def _kind_of_fit(model: KnowsFeatures) -> Kind | None:
    """Return the kind of values that a model was fitted to; None for counts."""
    kind: Kind = "codes" if hasattr(model, "categories_") else "measured"
    return kind if kind in model.takes.kinds else None


def _has_numbers(categories: Categories) -> bool:
    """Return True where the name of a category is a whole number."""
    return any(name.isdecimal() for names in categories.values() for name in names)


def _dimensions(X: DataLike) -> int:
    """Return the number of dimensions of an array-like."""
    return len(X.shape) if hasattr(X, "shape") else np.asarray(X).ndim
