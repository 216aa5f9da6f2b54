"""Most probable paths with their probability: `HiddenMarkovModel` takes `decode` as a method."""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.models.contract.containers import RowAnswer
from bigtensor.models.contract.run import RunsPasses
from bigtensor.models.contract.script import PlannedPass, SizedScript
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.statistics.base import Pass
from bigtensor.statistics.sequences.best_path import PathOperators
from bigtensor.statistics.sequences.entries import most_blocks
from bigtensor.statistics.sequences.path_probability import PathProbability


class DecodesSequences(RunsPasses, Protocol):
    """A fitted hidden Markov model that reads sequences."""

    def predict(
        self,
        X: DataLike,
        lengths: npt.ArrayLike | None = None,
        *,
        sequence: str | RowVariableLike | None = None,
    ) -> RowAnswer:
        """Return the state of every row on the most probable path of its sequence."""

    def _solution(self) -> MarkovFit:
        """Return the solution, or raise sklearn's NotFittedError."""

    def _open_in_order(self, *args: Any) -> Any:
        """Return data with the views of the fit, in their sequences."""


def decode(
    self: DecodesSequences,
    X: DataLike,
    lengths: npt.ArrayLike | None = None,
    *,
    sequence: str | RowVariableLike | None = None,
) -> tuple[float, RowAnswer]:
    """Return the most probable paths and their log probability, as hmmlearn does.

    Parameters
    ----------
    X : path, xarray, dask array or array-like
        As for `fit`.
    lengths, sequence : optional
        As for `fit`.

    Returns
    -------
    log_probability : float
        Of all rows together with their paths, in nats. Weights of rows do not count.
    states : (rows,) int32 array, DataArray or dask array
        As `predict` returns them.
    """
    chain = self._solution().chain()
    samples = self._open_in_order(X, sequence, lengths)
    operators = PathOperators(chain, most_blocks(samples.rows))

    def script() -> SizedScript:
        paths = yield Pass("messages", operators)
        return (yield PlannedPass(Pass("path", PathProbability(chain, paths))))

    planned = [PlannedPass(Pass("messages", operators))]
    log_probability: float = self.run_passes(samples, script(), planned).result
    return log_probability, self.predict(X, lengths, sequence=sequence)
