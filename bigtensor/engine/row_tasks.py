"""Task of a row function: it evaluates one range of rows, and returns or stores the outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from bigtensor.data.addresses.object_stores import read_options
from bigtensor.data.addresses.repeated_reads import ReadTally
from bigtensor.data.rows.block import Block
from bigtensor.data.rows.samples import Samples
from bigtensor.data.stores.manifest import UNFINISHED
from bigtensor.data.stores.object_outputs import begun_again
from bigtensor.data.stores.outputs import absent_output, discard_if_abandoned
from bigtensor.data.stores.stored_arrays import open_to_write
from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.ranges import Part, span
from bigtensor.engine.reduce import blocks_of
from bigtensor.statistics.base import RowFunction, Workspace
from bigtensor.statistics.stop_requests import stop_if_requested
from bigtensor.statistics.validity import Validity, first_invalid, usable_rows

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class RowTask:
    """Task body: the row function, the samples, and the target of the outputs.

    Rows with missing codes are evaluated where the function sums over them (``marginalised``). The
    mark of an unfinished store on an object store tells the run whose task it is (``mark``). If the
    samples were selected by a condition, a target for all rows has chunks of ``chunk_rows`` rows.
    """

    samples: Samples
    function: RowFunction
    path: str | None = None
    marginalised: bool = False
    mark: str | None = None
    chunk_rows: int | None = None


def evaluate_range(
    task: RowTask, part: Part, *arrays: NDArray[Any] | None
) -> tuple[Arrays, Validity, int]:
    """Evaluate the segments of one range.

    Returns
    -------
    outputs : dict of str to ndarray
        Empty where the task wrote them.
    validity : Validity
        How many rows hold missing values, and the first of them.
    repeated_reads : int
        Number of attempts to read that failed and were repeated.
    """
    first, last = span(part)
    tally = ReadTally()
    blocks = blocks_of(task.samples, part, task.function.block_rows, 0, arrays, tally)
    outputs, validity = _evaluate_blocks(task, blocks, first, last - first)
    if task.path is None:
        return outputs, validity, tally.repeated
    options = read_options(task.path) or None
    try:
        group = zarr.open_group(task.path, mode="r+", zarr_format=3, storage_options=options)
    except FileNotFoundError as error:
        raise absent_output(task.path) from error
    if group.attrs.get(UNFINISHED) != task.mark:
        # a task may outlive its run, and its rows are not those of the next one
        raise begun_again(task.path)
    if task.chunk_rows is not None:
        outputs, first, last = _among_all_rows(task, outputs, first, last, task.chunk_rows)
    for name, array in outputs.items():
        open_to_write(group, name)[first:last] = array
    discard_if_abandoned(task.path)
    return {}, validity, tally.repeated


def _among_all_rows(
    task: RowTask, outputs: Arrays, first: int, last: int, chunk_rows: int
) -> tuple[Arrays, int, int]:
    """Return outputs of a whole chunk of all rows, in which rows that were left out are filled.

    All selected rows of the chunk are in the range. The other results are the first row of the
    chunk and the row after its last.
    """
    rows = task.samples.rows_of_sources(first, last)
    start = int(rows[0]) // chunk_rows * chunk_rows
    stop = min(start + chunk_rows, task.samples.source_rows)
    whole = {}
    for output in task.function.outputs:
        array = outputs[output.name]
        whole[output.name] = np.full((stop - start, *array.shape[1:]), output.fill, output.dtype)
        whole[output.name][rows - start] = array
    return whole, start, stop


def _evaluate_blocks(
    task: RowTask, blocks: Iterator[Block], first: int, rows: int
) -> tuple[Arrays, Validity]:
    """Evaluate a row function block by block into arrays of ``rows`` rows."""
    function, work, validities = task.function, Workspace(), list[Validity]()
    arrays = {
        output.name: np.empty((rows, *output.dims.values()), output.dtype)
        for output in function.outputs
    }
    rule: dict[str, Any] = {
        "marginalised": task.marginalised,
        "complete": function.complete.columns,
    }
    with single_blas_thread():
        for block in blocks:
            stop_if_requested()
            window = slice(block.start - first, block.start - first + block.rows)
            out = {name: array[window] for name, array in arrays.items()}
            finite = usable_rows(block, work, **rule)
            validities.append(first_invalid(block, finite, **rule))
            if finite is None:
                function.evaluate(block, out, work)
            else:
                _evaluate_valid(function, block, finite.copy(), out, work)
    return arrays, total_validity(validities)


def total_validity(parts: Sequence[Validity]) -> Validity:
    """Add up counts of consecutive rows; the first part that met a missing value names it."""
    first = next((part for part in parts if part.first_row is not None), None)
    return Validity(
        rows=sum(part.rows for part in parts),
        dropped=sum(part.dropped for part in parts),
        first_row=None if first is None else first.first_row,
        first_column=None if first is None else first.first_column,
        bad_weights=0,
        first_bad_weight=None,
        first_code=None if first is None else first.first_code,
    )


def _evaluate_valid(
    function: RowFunction, block: Block, valid: NDArray[np.bool_], out: Arrays, work: Workspace
) -> None:
    """Evaluate the valid rows of a block and fill the others."""
    kept = block.keep(valid)
    inner = {
        name: np.empty((kept.rows, *array.shape[1:]), array.dtype) for name, array in out.items()
    }
    if kept.rows:
        function.evaluate(kept, inner, work)
    for output in function.outputs:
        out[output.name][...] = output.fill
        out[output.name][valid] = inner[output.name]
