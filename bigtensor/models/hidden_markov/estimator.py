"""Hidden Markov model of sequences of categories."""

from __future__ import annotations

from typing import Any, Literal, Self, Unpack

import numpy as np
import numpy.typing as npt
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.models.answers.density import require_scored_rows
from bigtensor.models.answers.sequence_model import SequenceModel, ids_or_names
from bigtensor.models.contract.containers import RowAnswer, is_labelled
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.parameters import RandomState, ViewsLike, check_integer
from bigtensor.models.contract.run import RunOptions
from bigtensor.models.contract.script import FitSteps, PlannedPass, SizedScript
from bigtensor.models.hidden_markov import decoding, information_criteria, occupancy_by
from bigtensor.models.hidden_markov.declared_parameters import MEASURED, PARAMETERS
from bigtensor.models.hidden_markov.description import HiddenMarkovDescription
from bigtensor.models.hidden_markov.emissions.categorical_emissions import CategoricalEmissions
from bigtensor.models.hidden_markov.emissions.feature_moments import feature_moments
from bigtensor.models.hidden_markov.emissions.kernel_emissions import KernelEmissions
from bigtensor.models.hidden_markov.hmmlearn_models import (
    FEATURE,
    categorical_hmm,
    diagnostics_of,
    fit_of_categorical_hmm,
)
from bigtensor.models.hidden_markov.script import (
    STORED_CLASSES,
    planned_preparation,
    planned_refinement,
    prepare,
    refine,
)
from bigtensor.models.hidden_markov.sequence_iterations import operators_of
from bigtensor.models.hidden_markov.settings import check_parameters, settings_of, without_effect
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.statistics.base import Pass
from bigtensor.statistics.densities.component_densities import ComponentDensities
from bigtensor.statistics.sequences.answers import SequenceAnswers
from bigtensor.statistics.sequences.chain import HiddenChain
from bigtensor.statistics.sequences.ends import SequenceEnds, SequenceEndsResult


