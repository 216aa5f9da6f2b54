"""Store of the answers of any model, which is read block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.exporters.labels import label_names
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.data.stores.stored_kinds import stored_kind
from bigtensor.data.stores.zarr_groups import open_group, open_whole_group, read_rows
from bigtensor.data.values.categories import categories_of_answer
from bigtensor.errors import DataError

if TYPE_CHECKING:
    import zarr

_FIRST = ("label", "probability")
"""Answers that come before the others."""


@dataclass(frozen=True, eq=False)
class AnswerStore:
    """Open store of answers. No row has been read.

    Attributes
    ----------
    path : str
        Path or URL.
    rows : int
        Number of rows of every answer.
    columns : mapping
        The names of the columns of every answer.
    label_names : tuple of str
        Names of the labels; empty if all are numbers, or there are no labels.
    categories : mapping
        The names of the codes of every column, of answers that are codes of features.
    """

    path: str
    rows: int
    columns: Mapping[str, tuple[str, ...]]
    label_names: tuple[str, ...] = ()
    categories: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    @property
    def names_of_codes(self) -> list[tuple[str, ...] | None]:
        """Names of the codes of every column of `blocks`. None for numbers."""
        return [
            names
            for answer, columns in self.columns.items()
            for names in self.categories.get(answer, (None,) * len(columns))
        ]

    def without(self, answer: str) -> AnswerStore:
        """Return the store less one of its answers, if it has it."""
        left = {name: columns for name, columns in self.columns.items() if name != answer}
        return replace(self, columns=left)

    def blocks(self, block_rows: int) -> Iterator[tuple[int, list[NDArray[Any]]]]:
        """Read all rows in order.

        Parameters
        ----------
        block_rows : int
            Rows of a block; the last may be shorter.

        Yields
        ------
        (int, list of (rows,) array)
            The first row, and the columns of all answers.

        Raises
        ------
        StoreReadError
            When a chunk is missing or damaged.
        """
        group: Any = open_group(self.path)
        for start in range(0, self.rows, block_rows):
            stop = min(start + block_rows, self.rows)
            read = [read_rows(group[name], start, stop) for name in self.columns]
            yield start, [column for values in read for column in values.reshape(len(values), -1).T]


def open_answers(path: str | os.PathLike[str]) -> AnswerStore:
    """Open a store of answers, as `write` of a model makes it.

    Parameters
    ----------
    path : path or URL
        Zarr store.

    Returns
    -------
    AnswerStore
        Labels and probabilities come first.

    Raises
    ------
    StoreReadError
        When there is no such store, or it is damaged.
    DataError
        When it holds no answers.
    """
    path = os.fspath(path)
    group = open_whole_group(path)
    arrays = dict(group.arrays())
    if not arrays or "model" not in group.attrs:
        kind = stored_kind(dict(group.attrs)) if arrays else "no array"
        raise DataError(
            f"{path} holds {kind}, and answers of a model are expected in its place; 'bigtensor "
            "predict' or the method write of a model makes them"
        )
    wrong = [name for name, array in sorted(arrays.items()) if not _is_answer(array)]
    if wrong:
        contents = ", ".join(f"{name} {arrays[name].dtype}{arrays[name].shape}" for name in wrong)
        raise DataError(
            f"{path} has answers that are no numbers (rows,) or (rows, columns), so that they "
            f"cannot be columns of a table: {contents}; write the other answers to a store of "
            "their own ('bigtensor predict --answer NAME')"
        )
    if len({array.shape[0] for array in arrays.values()}) > 1:
        contents = ", ".join(f"{name} {a.dtype}{a.shape}" for name, a in sorted(arrays.items()))
        raise DataError(f"{path} has answers that are no numbers of the same rows: {contents}")
    rows = int(next(iter(arrays.values())).shape[0])
    features = _features(group.attrs.get("views"))
    order = sorted(arrays, key=lambda name: (name not in _FIRST, arrays[name].ndim, name))
    columns = {name: _columns(name, arrays[name], features) for name in order}
    names = label_names(arrays["label"]) if "label" in arrays else ()
    if all(name == str(number) for number, name in enumerate(names)):
        names = ()
    named = {name: categories_of_answer(arrays[name].attrs) for name in order}
    categories = {
        name: tuple(own[feature] for feature in features)
        for name, own in named.items()
        if len(columns[name]) == len(features) and {*features} <= {*own}
    }
    return AnswerStore(path, rows, columns, names, categories)


def _is_answer(array: zarr.Array[Any]) -> bool:
    """Return True for numbers of rows."""
    return array.ndim in (1, 2) and array.dtype.kind in "if"


def _features(views: object) -> list[str]:
    """Return the names of the features that the model used, one view beside the other."""
    if not isinstance(views, Mapping):
        return []
    return [str(name) for members in views.values() for name in members]


def _columns(name: str, array: zarr.Array[Any], features: list[str]) -> tuple[str, ...]:
    """Return the names of the columns of an answer."""
    if array.ndim == 1:
        return (name,)
    width = int(array.shape[1])
    # only Zarr v3 names dimensions
    dimensions = getattr(array.metadata, "dimension_names", None) or ("", "")
    along_features = dimensions[1] == FEATURE_DIM
    endings = features if along_features and len(features) == width else np.arange(width).tolist()
    return tuple(f"{name}_{ending}" for ending in endings)
