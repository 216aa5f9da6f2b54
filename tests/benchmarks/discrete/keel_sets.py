"""Tables of the KEEL repository as rows of categories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.discrete.real_sets import RealSet, seen
from tests.benchmarks.keel_tables import KeelTable, Purpose, keel_tables

MOST_CATEGORIES = 20
"""Distinct values up to which a column is kept as it is; others are cut at their thirds."""

LEAST_VIEWS = 3


def categorical(table: KeelTable) -> RealSet:
    """Return a table with every column as codes from zero; constant columns are left out."""
    codes = np.column_stack([_coded(column) for column in table.values.T])
    return seen(table.name, codes, table.classes)


def _coded(column: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the codes of a column."""
    distinct, codes = np.unique(column, return_inverse=True)
    if len(distinct) > MOST_CATEGORIES:
        edges = np.quantile(column, [1 / 3, 2 / 3])
        _, codes = np.unique((column[:, None] > edges).sum(axis=1), return_inverse=True)
    return codes.astype(np.int32)


def keel_sets(folder: Path, purpose: Purpose) -> Iterator[RealSet]:
    """Yield the tables of at least three columns that vary."""
    for table in keel_tables(folder, purpose):
        data = categorical(table)
        if len(data.sizes) >= LEAST_VIEWS:
            yield data
