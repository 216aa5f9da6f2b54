"""Labels as text: one line a row, written block by block from the store."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.exporters.labels import BLOCK_ROWS, LabelStore, open_labels
from bigtensor.errors import OutputError


def write_answers_to_csv(
    labels: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    probabilities: bool = True,
    block_rows: int = BLOCK_ROWS,
    progress: Callable[[int, int | None], None] = lambda *_: None,
) -> None:
    """Write the labels of a store to a CSV file that appears under its name when it is whole.

    Columns are ``row``, ``label`` and, where wanted, ``probability_0``, ``probability_1``, ...

    Parameters
    ----------
    labels : path
        A store with ``label`` (rows,) int32 and perhaps ``probability`` (rows, components).
    target : path
        An existing file is replaced.
    probabilities : bool, default True
        Whether to write the probabilities too, where there are any.
    block_rows : int
        Rows that are held at a time.
    progress : callable, optional
        Called with the rows done and all rows.

    Raises
    ------
    OutputError
        When the file cannot be written.
    StoreReadError, DataError
        When there are no labels, or they are damaged.
    """
    path, store = Path(target), open_labels(labels)
    partial = path.with_name(f"{path.name}.partial-{secrets.token_hex(4)}")
    try:
        with partial.open("w", encoding="ascii", newline="\n") as file:
            for done, text in _lines(store, probabilities, block_rows):
                file.write(text)
                progress(done, store.rows)
        partial.replace(path)
    except OSError as error:
        if not error.errno:
            raise
        raise OutputError(
            f"{path} cannot be written ({error.strerror or error}); the labels are in {labels}"
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def _lines(store: LabelStore, probabilities: bool, block_rows: int) -> Iterator[tuple[int, str]]:
    """Yield the rows done and lines of text; the first line holds the names."""
    width = store.components or 0 if probabilities else 0
    yield 0, ",".join(["row", "label", *(f"probability_{h}" for h in range(width))]) + "\n"
    line = "%d,%d" + ",%.6g" * width + "\n"
    for block in store.blocks(probabilities=probabilities, block_rows=block_rows):
        columns: list[NDArray[Any]] = [np.arange(block.start, block.stop), block.label]
        if block.probability is not None:
            columns += list(block.probability.astype(np.float64).T)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        yield block.stop, "".join(line % row for row in rows)
