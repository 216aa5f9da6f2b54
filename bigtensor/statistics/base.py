"""Statistics, arrays that add up block by block, and passes that ask for them.

A state is a plain dictionary of NumPy arrays. That is all the engine needs to send it, add it,
store it without pickle and compare it bit for bit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import DataError, ParameterError
from bigtensor.features.buffers import Buffers, aligned_empty

Result = TypeVar("Result", covariant=True)

State = dict[str, NDArray[Any]]
"""One joint state: named arrays whose total size does not depend on the number of rows."""

ArraySpec = tuple[tuple[int, ...], DTypeLike]
"""Shape and dtype of one array of a state."""

DEFAULT_BLOCK_ROWS = 2048
"""Rows that fit the second-level cache together with the features computed from them."""


class Workspace:
    """Buffers that are allocated once in a task and written again for every block.

    Inside a default Dask worker a kernel that allocates a few megabytes for every block runs at
    about half speed, because freed memory is returned to the system at once.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, NDArray[Any]] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an uninitialised C-contiguous array of this shape, the same memory every time.

        It begins with a line of the cache.

        Parameters
        ----------
        name : str
            Names the buffer; two arrays that are in use together need two names.
        shape : tuple of int
            Shape of the array.
        dtype : dtype-like
            Type of the entries.

        Returns
        -------
        ndarray
            The head of a buffer that grows when a larger shape is asked for.
        """
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            buffer = aligned_empty((size,), dtype)
            self._buffers[name] = buffer
        return buffer[:size].reshape(shape)

    def take_all(self, buffers: Buffers) -> list[NDArray[Any]]:
        """Return an uninitialised array for every name, in the order of the mapping."""
        return [self.take(name, shape, dtype) for name, (shape, dtype) in buffers.items()]

    @property
    def nbytes(self) -> int:
        """Bytes held by all buffers."""
        return sum(buffer.nbytes for buffer in self._buffers.values())


@dataclass(frozen=True)
class CompleteColumns:
    """Columns of which a row needs every entry, also where other missing entries are summed over.

    Attributes
    ----------
    columns : tuple of int
        Columns over the features of all views. A row that lacks an entry of them is left out.
    remedy : str
        Reason, and the way to use such rows, for the warning.
    """

    columns: tuple[int, ...] = ()
    remedy: str = ""


class Statistic(ABC, Generic[Result]):
    """A sum over rows, or something that behaves like one.

    Subclasses are frozen dataclasses of small parameters: they are pickled, hashed by content for
    checkpoints, and sent out once a pass.

    Attributes
    ----------
    block_rows : int
        Rows that `update` wants at once.
    halo : int
        Rows after a block that `update` wants to look at: one less than the rows of a window.
        `Block.window_starts` says at which rows a window starts.
    """

    block_rows: ClassVar[int] = DEFAULT_BLOCK_ROWS
    halo: ClassVar[int] = 0

    @property
    def complete(self) -> CompleteColumns:
        """Columns of which a row needs every entry."""
        return CompleteColumns()

    @abstractmethod
    def init(self) -> State:
        """Return the state of zero rows: the identity of `combine`."""

    @abstractmethod
    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block to ``state`` in place; ``block`` is not modified."""

    @abstractmethod
    def combine(self, left: State, right: State) -> State:
        """Return the state of the rows of both; pure and associative."""

    @abstractmethod
    def finalize(self, state: State) -> Result:
        """Turn the state of all rows into the result, on the driver."""

    @abstractmethod
    def state_nbytes(self) -> int:
        """Return an upper bound on the bytes of a state for any number of rows."""

    @abstractmethod
    def work_nbytes(self, rows: int) -> int:
        """Return an upper bound on the bytes that `update` takes for a block of ``rows`` rows.

        The plan of memory counts them: buffers of the workspace and temporary arrays of NumPy. The
        laws compare with the buffers alone.
        """


