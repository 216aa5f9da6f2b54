"""Fit in rounds: the passes of its script one by one, over rows that never leave their site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bigtensor.engine.checkpoint import content_key
from bigtensor.errors import StatisticsError
from bigtensor.models.contract.parameters import plain
from bigtensor.models.contract.script import Script, Solved, replay
from bigtensor.models.contract.statistics_file import Statistics
from bigtensor.statistics.base import Pass


@dataclass(frozen=True, eq=False)
class Rounds:
    """Passes of a fit so far, and the pass that comes next.

    Attributes
    ----------
    preparation : dataclass
        From the first half of the script of the model, without a row.
    digest : str
        Of the preparation.
    diagnostics : dict
        Of the preparation.
    finished : tuple of Statistics
        Sums of the finished passes, each over all rows.
    next_pass : Pass, optional
        The next pass; None after the last. It is kept rather than computed again, so that every
        site compares its rows with the same bits.
    """

    preparation: Any
    digest: str
    diagnostics: dict[str, Any]
    finished: tuple[Statistics, ...]
    next_pass: Pass[Any] | None

    @property
    def mixture(self) -> str:
        """Digest of the mixture of the next pass, empty for the first pass."""
        return _digest(self.finished)

    def after(self, statistics: Statistics) -> tuple[Statistics, ...]:
        """Return the sums of the finished passes, the given ones as the last.

        Sums of an earlier pass take the place of those that were there.

        Raises
        ------
        StatisticsError
            When they were made with another preparation or another mixture.
        """
        if statistics.preparation != self.digest:
            raise StatisticsError(
                f"the statistics of {statistics.data} have the preparation "
                f"{statistics.preparation[:8]}, and this model has the preparation "
                f"{self.digest[:8]}; solve them with the prepared model that they were accumulated "
                "with"
            )
        for count in range(len(self.finished) + 1):
            earlier = self.finished[:count]
            if _digest(earlier) == statistics.mixture:
                return (*earlier, statistics)
        raise StatisticsError(
            f"the statistics of {statistics.data} were made with the mixture "
            f"{statistics.mixture[:8]}, and this model has {self.mixture[:8] or 'none yet'}; solve "
            "them with the model that they were accumulated with"
        )

    def restarted(self, refine: Callable[[Any], Script]) -> Rounds:
        """Return the rounds before the first pass."""
        if not self.finished:
            return self
        _, next_pass = replay(refine(self.preparation), ())
        return replace(self, finished=(), next_pass=next_pass)

    def solved(
        self, finished: tuple[Statistics, ...], refine: Callable[[Any], Script]
    ) -> tuple[Solved | None, Rounds]:
        """Return the solution after some passes, if they give one, and the rounds from there on.

        Parameters
        ----------
        finished : tuple of Statistics
            At least one.
        refine : callable
            The second half of the script, of a preparation.
        """
        sums = [statistics.state for statistics in finished]
        make, next_pass = replay(refine(self.preparation), sums)
        onwards = replace(self, finished=finished, next_pass=next_pass)
        if make is None:
            return None, onwards
        solved = make()
        last = finished[-1]
        diagnostics_of_rounds = {
            "data": last.data,
            "rows": last.rows + last.rows_left_out,
            "rows_left_out": last.rows_left_out,
            "passes": [
                *self.diagnostics["passes"],
                *(
                    {
                        "name": entry.pass_name,
                        "rows": entry.rows + entry.rows_left_out,
                        "parts": len(entry.parts),
                        "reused_parts": 0,
                    }
                    for entry in finished
                ),
            ],
        }
        diagnostics = plain(self.diagnostics | solved.diagnostics | diagnostics_of_rounds)
        return replace(solved, diagnostics=diagnostics), onwards


def _digest(finished: tuple[Statistics, ...]) -> str:
    """Return a digest of the sums of finished passes, empty before the first pass."""
    return content_key([entry.state for entry in finished]) if finished else ""
