"""States, their probabilities and the density of every row of a sequence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import (
    RowOutput,
    SequenceFunction,
    Statistic,
    Workspace,
    check_answers,
)
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.sequences.best_path import PathBoundaries, PathOperators
from bigtensor.statistics.sequences.chain import BLOCK_ROWS, HiddenChain
from bigtensor.statistics.sequences.filtering import filter_nbytes, filtered_block
from bigtensor.statistics.sequences.path_scores import LOWEST, PathScores
from bigtensor.statistics.sequences.segments import row_kinds
from bigtensor.statistics.sequences.sum_loops import write_smoothed
from bigtensor.statistics.sequences.transfer import Boundaries, TransferOperators
from bigtensor.statistics.sequences.viterbi_loops import write_best_path

NAMES = ("label", "probability", "log_density")


@dataclass(frozen=True, eq=False)
class SequenceAnswers(SequenceFunction):
    """Most probable path, posterior probabilities of the states, and density of every row.

    Parameters
    ----------
    chain : HiddenChain
        Hidden Markov model of the sequences.
    names : tuple of str, default ("label",)
        Any of ``"label"`` (int32, the state on the most probable path of the sequence),
        ``"probability"`` (float64, one a state, given all rows of the sequence) and
        ``"log_density"`` (float64, in nats, given the earlier rows of the sequence).
    boundaries : Boundaries, optional
        Messages between blocks, for probabilities and densities.
    paths : PathBoundaries, optional
        States of the most probable paths at the ends of blocks, for labels.

    Raises
    ------
    ParameterError
        When a name is unknown or repeated, or there is none.
    """

    chain: HiddenChain
    names: tuple[str, ...] = ("label",)
    boundaries: Boundaries | None = None
    paths: PathBoundaries | None = None

    block_rows: ClassVar[int] = BLOCK_ROWS

    def __post_init__(self) -> None:
        check_answers(self.names, NAMES)

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """Outputs for every row."""
        by_name = {
            "label": RowOutput("label", "int32", fill=-1),
            "probability": RowOutput("probability", "float64", {"state": self.chain.n_states}),
            "log_density": RowOutput("log_density", "float64"),
        }
        return tuple(by_name[name] for name in self.names)

    def operators(self, blocks: int) -> Statistic[Any]:
        """Return the statistic of the messages that the outputs need."""
        parts: dict[str, Statistic[Any]] = {}
        if {*self.names} - {"label"}:
            parts["boundaries"] = TransferOperators(self.chain, blocks)
        if "label" in self.names:
            parts["paths"] = PathOperators(self.chain, blocks)
        return Together.named(**parts)

    def between(self, messages: Mapping[str, Any]) -> SequenceAnswers:
        """Return the function of blocks with their messages."""
        return replace(self, **messages)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the outputs of the rows of ``block`` into ``out``, each ``(rows, ...)``."""
        block = block.without_halo()
        if "label" in out:
            self._write_path(block, out["label"], work)
        if {*out} - {"label"}:
            self._write_probabilities(block, out, work)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        k = self.chain.n_states
        of_path = PathScores(self.chain).work_nbytes(rows) + 4 * rows * (k + 1)
        return of_path + filter_nbytes(self.chain, rows)

    def _write_path(self, block: Block, label: NDArray[np.int32], work: Workspace) -> None:
        """Write the most probable states."""
        assert self.paths is not None
        scores, (rows, k) = PathScores(self.chain), (block.rows, self.chain.n_states)
        first, entering, leaving = self.paths.around(block)
        path = work.take("answers.path", (rows,), "int32")
        write_best_path(
            scores.write_emissions(block, work),
            row_kinds(block, first),
            scores.first_states,
            scores.transition,
            entering,
            leaving,
            work.take("answers.origin", (rows, k), "int32"),
            np.zeros((2, k), np.int64),
            path,
            LOWEST,
        )
        np.copyto(label, path)

    def _write_probabilities(
        self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace
    ) -> None:
        """Write the posterior probabilities and the densities."""
        assert self.boundaries is not None
        chain = self.chain
        forward = filtered_block(chain, self.boundaries, block, work)
        if "log_density" in out:
            np.subtract(forward.log_density, chain.emissions.log_volume, out=out["log_density"])
        if "probability" in out:
            buffer = np.empty((2, chain.n_states))
            write_smoothed(
                forward.emission,
                forward.kinds,
                chain.positive_transition,
                forward.leaving,
                forward.filtered,
                buffer,
            )
            np.copyto(out["probability"], forward.filtered)
