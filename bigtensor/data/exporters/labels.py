"""Store of labels, which every exporter reads block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.stores.stored_kinds import stored_kind
from bigtensor.data.stores.zarr_groups import open_group, open_whole_group, read_rows
from bigtensor.data.values.categories import ATTRIBUTE
from bigtensor.errors import DataError

if TYPE_CHECKING:
    import zarr

BLOCK_ROWS = 262_144
"""Rows of one chunk of a store of labels."""


@dataclass(frozen=True, eq=False)
class LabelBlock:
    """Labels of consecutive rows.

    Attributes
    ----------
    start : int
        The first row.
    label : (rows,) int32 array
        -1 for rows that were left out.
    probability : (rows, k) float32 array or None
        NaN for rows that were left out.
    log_density : (rows,) float32 array or None
        NaN for rows that were left out.
    """

    start: int
    label: NDArray[np.int32]
    probability: NDArray[np.float32] | None
    log_density: NDArray[np.float32] | None = None

    @property
    def stop(self) -> int:
        """Index of the row after the last row."""
        return self.start + len(self.label)


@dataclass(frozen=True, eq=False)
class LabelStore:
    """Open store of labels. No row has been read.

    Attributes
    ----------
    path : str
        Path or URL.
    rows : int
        Number of labels.
    components : int or None
        Number of columns of the probabilities, None where the store has none.
    attrs : mapping
        What is known of the model that made the labels.
    names : tuple of str
        Names of the labels; empty if the store has none.
    label_attrs : mapping
        Attributes of the labels.
    has_log_density : bool
        True if the store has log-densities of the rows.
    """

    path: str
    rows: int
    components: int | None
    attrs: Mapping[str, Any]
    names: tuple[str, ...] = ()
    label_attrs: Mapping[str, Any] = field(default_factory=dict)
    has_log_density: bool = False

    def shown_names(self) -> tuple[str, ...]:
        """Return a different name for every label: its number if it has no other."""
        return self.names or tuple(str(number) for number in range(self.count_labels()))

    def blocks(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        probabilities: bool = True,
        log_densities: bool = False,
        block_rows: int = BLOCK_ROWS,
    ) -> Iterator[LabelBlock]:
        """Read rows in order.

        Parameters
        ----------
        start, stop : int
            The rows to read; by default all.
        probabilities : bool, default True
            If True, read the probabilities too, if the store has any.
        log_densities : bool, default False
            If True, read the log-densities too, if the store has any.
        block_rows : int
            Rows of a block; the last may be shorter.

        Yields
        ------
        LabelBlock
            Labels and probabilities of consecutive rows.

        Raises
        ------
        StoreReadError
            When a chunk is missing or damaged.
        """
        group = open_group(self.path)
        label: Any = group["label"]
        with_probability = probabilities and self.components is not None
        probability: Any = group["probability"] if with_probability else None
        density: Any = group["log_density"] if log_densities and self.has_log_density else None
        stop = self.rows if stop is None else stop
        for first in range(start, stop, block_rows):
            rows = first, min(first + block_rows, stop)
            values = None
            if probability is not None:
                values = read_rows(probability, *rows).astype(np.float32, copy=False)
            labels = read_rows(label, *rows).astype(np.int32, copy=False)
            densities = None if density is None else read_rows(density, *rows).astype(np.float32)
            yield LabelBlock(first, labels, values, densities)

    def count_labels(self) -> int:
        """Return the number of labels, which is the number of their names or probabilities.

        Without both the labels are read once, and it is one more than the largest.
        """
        if self.names:
            return len(self.names)
        if self.components is not None:
            return self.components
        largest = (int(block.label.max(initial=-1)) for block in self.blocks())
        return 1 + max(largest, default=-1)


def open_labels(path: str | os.PathLike[str]) -> LabelStore:
    """Open a store of labels, as `write` of a model makes it.

    Parameters
    ----------
    path : path or URL
        Zarr store.

    Raises
    ------
    StoreReadError
        When there is no such store, or it is damaged.
    DataError
        When it holds no labels.
    """
    path = os.fspath(path)
    group = open_whole_group(path)
    arrays: dict[str, Any] = dict(group.arrays())
    label, probability = arrays.get("label"), arrays.get("probability")
    if label is None or label.ndim != 1 or "model" not in group.attrs:
        kind = stored_kind(dict(group.attrs))
        raise DataError(
            f"{path} holds {kind}, and labels are expected in its place; 'bigtensor predict' or "
            "the method write of a mixture makes them. Other answers are written to CSV"
        )
    rows = int(label.shape[0])
    if probability is not None and (probability.ndim != 2 or probability.shape[0] != rows):
        raise DataError(f"{path} has {rows:,} labels and probabilities of {probability.shape}")
    components = None if probability is None else int(probability.shape[1])
    density = arrays.get("log_density")
    return LabelStore(
        path,
        rows,
        components,
        attrs=dict(group.attrs),
        names=label_names(label),
        label_attrs=dict(label.attrs),
        has_log_density=density is not None and density.shape == (rows,),
    )


def label_names(label: zarr.Array[Any]) -> tuple[str, ...]:
    """Return the names in the attributes of stored labels; empty if there are none.

    Raises
    ------
    DataError
        When names are no list of different texts.
    """
    names = label.attrs.get(ATTRIBUTE, [])
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not isinstance(names, list) or not texts or len({*names}) < len(names):
        raise DataError(
            f"the attribute {ATTRIBUTE!r} of the labels is {names!r}; expected a list of different "
            "names. Predict the labels again"
        )
    return tuple(str(name) for name in names)
