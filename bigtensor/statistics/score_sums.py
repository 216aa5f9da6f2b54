"""Weighted sum of a number that a row function gives for every row, such as its log-density."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import (
    ArraySpec,
    CompleteColumns,
    RowFunction,
    State,
    SumStatistic,
    Workspace,
)


@dataclass(frozen=True)
class ScoreSumsResult:
    """Sums over rows i with weight w_i and score s_i.

    Attributes
    ----------
    total : float
        ``sum w s``.
    weight : float
        ``sum w``.
    """

    total: float
    weight: float

    @property
    def mean(self) -> float:
        """Weighted mean score of a row."""
        return self.total / self.weight


@dataclass(frozen=True, eq=False)
class ScoreSums(SumStatistic[ScoreSumsResult]):
    """Weighted sum of the scores of rows.

    Parameters
    ----------
    scores : RowFunction
        With one output of one number a row.
    """

    scores: RowFunction

    def __post_init__(self) -> None:
        object.__setattr__(self, "block_rows", self.scores.block_rows)

    @property
    def complete(self) -> CompleteColumns:
        """Columns of which the scores need every entry."""
        return self.scores.complete

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        return {"total": ((), "float64"), "weight": ((), "float64")}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        (output,) = self.scores.outputs
        score = work.take("score_sums.score", (block.rows,), output.dtype)
        self.scores.evaluate(block, {output.name: score}, work)
        weight = block.weight
        state["total"] += score.sum() if weight is None else weight[: block.rows] @ score
        state["weight"] += block.total_weight()

    def finalize(self, state: State) -> ScoreSumsResult:
        """Return the sums under their names."""
        return ScoreSumsResult(float(state["total"]), float(state["weight"]))

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return self.scores.work_nbytes(rows) + 8 * rows
