"""Hidden Markov model of sequences of categories."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.errors import DataError
from bigtensor.models.base import LatentVariableModel
from bigtensor.models.containers import is_labelled
from bigtensor.models.data_kinds import Data
from bigtensor.models.data_shape import DataShape
from bigtensor.models.hidden_markov.description import HiddenMarkovDescription, outcome_in_words
from bigtensor.models.hidden_markov.script import (
    STORED_CLASSES,
    Preparation,
    planned_refinement,
    prepare,
    refine,
)
from bigtensor.models.hidden_markov.sequence_iterations import operators_of
from bigtensor.models.hidden_markov.settings import check_parameters, settings_of
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.models.parameters import check_integer
from bigtensor.models.run_options import RunOptions
from bigtensor.models.script import PlannedPass, Script, SizedScript
from bigtensor.statistics.base import Pass
from bigtensor.statistics.sequences.answers import SequenceAnswers
from bigtensor.statistics.sequences.chain import HiddenChain
from bigtensor.statistics.sequences.ends import SequenceEnds, SequenceEndsResult


class HiddenMarkovModel(LatentVariableModel):
    """Hidden Markov model of sequences of categories, from triples of consecutive rows.

    A hidden state moves from row to row by transition probabilities, and every row shows a category
    by the emission probabilities of its state. Triples of consecutive rows, counted in one pass,
    determine both. Their spectral solution, improved by a descent through infeasible parameters
    (exterior point method; Shaban, Farajtabar, Xie, Song and Boots, UAI 2015), is where EM
    iterations start, first on triples and then along whole sequences. Answers are exact along
    sequences of any length, however the data are chunked.

    Rows lie in the order of time. The variable ``sequence`` of the data says which sequence a row
    is of: a run of equal ids, one row behind the other. Without it all rows are one sequence.

    Parameters
    ----------
    n_states : int, default 2
        Number of hidden states k, of at most as many as there are categories.
    views : mapping of str to feature names or columns, optional
        One view of one categorical feature. By default the only feature.
    refine : {"auto", "triples", "sequences"}, default "auto"
        Whether EM iterations end with those on triples, which read nothing, or go on along whole
        sequences: each of these reads all rows twice. ``"auto"`` goes on up to 2,097,152 rows.
        Rounds use triples alone, because messages along sequences would cross sites.
    ridge : float or "none", default 2.0
        Pseudo-count that draws states towards independence in the exterior point method. With one,
        EM iterations add one count to every transition and emission.
    em_iterations : int, optional
        Most EM iterations along whole sequences; 20 by default. They end when the likelihood
        settles.
    missing : {"raise", "omit", "marginalise"}, default "raise"
        Whether rows with a missing category are an error, are left out, which cuts the sequence
        there, or stay as steps of which nothing is known.
    sample_dim : str, default "sample"
        Name of the sample dimension of labelled data.
    random_state : int, optional
        Seed of random directions and starts. None stands for 0: the same data give the same model.

    Attributes
    ----------
    initial_ : (k,) float64 array
        Probabilities of the state of the first row of a sequence.
    transition_ : DataArray, (state, next_state)
        Probabilities of the next state; rows sum to one.
    emission_ : DataArray, (state, category)
        Probabilities of the categories; rows sum to one.
    window_start_ : (k,) float64 array
        Probabilities of the state of the first of three consecutive rows, anywhere in a sequence.
    occupancy_ : (k,) float64 array
        Share of every state in the long run. States are in the order of their shares, descending.
    categories_ : dict of str to tuple of str
        Names of the codes of the feature.
    views_ : Views
    diagnostics_ : dict
        Every decision taken on the way: spectrum, residuals, log-likelihoods, the plan and the
        passes, and a ``verdict``.
    n_features_in_ : int
    feature_names_in_ : array of str
        For labelled data.

    Examples
    --------
    >>> from bigtensor import HiddenMarkovModel, simulate
    >>> data = simulate.hidden_markov(20_000, 3, n_symbols=8, sequences=10, random_state=1)
    >>> model = HiddenMarkovModel(3, random_state=0).fit(data)
    >>> model.transition_.dims
    ('state', 'next_state')
    >>> model.predict(data).dims
    ('sample',)
    >>> model.score_samples(data).shape
    (10,)
    """

    takes = Data(kinds={"codes"}, marginalises=True)
    stored_classes = STORED_CLASSES
    description = HiddenMarkovDescription()

    initial_: NDArray[np.float64]
    transition_: xr.DataArray
    emission_: xr.DataArray
    window_start_: NDArray[np.float64]
    occupancy_: NDArray[np.float64]
    _fitted: MarkovFit | None

    def __init__(
        self,
        n_states: int = 2,
        views: Any = None,
        *,
        refine: str = "auto",
        ridge: float | str = 2.0,
        em_iterations: int | None = None,
        missing: str = "raise",
        sample_dim: str = "sample",
        random_state: int | None = None,
    ) -> None:
        self.n_states = n_states
        self.views = views
        self.refine = refine
        self.ridge = ridge
        self.em_iterations = em_iterations
        self.missing = missing
        self.sample_dim = sample_dim
        self.random_state = random_state

    def predict(self, X: Any) -> Any:
        """Return the state of every row on the most probable path of its sequence (Viterbi).

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`, with the variable ``sequence`` where there are several sequences.

        Returns
        -------
        (rows,) int32 array, DataArray or dask array
            In the kind of container of ``X``, lazy if ``X`` is lazy. Rows that were left out have
            -1. Paths whose log probabilities differ by less than 1e-7 count as equal, and one of
            them is taken, the same in any chunking.
        """
        return self._evaluate(X, "label")

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of every state of every row, given all rows of its sequence.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `predict`.

        Returns
        -------
        (rows, states) float64 array, DataArray or dask array
        """
        return self._evaluate(X, "probability")

    def score_samples(self, X: Any) -> Any:
        """Return the log-likelihood of every sequence, in nats.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `predict`.

        Returns
        -------
        (sequences,) float64 array or DataArray
            In the order of the rows. Of labelled data, with the ids of the sequences and their
            ``steps`` as coordinates.
        """
        ends = self._ends(X)
        return _by_sequence(X, ends, ends.log_likelihood, {}, "log_likelihood")

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean log-likelihood of a step, in nats. Rows left out do not count.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `predict`.
        y : ignored

        Raises
        ------
        DataError
            When no row is left to score.
        """
        ends = self._ends(X)
        if not ends.rows.sum():
            raise DataError("no row can be scored: all were left out")
        return float(ends.log_likelihood.sum() / ends.rows.sum())

    def predict_next(self, X: Any) -> Any:
        """Return the probabilities of the category that follows on every sequence.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `predict`.

        Returns
        -------
        (sequences, categories) float64 array or DataArray
        """
        ends = self._ends(X)
        fitted = self._solution()
        probabilities = ends.last @ fitted.transition @ fitted.emission
        coords = {"category": list(fitted.categories)}
        return _by_sequence(X, ends, probabilities, coords, "probability")

    def sample(
        self, n_samples: int = 1, random_state: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Draw one sequence from the fitted model.

        Parameters
        ----------
        n_samples : int
            Steps of the sequence.
        random_state : int, optional
            None stands for the seed of the model.

        Returns
        -------
        X : (n_samples, 1) int32 array
            Codes.
        state : (n_samples,) int32 array
        """
        check_integer("n_samples", n_samples, 1)
        seed = self.random_state if random_state is None else random_state
        return self._solution().draw(n_samples, np.random.default_rng(seed or 0))

    def fit_predict(self, X: Any, y: Any = None, **fit_parameters: Any) -> Any:
        """Fit the model and return the state of every row."""
        return self.fit(X, y, **fit_parameters).predict(X)

    def _ends(self, X: Any, **options: Unpack[RunOptions]) -> SequenceEndsResult:
        """Return the likelihood and the last state of every sequence, in two passes."""
        chain = self._solution().chain()
        samples = self._open_again(X)
        operators = operators_of(chain, samples.rows)

        def script() -> SizedScript:
            boundaries = yield Pass("messages", operators)
            # the number of sequences is known now, and with it the size of the next state
            statistic = SequenceEnds.of(chain, boundaries)
            ends = Pass("ends", statistic)
            return (yield PlannedPass(ends, driver_nbytes=statistic.state_nbytes()))

        planned = [PlannedPass(Pass("messages", operators))]
        result: SequenceEndsResult = self._run(samples, script(), planned, **options).result
        return result

    def _solution(self) -> MarkovFit:
        """Return the solution, or raise sklearn's NotFittedError."""
        self._require_fitted()
        assert self._fitted is not None
        return self._fitted

    def _row_function(self, outputs: tuple[str, ...]) -> SequenceAnswers:
        """Return the function that answers for every row."""
        chain: HiddenChain = self._solution().chain()
        return SequenceAnswers(chain, outputs)

    def _prepare(self, shape: DataShape, expected: int | None = None) -> Script:
        """Ask for nothing: triples are counted without anything fixed beforehand."""
        in_rounds = expected is not None
        return prepare(settings_of(self, shape, expected or shape.rows, in_rounds=in_rounds))

    def _refine(self, preparation: Preparation) -> Script:
        """Ask for the sums, and solve between them."""
        return refine(preparation)

    def _planned_preparation(self, shape: DataShape) -> list[PlannedPass]:
        """Return no pass."""
        del shape
        return []

    def _planned_refinement(self, shape: DataShape) -> list[PlannedPass]:
        """Return upper bounds of what `_refine` will ask for."""
        return planned_refinement(settings_of(self, shape, shape.rows, in_rounds=False))

    def _adopt(self, fitted: MarkovFit) -> None:
        """Set `_fitted` and the fitted attributes."""
        self._fitted = fitted
        self.initial_, self.window_start_ = fitted.initial, fitted.window_start
        self.transition_ = xr.DataArray(
            fitted.transition, dims=("state", "next_state"), name="probability"
        )
        self.emission_ = xr.DataArray(
            fitted.emission,
            {"category": list(fitted.categories)},
            ("state", "category"),
            name="probability",
        )
        self.occupancy_ = fitted.occupancy()

    _check_parameters = check_parameters

    def _outcome_in_words(self) -> list[tuple[str, str]]:
        """Return how the fit ended, as names and words."""
        return outcome_in_words(self)

    def _summary_table(self) -> tuple[tuple[str, ...], list[list[str]]]:
        """Return the shares of the states, for the notebook's summary."""
        rows = [[str(state), f"{share:.2%}"] for state, share in enumerate(self.occupancy_)]
        return ("state", "share of the steps"), rows


def _by_sequence(
    X: Any,
    ends: SequenceEndsResult,
    values: NDArray[np.float64],
    coords: dict[str, Any],
    name: str,
) -> Any:
    """Return one entry a sequence, labelled if the data are."""
    if not is_labelled(X) or isinstance(X, list | tuple):
        return values
    along = {"sequence": ends.sequence, "steps": ("sequence", ends.rows)}
    return xr.DataArray(values, along | coords, ("sequence", *coords), name)
