"""Loops along a hidden chain for its most probable path: transfer, path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.features.row_loops import row_loop


@row_loop
def write_path_transfer(
    emission: IntArray,
    first_states: IntArray,
    transition: IntArray,
    operator: IntArray,
    buffer: IntArray,
    first: int,
    lowest: int,
) -> None:
    """Write the score of the best path from a state before the rows to one of the last.

    Line i of ``operator`` is of state ``first + i`` in the row before. The last two lines
    are of rows without a row before: k of the first rows of a sequence, and k + 1 of rows after a
    gap.

    Parameters
    ----------
    emission : (rows, k) array
        Of at least one row.
    first_states : (2, k) array
        Scores of the state of the first row of a sequence, and of the first row after a gap.
    transition : (k, k) array
        From a row to a column.
    operator : (lines, k) array
        Receives the scores of the best paths.
    buffer : (k,) array
        Overwritten.
    first : int
        State of the first line.
    lowest : int
        Score of an impossible path.
    """
    rows, k = emission.shape
    lines = operator.shape[0]
    for i in range(lines):
        state = first + i
        for j in range(k):
            entering = first_states[state - k, j] if state >= k else transition[state, j]
            operator[i, j] = entering + emission[0, j]
    for row in range(1, rows):
        for i in range(lines):
            line = operator[i]
            buffer[:] = lowest
            for h in range(k):
                for j in range(k):
                    buffer[j] = max(buffer[j], line[h] + transition[h, j])
            for j in range(k):
                line[j] = buffer[j] + emission[row, j]


@row_loop
def write_best_path(
    emission: IntArray,
    kinds: NDArray[np.int8],
    first_states: IntArray,
    transition: IntArray,
    entering: int,
    leaving: int,
    origin: NDArray[np.int32],
    score: IntArray,
    path: NDArray[np.int32],
    lowest: int,
) -> None:
    """Write the most probable states of the rows, the first of equally probable ones.

    Parameters
    ----------
    emission : (rows, k) array
        Scores of the emissions.
    kinds : (rows,) int8 array
        Kind of every row; see `bigtensor.statistics.sequences.segments.row_kinds`.
    first_states : (2, k) array
        Scores of the state of the first row of a sequence, and of the first row after a gap.
    transition : (k, k) array
        Scores of the transitions, from a row to a column.
    entering : int
        State of the row before the first, unless a sequence starts there.
    leaving : int
        State of the last row; -1 where a sequence ends there.
    origin : (rows, k) int32 array
        Buffer: the state before, on the best path to a state.
    score : (2, k) array
        Buffer.
    path : (rows,) int32 array
        Receives the states.
    lowest : int
        Score of an impossible path.
    """
    rows, k = emission.shape
    before, now = score[0], score[1]
    for row in range(rows):
        if kinds[row]:
            # the path of the sequence before ends at its best state
            at = 0
            for h in range(1, k):
                at = h if before[h] > before[at] else at
            for j in range(k):
                now[j] = first_states[kinds[row] - 1, j]
                origin[row, j] = at
        elif row == 0:
            for j in range(k):
                now[j] = transition[entering, j]
                origin[row, j] = entering
        else:
            for j in range(k):
                now[j] = lowest
                origin[row, j] = 0
            for h in range(k):
                for j in range(k):
                    value = before[h] + transition[h, j]
                    better = value > now[j]
                    now[j] = value if better else now[j]
                    origin[row, j] = h if better else origin[row, j]
        for j in range(k):
            now[j] += emission[row, j]
        before, now = now, before
    at = leaving
    if at < 0:
        at = 0
        for h in range(1, k):
            at = h if before[h] > before[at] else at
    for row in range(rows - 1, -1, -1):
        path[row] = at
        at = origin[row, at]
