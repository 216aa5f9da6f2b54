"""Answers for every row in memory."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bigtensor.data.rows.samples import Samples
from bigtensor.engine.events import Listener
from bigtensor.engine.ranges import RowRange, answered_rows, row_ranges
from bigtensor.engine.row_pass import evaluate_ranges
from bigtensor.engine.row_tasks import Arrays, RowTask
from bigtensor.engine.runtime import Runtime
from bigtensor.statistics.base import RowFunction
from bigtensor.statistics.validity import Validity


def evaluate_in_memory(
    samples: Samples,
    function: RowFunction,
    runtime: Runtime,
    *,
    marginalised: bool = False,
    listeners: Iterable[Listener] = (),
) -> tuple[Arrays, Validity]:
    """Evaluate a row function over all rows and gather the outputs.

    With ``marginalised``, the function is shown rows with missing codes.

    Returns
    -------
    outputs : dict of str to (rows, ...) array
        Values of every output of the function by its name.
    validity : Validity
        How many rows hold missing values and got the fill value, and the first of them.
    """
    outputs = {
        output.name: np.empty((samples.rows, *output.dims.values()), output.dtype)
        for output in function.outputs
    }

    def place(rows: RowRange, arrays: Arrays) -> None:
        for key, array in arrays.items():
            outputs[key][rows[0] : rows[1]] = array

    task = RowTask(samples, function, marginalised=marginalised)
    ranges = row_ranges(samples, answered_rows(function))
    return outputs, evaluate_ranges(task, ranges, runtime, place, listeners)