class SumStatistic(Statistic[Result]):
    """A statistic whose state is a plain sum over rows of fixed arrays.

    A sum can be subtracted, so that leaving a fold out costs nothing, and sums of different sites
    can be merged without moving a row.
    """

    @abstractmethod
    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the shape and dtype of every array of the state."""

    def init(self) -> State:
        """Return zeros."""
        return {
            name: np.zeros(shape, dtype) for name, (shape, dtype) in self.state_arrays().items()
        }

    def combine(self, left: State, right: State) -> State:
        """Return the sum."""
        # NumPy makes a scalar of the sum of two arrays without dimensions
        return {name: np.asarray(left[name] + right[name]) for name in left}

    def state_nbytes(self) -> int:
        """Return the bytes of all arrays of the state."""
        return sum(
            math.prod(shape) * np.dtype(dtype).itemsize
            for shape, dtype in self.state_arrays().values()
        )


class AroundStatistic(Statistic[Result]):
    """A statistic that passes blocks on to another one.

    Subclasses are frozen dataclasses.

    Attributes
    ----------
    statistic : Statistic
        The other statistic.
    """

    statistic: Statistic[Any]

    def __post_init__(self) -> None:
        # blocks have to be as the other statistic needs them
        object.__setattr__(self, "block_rows", self.statistic.block_rows)
        object.__setattr__(self, "halo", self.statistic.halo)

    @property
    def complete(self) -> CompleteColumns:
        """Columns of which the other statistic needs every entry."""
        return self.statistic.complete


class OfOtherRows(AroundStatistic[Result]):
    """A statistic that passes selected or changed rows of a block to another statistic.

    State and result are those of the other statistic.
    """

    statistic: Statistic[Result]

    def init(self) -> State:
        """Return the state of zero rows."""
        return self.statistic.init()

    def combine(self, left: State, right: State) -> State:
        """Combine two states."""
        return self.statistic.combine(left, right)

    def finalize(self, state: State) -> Result:
        """Return the result of the statistic."""
        return self.statistic.finalize(state)

    def state_nbytes(self) -> int:
        """Return the bytes of the state."""
        return self.statistic.state_nbytes()


def positive_weight(weight: FloatArray, results: str) -> float:
    """Return the total weight of all rows, by which sums are divided.

    Parameters
    ----------
    weight : float64 array without dimensions
        Sum of the weights of the rows.
    results : str
        Plural of the results that are divided, such as ``"moments"``.

    Raises
    ------
    DataError
        When the weight is not positive.
    """
    total = float(weight)
    if not total > 0:
        raise DataError(
            f"the rows have a total weight of {total:g}; {results} need at least one row with a "
            "positive weight"
        )
    return total


@dataclass(frozen=True)
class Pass(Generic[Result]):
    """One pass over the rows. A fit yields it to the engine, which sends the result back.

    Attributes
    ----------
    name : str
        Names the pass in the plan, the progress, the report and the checkpoint.
    statistic : Statistic
        What is summed.
    rows : tuple of (start, stop) pairs, optional
        Global row ranges to read, ascending and disjoint; None stands for all rows.
    """

    name: str
    statistic: Statistic[Result]
    rows: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True)
class Narrowing:
    """Request of a script to read fewer columns in all later passes. Nothing is sent back.

    Attributes
    ----------
    columns : tuple of int
        Columns to keep, ascending, over the features of all views so far. A view without columns
        disappears.
    """

    columns: tuple[int, ...]


@dataclass(frozen=True)
class RowOutput:
    """One output of a row function: an array with one entry, or one vector, a row.

    Attributes
    ----------
    name : str
        Name of the output in the result.
    dtype : str
        Type of the entries.
    dims : mapping of str to int
        Names and lengths of the dimensions after the sample dimension.
    fill : int or float
        The value of rows that were left out because they hold missing values.
    """

    name: str
    dtype: str
    dims: Mapping[str, int] = field(default_factory=dict)
    fill: float = np.nan


def check_answers(names: Sequence[str], choices: Sequence[str]) -> None:
    """Raise a ParameterError unless answers for a row are named once each, and at least one.

    Parameters
    ----------
    names : sequence of str
        Names of the outputs that are asked for.
    choices : sequence of str
        Names of all outputs that a row function has.
    """
    if not names or len({*names} & {*choices}) < len(names):
        raise ParameterError(
            f"answers for a row are some of {', '.join(choices)}, each once, and not "
            f"{', '.join(names) or 'none'}"
        )


class RowFunction(ABC):
    """A pure function of every row, such as its label; subclasses are frozen dataclasses."""

    block_rows: ClassVar[int] = DEFAULT_BLOCK_ROWS

    @property
    def complete(self) -> CompleteColumns:
        """Columns of which a row needs every entry."""
        return CompleteColumns()

    @property
    @abstractmethod
    def outputs(self) -> tuple[RowOutput, ...]:
        """Outputs for every row."""

    @abstractmethod
    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the outputs of the rows of ``block`` into ``out``, each ``(rows, ...)``."""

    @abstractmethod
    def work_nbytes(self, rows: int) -> int:
        """Return an upper bound on the bytes that `evaluate` takes for a block of ``rows`` rows.

        The plan of memory counts them: buffers of the workspace and temporary arrays of NumPy. The
        laws compare with the buffers alone.
        """

    @property
    def row_nbytes(self) -> int:
        """Bytes of all outputs of one row."""
        return sum(
            math.prod(output.dims.values()) * np.dtype(output.dtype).itemsize
            for output in self.outputs
        )


class SequenceFunction(RowFunction):
    """A function of every row that depends on the other rows of its sequence.

    A first pass collects a small operator of every block. On the driver these become messages that
    enter and leave each block, with which the rows of the block are answered alone, and exactly.
    """

    @abstractmethod
    def operators(self, blocks: int) -> Statistic[Any]:
        """Return the statistic of the operators. It reads the same blocks as the function.

        Parameters
        ----------
        blocks : int
            Largest number of blocks.
        """

    @abstractmethod
    def between(self, messages: Mapping[str, object]) -> SequenceFunction:
        """Return the function with the messages of all blocks: the result of `operators`."""