class HiddenMarkovModel(SequenceModel):
    """Hidden Markov model of sequences, from triples of consecutive rows.

    A hidden state moves from row to row by transition probabilities, and every row shows a category
    by the emission probabilities of its state, or measured values by its densities. Triples of
    consecutive rows, counted in one pass, determine both. Their spectral solution, improved by a
    descent through infeasible parameters (exterior point method; Shaban, Farajtabar, Xie, Song and
    Boots, UAI 2015), is where EM iterations start, first on triples and then along whole sequences.
    Answers are exact along sequences of any length, however the data are chunked.

    Measured rows are cut into cells by k-means on a sample, whose triples are counted. Iterations
    along sequences then re-estimate the densities of the rows themselves, which are those of a
    `KernelMixture`: smoothed histograms of views of one feature, and sums of kernel features of
    views of several (Song, Anandkumar, Dai and Xie, ICML 2014).

    Rows lie in the order of time. The variable ``sequence`` of the data, or `sequence` and
    `lengths` of the methods, say which sequence a row is of: a run of equal ids, one row behind the
    other. Without them all rows are one sequence.

    Parameters
    ----------
    n_components : int or "auto", default 2
        Number of hidden states k: ``"auto"`` chooses it by the likelihood of held-out triples of
        rows. There are at most as many states as categories. ``"auto"`` is the fewest states whose
        likelihood is within 1.5 standard errors of the best. In up to 20,000 rows of Gaussian and
        Poisson emissions, fits along the sequences decide: the number of states that explains most
        of the order of the rows, of those with a better BIC than fewer states. The search ends
        after two numbers without a better value, at the number of categories, or with a warning at
        40 states (24 of measured rows). A fifth of the sequences is held out at a time, and of long
        sequences stretches of a fiftieth of the rows. The order of sequences has no effect in up to
        2,097,152 rows, outside rounds.
    views : mapping of str to feature names or columns, optional
        Of categories one view of one feature, by default the only one. Of measured rows any views,
        which are independent of each other given the state; by default every feature is one.
    emissions : {"categorical", "kernel", "gaussian", "poisson"}, default "categorical"
        Emissions of a state: categories, or measured values with a density in every state.
        ``"kernel"`` estimates densities of any form, ``"gaussian"`` means and covariances of all
        features, and ``"poisson"`` rates of counts, independent of each other given the state.
    covariance_type : {"full", "diag"}, default "full"
        Covariances of Gaussian emissions: full matrices, or variances of the features alone.
    refine : {"auto", "triples", "sequences"}, default "auto"
        Data of the last EM iterations: ``"triples"`` of consecutive rows, which are counted once,
        or whole ``"sequences"``, which ``"auto"`` takes up to 2,097,152 rows. Every iteration along
        sequences reads all rows twice. Beyond 2,097,152 rows, ``"auto"`` makes three of these
        iterations for densities, and none for categories. Rounds use triples alone, because
        messages along sequences would cross sites, and refuse ``"sequences"``.
    ridge : float or None, default 2.0
        Pseudo-count that draws states towards independence in the initialisation. With a
        pseudo-count, EM iterations add one count to every transition and emission.
    max_iter : int, optional
        Largest number of EM iterations along whole sequences, by default 200 up to 209,715 rows and
        fewer for more, down to 20. They end when all rows together gain less than .01 nats, or a
        row less than 2e-7 (1e-5 with kernel emissions).
    missing : {"raise", "omit", "marginalise"}, default "raise"
        Rule for rows with a missing entry: ``"raise"`` is an error, ``"omit"`` leaves the rows out,
        which cuts the sequence there, and ``"marginalise"`` uses the other entries of a row. A row
        without any is a step without an observation. Kernel emissions refuse ``"marginalise"``.
    weights : {"counts", "relative"}, default "counts"
        Meaning of sample weights. The rows of a sequence have one weight. With ``"counts"``, a
        sequence of weight 2 occurs twice. ``"relative"`` weights only compare sequences, and their
        unit has no effect: they are scaled so that their sum is the effective sample size of Kish
        (1965).
    sample_dim : str, default "sample"
        Name of the sample dimension of labelled data.
    random_state : int, RandomState or Generator, optional
        Seed of random directions and initialisations. None stands for 0: the same data give the
        same model.

    Attributes
    ----------
    initial_ : (k,) float64 array
        Probabilities of the state of the first row of a sequence.
    transition_ : DataArray, (state, next_state)
        Probabilities of the next state; rows sum to one.
    emission_ : DataArray, (state, category)
        Probabilities of the categories; rows sum to one. Of categorical emissions only.
    means_ : DataArray, (state, feature)
        Means of the features. Of measured rows only.
    covariances_ : DataArray, (state, feature, other_feature) or (state, feature)
        Covariances or variances of the features. Of Gaussian emissions only.
    window_start_ : (k,) float64 array
        Probabilities of the state of the first of three rows, or of a row after rows left out.
    occupancy_ : (k,) float64 array
        Share of every state in the long run, the stationary distribution of the transitions. States
        are in the order of their shares, descending.
    categories_ : dict of str to tuple of str
        Names of the codes of the feature, if the rows are categories.
    views_ : Views
        The features of the fit.
    n_iter_ : int
        EM iterations along whole sequences.
    diagnostics_ : dict
        Every decision taken on the way: spectrum, residuals, log-likelihoods, the plan and the
        passes, and a ``verdict``.
    n_features_in_ : int
        Number of features of the data.
    feature_names_in_ : array of str
        For labelled data.

    References
    ----------
    - A. Shaban, M. Farajtabar, B. Xie, L. Song and B. Boots. Learning latent variable models by
      improving spectral solutions with exterior point methods. UAI 2015.

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

    declares = PARAMETERS
    takes = Data(kinds={"codes", "measured"}, marginalises={"codes", "measured"}, in_order=True)
    steps = FitSteps(
        settings_of,
        prepare,
        refine,
        planned_preparation,
        planned_refinement,
        check=check_parameters,
        without_effect=without_effect,
    )
    stored_classes = STORED_CLASSES
    description = HiddenMarkovDescription()

    initial_: NDArray[np.float64]
    transition_: xr.DataArray
    emission_: xr.DataArray
    means_: xr.DataArray
    covariances_: xr.DataArray
    window_start_: NDArray[np.float64]
    occupancy_: NDArray[np.float64]
    solution_: MarkovFit

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        views: ViewsLike | None = None,
        emissions: str = "categorical",
        covariance_type: str = "full",
        refine: str = "auto",
        ridge: float | None = 2.0,
        max_iter: int | None = None,
        missing: str = "raise",
        weights: str = "counts",
        sample_dim: str = "sample",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.views = views
        self.emissions = emissions
        self.covariance_type = covariance_type
        self.refine = refine
        self.ridge = ridge
        self.max_iter = max_iter
        self.missing = missing
        self.weights = weights
        self.sample_dim = sample_dim
        self.random_state = random_state

    aic = information_criteria.aic
    bic = information_criteria.bic
    decode = decoding.decode
    weights_by = occupancy_by.weights_by

    @property
    def marginalises(self) -> bool:
        """True unless densities are of whole rows, as those of kernels are."""
        return not isinstance(self.solution_.emissions, KernelEmissions)

    @property
    def preferred_kind(self) -> Literal["measured", "codes"]:
        """Kind that whole numbers are converted to."""
        return "measured" if self.emissions in MEASURED else "codes"

    def predict(
        self,
        X: DataLike,
        lengths: npt.ArrayLike | None = None,
        *,
        sequence: str | RowVariableLike | None = None,
    ) -> RowAnswer:
        """Return the state of every row on the most probable path of its sequence (Viterbi).

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        lengths, sequence : optional
            As for `fit`: the rows of every sequence, or the sequence of every row.

        Returns
        -------
        (rows,) int32 array, DataArray or dask array
            In the kind of container of ``X``, lazy if ``X`` is lazy. Rows that were left out have
            -1. Paths whose log probabilities differ by less than 1e-7 count as equal, and one of
            them is taken, the same in any chunking.

        Warns
        -----
        SequenceWarning
            When ids of rows in memory come back after another sequence. Lazy answers do not look
            for such ids; `write` and `score` do.
        """
        return self._answer(X, "label", sequence, lengths)

    def predict_proba(
        self,
        X: DataLike,
        lengths: npt.ArrayLike | None = None,
        *,
        sequence: str | RowVariableLike | None = None,
    ) -> RowAnswer:
        """Return the probability of every state of every row, given all rows of its sequence.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `predict`.
        lengths, sequence : optional
            As for `predict`.

        Returns
        -------
        (rows, states) float64 array, DataArray or dask array
            Posterior probabilities of the states, given the whole sequence.
        """
        return self._answer(X, "probability", sequence, lengths)

    def score_samples(
        self,
        X: DataLike,
        lengths: npt.ArrayLike | None = None,
        *,
        sequence: str | RowVariableLike | None = None,
    ) -> NDArray[np.float64] | xr.DataArray:
        """Return the log-likelihood of every sequence, in nats.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `predict`.
        lengths, sequence : optional
            As for `predict`.

        Returns
        -------
        (sequences,) float64 array or DataArray
            In the order of the rows. Of labelled data, with the ids or names of the sequences and
            their ``steps`` as coordinates.
        """
        ends, ids = self._ends(X, sequence, lengths)
        likelihood = self._log_likelihood(ends)
        return _by_sequence(X, ids, ends.rows, likelihood, {}, "log_likelihood")

    def score(
        self,
        X: DataLike,
        y: str | RowVariableLike | None = None,
        sample_weight: RowVariableLike | None = None,
        *,
        sequence: str | RowVariableLike | None = None,
        lengths: npt.ArrayLike | None = None,
    ) -> float:
        """Return the mean log-likelihood of a step, in nats. Rows left out do not count.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `predict`.
        y : (rows,) array-like, optional
            As for `fit`.
        sample_weight : (rows,) array-like, optional
            Weights of the steps, not negative, by default those that are stored with the data.
        lengths, sequence : optional
            As for `predict`.

        Raises
        ------
        DataError
            When no row is left to score.
        """
        lengths = self._lengths_of(X, y, sequence, lengths)
        ends, _ = self._ends(X, sequence, lengths, sample_weight)
        weight = ends.weight.sum()
        require_scored_rows(weight)
        volume = self._solution().emissions.densities().log_volume
        return float(ends.weighted_log_likelihood.sum() / weight - volume)

    def predict_next(
        self,
        X: DataLike,
        lengths: npt.ArrayLike | None = None,
        *,
        sequence: str | RowVariableLike | None = None,
    ) -> NDArray[np.float64] | xr.DataArray:
        """Return what follows on every sequence: probabilities of categories, or expected values.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `predict`.
        lengths, sequence : optional
            As for `predict`.

        Returns
        -------
        (sequences, categories) or (sequences, features) float64 array or DataArray
            Of measured rows the mean of every feature.
        """
        ends, ids = self._ends(X, sequence, lengths)
        fitted = self._solution()
        if isinstance(fitted.emissions, CategoricalEmissions):
            of_states = self.emission_
        else:
            of_states = self.means_[:, np.argsort(self.views_.order)]
        dim, name = str(of_states.dims[1]), str(of_states.name)
        following = ends.last @ fitted.transition @ of_states.to_numpy()
        coords = {dim: of_states[dim].to_numpy()}
        return _by_sequence(X, ids, ends.rows, following, coords, name)

    def emission_density(self, X: DataLike) -> RowAnswer:
        """Return the density of rows in every state, in the units of the data.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `predict`. Rows are looked at one by one, whatever their sequence.

        Returns
        -------
        (rows, states) float64 array, DataArray or dask array
            Probabilities, for categories and counts.
        """
        densities = self._solution().emissions.densities()
        function = ComponentDensities(densities, "emission_density", "state")
        return self.row_output(X, "emission_density", function)

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None
    ) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Draw one sequence from the fitted model.

        Parameters
        ----------
        n_samples : int
            Steps of the sequence.
        random_state : int, RandomState or Generator, optional
            None stands for the seed of the model.

        Returns
        -------
        X : (n_samples, 1) int32 array, or (n_samples, features) float64 array
            Codes, or measured values.
        state : (n_samples,) int32 array
            Hidden state of every row.
        """
        check_integer("n_samples", n_samples, 1)
        rows, states = self._solution().draw(n_samples, self._generator(random_state))
        return rows[:, np.argsort(self.views_.order)], states

    def fit_predict(
        self,
        X: DataLike,
        y: str | RowVariableLike | None = None,
        *,
        sequence: str | RowVariableLike | None = None,
        lengths: npt.ArrayLike | None = None,
        **fit_parameters: Any,
    ) -> RowAnswer:
        """Fit the model and return the state of every row."""
        lengths = self._lengths_of(X, y, sequence, lengths)
        fitted = self.fit(X, sequence=sequence, lengths=lengths, **fit_parameters)
        return fitted.predict(X, sequence=sequence, lengths=lengths)

    def to_hmmlearn(self) -> Any:
        """Return a ``hmmlearn.hmm.CategoricalHMM`` with the probabilities of this model.

        Its symbols are the positions in `categories_`, and its states are in the same order.

        Raises
        ------
        NotFittedError
            Before `fit`.
        MissingDependencyError
            When hmmlearn is not installed.
        """
        self.require_fitted()
        return categorical_hmm(self)

    @classmethod
    def from_hmmlearn(cls, model: Any, **parameters: Any) -> Self:
        """Return a fitted model with the probabilities of a ``hmmlearn.hmm.CategoricalHMM``.

        Parameters
        ----------
        model : CategoricalHMM
            Fitted. Its states keep their order, and its symbols become the categories ``"0"``,
            ``"1"``, ... of one feature.
        **parameters
            Parameters of this class, such as ``missing``.

        Raises
        ------
        ParameterError
            When the model has no probabilities of states and symbols.
        """
        fitted = fit_of_categorical_hmm(model)
        taken = cls(fitted.n_states, **parameters)
        taken.diagnostics_ = diagnostics_of(fitted)
        taken.set_solution(fitted)
        names = tuple(map(str, taken.emission_["category"].to_numpy()))
        taken.set_features(fitted.emissions.views, {FEATURE: names})
        return taken

    def _ends(
        self,
        X: DataLike,
        sequence: str | RowVariableLike | None,
        lengths: npt.ArrayLike | None,
        sample_weight: RowVariableLike | None = None,
        **options: Unpack[RunOptions],
    ) -> tuple[SequenceEndsResult, NDArray[Any]]:
        """Return likelihood and last state of every sequence in two passes, and ids or names."""
        chain = self._solution().chain()
        samples = self._open_in_order(X, sequence, lengths, sample_weight)
        operators = operators_of(chain, samples.rows)

        def script() -> SizedScript:
            boundaries = yield Pass("messages", operators)
            # the number of sequences is known now, and with it the size of the next state
            statistic = SequenceEnds.from_boundaries(chain, boundaries)
            ends = Pass("ends", statistic)
            return (yield PlannedPass(ends, driver_nbytes=statistic.state_nbytes()))

        planned = [PlannedPass(Pass("messages", operators))]
        result: SequenceEndsResult = self.run_passes(samples, script(), planned, **options).result
        return result, ids_or_names(samples, result.sequence)

    def _log_likelihood(self, ends: SequenceEndsResult) -> NDArray[np.float64]:
        """Return the log-likelihood of every sequence, in the units of the data."""
        volume = self._solution().emissions.densities().log_volume
        return np.asarray(ends.log_likelihood - volume * ends.rows)

    def _solution(self) -> MarkovFit:
        """Return the solution, or raise sklearn's NotFittedError."""
        self.require_fitted()
        return self.solution_

    def row_function(self, outputs: tuple[str, ...]) -> SequenceAnswers:
        """Return the function that answers for every row."""
        chain: HiddenChain = self._solution().chain()
        return SequenceAnswers(chain, outputs)

    def set_fitted_attributes(self, solution: MarkovFit) -> None:
        """Set the attributes that users read."""
        self.n_iter_ = len(self.diagnostics_.get("mean_log_likelihood", ()))
        self.initial_, self.window_start_ = solution.initial, solution.window_start
        self.transition_ = xr.DataArray(
            solution.transition, dims=("state", "next_state"), name="probability"
        )
        emissions = solution.emissions
        if isinstance(emissions, CategoricalEmissions):
            coords = {"category": list(emissions.categories)}
            self.emission_ = xr.DataArray(
                emissions.table, coords, ("state", "category"), name="probability"
            )
        else:
            self.means_, covariances = feature_moments(emissions)
            if covariances is not None:
                self.covariances_ = covariances
        self.occupancy_ = solution.occupancy()


def _by_sequence(
    X: DataLike,
    ids: NDArray[Any],
    steps: NDArray[np.int64],
    values: NDArray[np.float64],
    coords: dict[str, Any],
    name: str,
) -> NDArray[np.float64] | xr.DataArray:
    """Return one entry a sequence, labelled if the data are."""
    if not is_labelled(X) or isinstance(X, list | tuple):
        return values
    along = {"sequence": ids, "steps": ("sequence", steps)}
    return xr.DataArray(values, along | coords, ("sequence", *coords), name)
