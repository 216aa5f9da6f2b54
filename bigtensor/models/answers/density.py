"""Answers of every density of rows: log-densities, and draws."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin

from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.data.rows.samples import Samples
from bigtensor.errors import DataError
from bigtensor.models.contract.containers import RowAnswer
from bigtensor.models.contract.estimator import Estimator
from bigtensor.models.contract.opening_for_answers import KnowsFeatures, open_for_answers
from bigtensor.models.contract.parameters import RandomState, check_choice, check_integer
from bigtensor.models.contract.run import RunsPasses
from bigtensor.models.contract.script import PlannedPass, single_pass
from bigtensor.models.words.description import ModelDescription
from bigtensor.statistics.base import Pass, RowFunction
from bigtensor.statistics.score_sums import ScoreSums, ScoreSumsResult

LOG_DENSITY = "log_density"
"""Name of the answer for every row."""


class FittedDensity(Protocol):
    """Contract of the solution of a density."""

    def log_densities(self) -> RowFunction:
        """Return the function that gives the log-density of every row."""

    def draw(self, n_samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw rows, features beside each other in the order of the views."""


class LogDensityAnswers(DensityMixin, Estimator):  # type: ignore[misc]
    """Base of models that give a log-density of every row."""

    def score_samples(self, X: DataLike) -> RowAnswer:
        """Return the log-density of every row, in nats: ``(rows,)`` float64.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        """
        return self.row_output(X, LOG_DENSITY)

    def score(
        self,
        X: DataLike,
        y: str | RowVariableLike | None = None,  # noqa: ARG002
        sample_weight: RowVariableLike | None = None,
    ) -> float:
        """Return the mean log-density of the rows, in nats. Rows left out do not count.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        y : ignored
            Accepted for scikit-learn, which passes labels.
        sample_weight : (rows,) array-like, optional
            Weights of the rows, not negative, by default those that are stored with the data.

        Raises
        ------
        DataError
            When no row is left to score.
        """
        self.require_fitted()
        return score_sums(self, open_for_answers(self, X, sample_weight=sample_weight)).mean


class DensityAnswers(LogDensityAnswers):
    """Base of densities of rows."""

    description: ClassVar[ModelDescription[Any]] = ModelDescription()

    solution_: FittedDensity

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> NDArray[np.float64]:
        """Draw rows from the fitted density.

        A density keeps a small probability for categories that no row of the fit has. Such a
        category has no value. Rows with one are drawn again, so that the shares of the other
        categories sum to one.

        Parameters
        ----------
        n_samples : int
            Number of rows to draw.
        random_state : int, RandomState or Generator, optional
            None stands for the seed of the model.

        Returns
        -------
        (n_samples, features) float64 array
            Features in the order of the data of the fit, unless some were not used. Categories are
            codes: the code c of a feature stands for ``model.categories_[feature][int(c)]``.
        """
        check_integer("n_samples", n_samples, 1)
        density, rng = self._density(), self._generator(random_state)
        drawn = density.draw(n_samples, rng)
        while (without_value := np.flatnonzero(np.isnan(drawn).any(axis=1))).size:
            drawn[without_value] = density.draw(without_value.size, rng)
        return drawn[:, np.argsort(self.views_.order)]

    def row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        """Return the function that answers for every row."""
        for output in outputs:
            check_choice("outputs", output, (LOG_DENSITY,))
        return self._density().log_densities()

    def _density(self) -> FittedDensity:
        """Return the solution, or raise sklearn's NotFittedError."""
        self.require_fitted()
        return self.solution_


class ScoresRows(KnowsFeatures, RunsPasses, Protocol):
    """A fitted model that gives log-densities of rows."""

    def require_fitted(self) -> None:
        """Raise sklearn's NotFittedError before a fit."""

    def row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        """Return the function that answers for every row."""


def score_sums(model: ScoresRows, samples: Samples) -> ScoreSumsResult:
    """Return the log-likelihood of weighted rows in one pass, and the sum of their weights.

    Raises
    ------
    DataError
        When no row with a positive weight is left to score.
    """
    scoring = Pass("scores", ScoreSums(model.row_function((LOG_DENSITY,))))
    scores: ScoreSumsResult = model.run_passes(
        samples, single_pass(scoring), [PlannedPass(scoring)]
    ).result
    require_scored_rows(scores.weight)
    return scores


def require_scored_rows(weight: float) -> None:
    """Raise a DataError unless the rows that are scored have a positive weight together.

    Parameters
    ----------
    weight : float
        Sum of the weights of the rows that were not left out.
    """
    if not weight > 0:
        raise DataError(
            "no row with a positive weight can be scored, because rows with missing values are "
            "left out; give at least one complete row with a positive weight"
        )
