"""Labels as text: one line a row, written block by block from the store."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from bigtensor.errors import OutputError

BLOCK_ROWS = 262_144
"""Rows of one chunk of the store of labels."""


def write_csv(
    labels: Path,
    path: Path,
    *,
    probabilities: bool,
    progress: Callable[[int, int | None], None],
) -> None:
    """Write the labels of a store to a CSV file that appears under its name when it is whole.

    Columns are ``row``, ``label`` and, on request, ``probability_0``, ``probability_1``, ...

    Parameters
    ----------
    labels : Path
        A store with ``label`` (rows,) and, where asked for, ``probability`` (rows, components).
    path : Path
        An existing file is replaced.
    probabilities : bool
    progress : callable
        Called with the rows done and all rows.

    Raises
    ------
    OutputError
        When the file cannot be written.
    """
    partial = path.with_name(f"{path.name}.partial-{secrets.token_hex(4)}")
    try:
        with partial.open("w", encoding="ascii", newline="\n") as file:
            for done, total, text in _blocks(labels, probabilities):
                file.write(text)
                progress(done, total)
        partial.replace(path)
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written ({error.strerror or error}); the labels are in {labels}"
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def _blocks(labels: Path, probabilities: bool) -> Iterator[tuple[int, int, str]]:
    """Yield rows done, all rows, and lines of text; the first lines are the names."""
    group = zarr.open_group(str(labels), mode="r")
    label: Any = group["label"]
    probability: Any = group["probability"] if probabilities else None
    width = 0 if probability is None else probability.shape[1]
    total = int(label.shape[0])
    yield 0, total, ",".join(["row", "label", *(f"probability_{h}" for h in range(width))]) + "\n"
    line = "%d,%d" + ",%.6g" * width + "\n"
    for start in range(0, total, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, total)
        columns: list[NDArray[Any]] = [np.arange(start, stop), np.asarray(label[start:stop])]
        if probability is not None:
            columns += list(np.asarray(probability[start:stop], np.float64).T)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        yield stop, total, "".join(line % row for row in rows)
