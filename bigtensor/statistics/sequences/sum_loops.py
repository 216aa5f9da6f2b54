"""Loops along a hidden chain that add up over its paths: transfer, filter, smoother."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.features.row_loops import row_loop


@row_loop
def write_transfer(
    emission: FloatArray,
    first_states: FloatArray,
    transition: FloatArray,
    operator: FloatArray,
    log_scale: FloatArray,
    buffer: FloatArray,
    first: int,
) -> None:
    """Write the operator that takes a state before the rows to the states of the last row.

    Line i of ``operator``, times ``exp(log_scale[i])``, holds the probabilities of the rows and of
    the states of the last of them, given state ``first + i`` in the row before. The
    last two lines are of rows without a row before: k of the first rows of a sequence, and k + 1 of
    rows after a gap.

    Parameters
    ----------
    emission : (rows, k) array
        Of at least one row.
    first_states : (2, k) array
        Probabilities of the state of the first row of a sequence, and of the first row after a gap.
    transition : (k, k) array
        From a row to a column.
    operator : (lines, k) array
        Every line sums to one, unless the rows are impossible after its state.
    log_scale : (lines,) array
        Receives the natural logarithms of the factors of the lines.
    buffer : (k,) array
        Overwritten.
    first : int
        State of the first line.
    """
    rows, k = emission.shape
    lines = operator.shape[0]
    for i in range(lines):
        line, state = operator[i], first + i
        log_scale[i] = 0.0
        for j in range(k):
            entering = first_states[state - k, j] if state >= k else transition[state, j]
            line[j] = entering * emission[0, j]
    for row in range(1, rows):
        of_row = emission[row]
        for i in range(lines):
            line = operator[i]
            buffer[:] = 0.0
            for h in range(k):
                share, onward = line[h], transition[h]
                for j in range(k):
                    buffer[j] += share * onward[j]
            total = 0.0
            for j in range(k):
                line[j] = buffer[j] * of_row[j]
                total += line[j]
            if 0.0 < total < 1e-20:
                log_scale[i] += np.log(total)
                for j in range(k):
                    line[j] /= total
    for i in range(lines):
        total = 0.0
        for j in range(k):
            total += operator[i, j]
        log_scale[i] += np.log(total)
        if total > 0.0:
            for j in range(k):
                operator[i, j] /= total


@row_loop
def write_filtered(
    emission: FloatArray,
    log_largest: FloatArray,
    kinds: NDArray[np.int8],
    first_states: FloatArray,
    transition: FloatArray,
    entering: FloatArray,
    filtered: FloatArray,
    log_density: FloatArray,
) -> None:
    """Write the probabilities of the states given the rows so far, and the density of every row.

    Parameters
    ----------
    emission : (rows, k) array
        Relative to the largest of every row.
    log_largest : (rows,) array
        Natural logarithm of the largest emission of every row.
    kinds : (rows,) int8 array
        Kind of every row; see `bigtensor.statistics.sequences.segments.row_kinds`.
    first_states : (2, k) array
        Probabilities of the state of the first row of a sequence, and of the first row after a gap.
    transition : (k, k) array
        Probabilities of the transitions, from a row to a column.
    entering : (k,) array
        Probabilities of the state before the first row, unless a sequence starts there.
    filtered : (rows, k) array
        Receives probabilities that sum to one.
    log_density : (rows,) array
        Receives the log density given all earlier rows of the sequence.
    """
    rows, k = emission.shape
    for row in range(rows):
        of_row = filtered[row]
        if kinds[row]:
            for j in range(k):
                of_row[j] = first_states[kinds[row] - 1, j]
        else:
            before = entering if row == 0 else filtered[row - 1]
            of_row[:] = 0.0
            for h in range(k):
                share, onward = before[h], transition[h]
                for j in range(k):
                    of_row[j] += share * onward[j]
        total = 0.0
        for j in range(k):
            of_row[j] *= emission[row, j]
            total += of_row[j]
        log_density[row] = np.log(total) + log_largest[row]
        for j in range(k):
            of_row[j] /= total


@row_loop
def write_smoothed(
    emission: FloatArray,
    kinds: NDArray[np.int8],
    transition: FloatArray,
    leaving: FloatArray,
    filtered: FloatArray,
    buffer: FloatArray,
) -> None:
    """Turn probabilities given the rows so far into those given all rows, from the last row back.

    Parameters
    ----------
    emission : (rows, k) array
        Relative to the largest of every row.
    kinds : (rows,) int8 array
        Kind of every row; see `bigtensor.statistics.sequences.segments.row_kinds`.
    transition : (k, k) array
        Probabilities of the transitions, from a row to a column.
    leaving : (k,) array
        Likelihood of the later rows of the sequence by the state of the last row, up to a factor.
    filtered : (rows, k) array
        Overwritten.
    buffer : (2, k) array
        Overwritten.
    """
    rows, k = emission.shape
    onward, ahead = buffer[0], buffer[1]
    for j in range(k):
        onward[j] = leaving[j]
    for row in range(rows - 1, -1, -1):
        of_row = filtered[row]
        total = 0.0
        for j in range(k):
            of_row[j] *= onward[j]
            total += of_row[j]
        for j in range(k):
            of_row[j] /= total
        if kinds[row]:
            onward[:] = 1.0
            continue
        for j in range(k):
            ahead[j] = emission[row, j] * onward[j]
        largest = 0.0
        for i in range(k):
            likelihood = 0.0
            for j in range(k):
                likelihood += transition[i, j] * ahead[j]
            onward[i] = likelihood
            largest = max(largest, likelihood)
        for i in range(k):
            onward[i] /= largest


@row_loop
def add_transitions(
    emission: FloatArray,
    kinds: NDArray[np.int8],
    weight: FloatArray,
    transition: FloatArray,
    entering: FloatArray,
    leaving: FloatArray,
    filtered: FloatArray,
    posterior: FloatArray,
    sums: FloatArray,
    buffer: FloatArray,
) -> None:
    """Write posterior probabilities of the states, and add posterior probabilities of pairs.

    Parameters
    ----------
    emission : (rows, k) array
        Relative to the largest of every row.
    kinds : (rows,) int8 array
        Kind of every row; see `bigtensor.statistics.sequences.segments.row_kinds`.
    weight : (rows,) array
        Weights of the rows.
    transition : (k, k) array
        Probabilities of the transitions, from a row to a column.
    entering, leaving : (k,) array
        As for `write_filtered` and `write_smoothed`.
    filtered : (rows, k) array
        Probabilities of the states given the rows so far.
    posterior : (rows, k) array
        Receives probabilities times weights.
    sums : (k, k) array
        Receives the sum of ``P(state before, state) w`` divided by the entries of ``transition``.
    buffer : (2, k) array
        Overwritten.
    """
    rows, k = emission.shape
    onward, ahead = buffer[0], buffer[1]
    for j in range(k):
        onward[j] = leaving[j]
    for row in range(rows - 1, -1, -1):
        of_row = posterior[row]
        total = 0.0
        for j in range(k):
            of_row[j] = filtered[row, j] * onward[j]
            total += of_row[j]
        for j in range(k):
            of_row[j] *= weight[row] / total
        if kinds[row]:
            onward[:] = 1.0
            continue
        for j in range(k):
            ahead[j] = emission[row, j] * onward[j]
        before = entering if row == 0 else filtered[row - 1]
        total, largest = 0.0, 0.0
        for i in range(k):
            likelihood = 0.0
            for j in range(k):
                likelihood += transition[i, j] * ahead[j]
            onward[i] = likelihood
            largest = max(largest, likelihood)
            total += before[i] * likelihood
        for i in range(k):
            onward[i] /= largest
            share = weight[row] * before[i] / total
            for j in range(k):
                sums[i, j] += share * ahead[j]
