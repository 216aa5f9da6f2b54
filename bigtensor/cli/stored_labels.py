"""Labels of a store: how many rows have each, and how they agree with the true ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.exporters.labels import label_names
from bigtensor.data.stores.zarr_groups import open_whole_group, read_rows
from bigtensor.report.agreement import Agreement

BLOCK_ROWS = 1_048_576
"""Labels that are read at once: 4 MiB of int32."""


def agreement(data: Path, labels: Path, n_components: int) -> Agreement:
    """Compare the labels of a store with the true ones of the data.

    Parameters
    ----------
    data, labels : Path
        Zarr stores with a variable ``label``; rows of either label below 0 do not count.
    n_components : int
        Number of true populations, and of components.

    Returns
    -------
    Agreement
        Populations matched with components one to one.
    """
    k = n_components
    counts = np.zeros(k * k, np.int64)
    for true, predicted in zip(_label_blocks(data), _label_blocks(labels), strict=True):
        labelled = (true >= 0) & (predicted >= 0)
        counts += np.bincount(
            true[labelled].astype(np.int64) * k + predicted[labelled], minlength=k * k
        )
    return Agreement.one_to_one(tuple(map(str, range(k))), counts.reshape(k, k))


def label_counts(labels: Path | str) -> dict[int, int]:
    """Count the rows of every label of a store.

    Parameters
    ----------
    labels : Path, or str that may be a URL
        A Zarr store with a variable ``label``.

    Returns
    -------
    dict of int to int
        Ascending labels; -1 stands for rows that were left out.
    """
    counts: dict[int, int] = {}
    for block in _label_blocks(labels):
        for label, count in zip(*np.unique(block, return_counts=True), strict=True):
            counts[int(label)] = counts.get(int(label), 0) + int(count)
    return dict(sorted(counts.items()))


def stored_names(labels: Path | str) -> tuple[str, ...]:
    """Return the names of stored labels; empty if the store has none.

    Parameters
    ----------
    labels : Path, or str that may be a URL
        A Zarr store with a variable ``label``.
    """
    array: Any = open_whole_group(labels)["label"]
    return label_names(array)


def row_count(store: Path | str, output: str) -> int:
    """Return the number of rows of a stored answer.

    Parameters
    ----------
    store : path or URL
        Store of answers.
    output : str
        Name of the answer.
    """
    array: Any = open_whole_group(store)[output]
    return int(array.shape[0])


def _label_blocks(store: Path | str) -> Iterator[NDArray[np.int32]]:
    """Read the labels of a store block by block."""
    array: Any = open_whole_group(store)["label"]
    for start in range(0, array.shape[0], BLOCK_ROWS):
        yield read_rows(array, start, min(start + BLOCK_ROWS, array.shape[0]))
