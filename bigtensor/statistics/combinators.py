"""Statistics made of statistics, and answers of answers: several in one read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import DTypeLike, NDArray

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import (
    CompleteColumns,
    RowFunction,
    RowOutput,
    State,
    Statistic,
    Workspace,
)
from bigtensor.statistics.sub_blocks import sub_blocks


@dataclass(frozen=True)
class Together(Statistic[dict[str, Any]]):
    """Several statistics of the same rows in one read; the result is a dictionary.

    Every statistic is shown as many rows at once as it wants.

    Parameters
    ----------
    parts : tuple of (name, statistic) pairs
        Statistics with their names.

    Raises
    ------
    ParameterError
        When there is no part, or a name is repeated or holds a slash.
    """

    parts: tuple[tuple[str, Statistic[Any]], ...]

    def __post_init__(self) -> None:
        names = [name for name, _ in self.parts]
        if not names or len(set(names)) < len(names) or any("/" in name for name in names):
            raise ParameterError(
                f"statistics computed together need distinct names without a slash, got {names}"
            )
        # the largest of what the parts want; smaller blocks are cut in `update`
        statistics = [statistic for _, statistic in self.parts]
        object.__setattr__(self, "block_rows", max(part.block_rows for part in statistics))
        object.__setattr__(self, "halo", max(part.halo for part in statistics))

    @classmethod
    def named(cls, **statistics: Statistic[Any]) -> Together:
        """Return the statistics of these names together."""
        return cls(tuple(statistics.items()))

    def init(self) -> State:
        """Return the states of zero rows."""
        return _join({name: statistic.init() for name, statistic in self.parts})

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add the block to every statistic."""
        for name, statistic in self.parts:
            part, corner = _part(state, name), _Corner(work, name)
            for _, rows in sub_blocks(block, statistic.block_rows, statistic.halo):
                statistic.update(part, rows, corner)
            state.update(_join({name: part}))

    def combine(self, left: State, right: State) -> State:
        """Combine every statistic's states."""
        return _join(
            {
                name: statistic.combine(_part(left, name), _part(right, name))
                for name, statistic in self.parts
            }
        )

    def finalize(self, state: State) -> dict[str, Any]:
        """Return the result of every statistic under its name."""
        return {name: statistic.finalize(_part(state, name)) for name, statistic in self.parts}

    def state_nbytes(self) -> int:
        """Return the bytes of all states."""
        return sum(statistic.state_nbytes() for _, statistic in self.parts)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of all workspaces."""
        return sum(
            statistic.work_nbytes(min(rows, statistic.block_rows)) for _, statistic in self.parts
        )


@dataclass(frozen=True)
class AnswersTogether(RowFunction):
    """Several functions of the same rows in one read.

    Every function is shown as many rows at once as it wants.

    Parameters
    ----------
    parts : tuple of RowFunction
        With outputs of different names.
    """

    parts: tuple[RowFunction, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "block_rows", max(part.block_rows for part in self.parts))

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """Outputs of all functions."""
        return tuple(output for part in self.parts for output in part.outputs)

    @property
    def complete(self) -> CompleteColumns:
        """Columns of which one of the functions needs every entry."""
        return max((part.complete for part in self.parts), key=lambda one: len(one.columns))

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the outputs of the rows of ``block``."""
        for part in self.parts:
            for window, rows in sub_blocks(block, part.block_rows):
                own = {output.name: out[output.name][window] for output in part.outputs}
                part.evaluate(rows, own, work)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return sum(part.work_nbytes(min(rows, part.block_rows)) for part in self.parts)


class _Corner(Workspace):
    """The part of a workspace that belongs to one of several statistics."""

    def __init__(self, work: Workspace, name: str) -> None:
        super().__init__()
        self._work = work
        self._name = name

    def take(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return a buffer of the whole workspace under a name of this part."""
        return self._work.take(f"{self._name}/{name}", shape, dtype)

    @property
    def nbytes(self) -> int:
        """Bytes held by the whole workspace."""
        return self._work.nbytes


def _join(states: dict[str, State]) -> State:
    """Return one state with the names of the parts before the names of their arrays."""
    return {
        f"{name}/{key}": array for name, state in states.items() for key, array in state.items()
    }


def _part(state: State, name: str) -> State:
    """Return the arrays of one part, under their own names."""
    prefix = f"{name}/"
    return {
        key.removeprefix(prefix): array for key, array in state.items() if key.startswith(prefix)
    }
