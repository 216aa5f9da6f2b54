"""Density of many variables: a nonnegative tensor train along a latent chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from sklearn.utils import Tags

from bigtensor.data.rows.data_like import DataLike
from bigtensor.errors import ParameterError, Setting, ViewError
from bigtensor.models.answers.density import DensityAnswers
from bigtensor.models.contract.containers import RowAnswer
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.parameters import RandomState, ViewsLike, check_choice
from bigtensor.models.contract.script import FitSteps
from bigtensor.models.tensor_train_density.conditions import Conditions
from bigtensor.models.tensor_train_density.declared_parameters import PARAMETERS
from bigtensor.models.tensor_train_density.description import TrainDescription
from bigtensor.models.tensor_train_density.embedded_density import EmbeddedDensity
from bigtensor.models.tensor_train_density.options import TensorTrainOptions
from bigtensor.models.tensor_train_density.planned_passes import (
    planned_preparation,
    planned_refinement,
)
from bigtensor.models.tensor_train_density.script import STORED_CLASSES, prepare, refine
from bigtensor.models.tensor_train_density.settings import (
    check_parameters,
    settings_of,
    without_effect,
)
from bigtensor.models.tensor_train_density.solution import TrainDensity
from bigtensor.statistics.base import RowFunction
from bigtensor.statistics.combinators import AnswersTogether
from bigtensor.statistics.tensor_train.conditional_curves import ConditionalCurves
from bigtensor.statistics.tensor_train.contributions import CONTRIBUTION
from bigtensor.statistics.tensor_train.imputation import (
    IMPUTED,
    METHODS,
    PREDICTED,
    PREDICTION,
    PredictedVariable,
)
from bigtensor.statistics.tensor_train.log_densities import LOG_DENSITY, LogDensities
from bigtensor.statistics.tensor_train.state_posteriors import POSTERIOR
from bigtensor.statistics.tensor_train.surprises import SURPRISE

ROW_ANSWERS = (LOG_DENSITY, SURPRISE, CONTRIBUTION, IMPUTED, POSTERIOR)
"""Names of what can be written for every row."""


class TensorTrainDensity(DensityAnswers):
    """Density of many variables, with every marginal and conditional.

    A latent chain runs along the variables, in an order that puts dependent ones beside each other.
    Between two latent states, a variable is drawn from a mixture of bumps that depends on both.
    This is a nonnegative tensor train (Song and Dai 2013, with nonnegative cores). All sums are
    over states, so that marginals, conditionals and draws are exact, and the density integrates
    to one.

    Coordinates, widths of bumps, rank and the number of steps are chosen by validation in a
    pilot sample. Gaussian components in the same coordinates stand beside the trains, with a share
    that validation chooses: they follow strong correlation, and answer every query as well. Where
    rows have near neighbours, as repeated measurements of one person have, Gaussian kernels around
    the rows of the sample take their place. Passes of expectation maximisation over all rows follow
    for the trains.

    Numbers with at most 10 distinct values are categorical, also counts and whole numbers without
    names, unless most values occur once: their part of the density is a probability. Other numbers
    are measured. A value that more than 5 % of the rows have, and at least six times as many as its
    neighbours, is an atom. An entry that differs from an atom or a category by no more than
    rounding to float32 lies on it. The density is then a
    mixture of point masses and a continuous part: with respect to the counting measure on atoms,
    and to the Lebesgue measure elsewhere. Missing entries are summed over, in the fit and in every
    answer, unless the coordinates are rotated or the method is the embedding. These need all
    measured entries of a row: answers leave out other rows with a warning.

    Parameters
    ----------
    rank : int or "auto", default "auto"
        Number of values of the latent states, by default the best of 1, 2, 3, 5, 8, 12, 18
        and, from 2,000 rows of the pilot sample (not counting copies), 27 in validation.
    coordinates : str, default "queries"
        Coordinates of the rows: ``"z"`` standardises, ``"ns"`` takes normal scores, ``"pca"``
        rotates to principal axes, ``"zca"`` whitens, ``"queries"`` chooses between ``"z"`` and
        ``"ns"``, and ``"density"`` among all six. The choice is made by validation. Normal scores
        are smooth increasing functions that make every variable nearly Gaussian. ``"ns-pca"`` and
        ``"ns-zca"`` rotate or whiten normal scores, in place of standardised variables. Whitening
        is symmetric. ``"z"`` and ``"ns"`` answer every query. The rotated coordinates give
        log-densities of complete rows, and draws.
    method : {"likelihood", "embedding"}, default "likelihood"
        Estimator: ``"likelihood"`` fits tensor trains to all rows by EM iterations, and
        ``"embedding"`` is the published kernel embedding of at most 2,000 complete rows of measured
        variables. The embedding (Song and Dai 2013) is made of nested singular value
        decompositions, corrected and turned into a proper density. It gives log-densities and
        draws. `structure`, `max_iter`, `pilot_rows` and ``n_trains`` have no effect on it.
    structure : {"chain", "balanced"}, default "chain"
        Order of the latent states: a chain along the variables, or a balanced binary tree whose
        leaves are the variables in the order of the chain. The embedding has a chain alone.
    widths : sequence of float or "auto", default "auto"
        Standard deviations of the bumps, in standard deviations of the coordinates.
    views : mapping of str to feature names or columns, optional
        The features to use, in any number of views. By default every feature.
    max_iter : int, default 4
        Largest number of EM iterations over all rows, if there are more rows than in the pilot
        sample. They end when rows that are held out gain no more.
    pilot_rows : int, default 20000
        Rows of the pilot sample, in which coordinates, widths, rank and steps are chosen.
    trains : TensorTrainOptions, optional
        Number of tensor trains and least width of their bumps. None stands for the defaults of
        `TensorTrainOptions`.
    missing : {"marginalise", "raise", "omit"}, default "marginalise"
        Rule for missing entries: ``"marginalise"`` sums over them where the coordinates allow it,
        ``"raise"`` is an error, and ``"omit"`` leaves their rows out. Answers about some of the
        variables, such as `impute`, sum over them always.
    weights : {"counts", "relative"}, default "counts"
        Meaning of sample weights. With ``"counts"``, a row of weight 2 occurs twice. ``"relative"``
        weights only compare rows, and their unit has no effect: they are scaled so that their sum
        is the effective sample size of Kish (1965).
    sample_dim : str, default "sample"
        Name of the sample dimension of labelled data.
    random_state : int, RandomState or Generator, optional
        Seed of the sample and of the initialisations. None stands for 0: the same data give the
        same model.

    Attributes
    ----------
    rank_ : int
        Rank of the trains.
    coordinates_ : str
        One of the six coordinate systems.
    order_ : list of str
        The variables along the chain.
    atoms_ : dict of str to (a,) float64 array
        Values with a probability of their own, ascending, of the variables that have some.
    views_ : Views
        The views as they were found in the data.
    n_iter_ : int
        Number of EM iterations, as many as ``held_out_log_density`` of the diagnostics has values.
    diagnostics_ : dict
        Every decision taken on the way: candidates with their validation log-densities, steps,
        categorical variables, held-out log-density by pass, the plan, and a ``verdict``.
    n_features_in_ : int
        Number of features of the data.
    feature_names_in_ : array of str
        For labelled data.

    References
    ----------
    - L. Song and B. Dai. Robust low rank kernel embeddings of multivariate distributions. NIPS
      2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bigtensor import TensorTrainDensity
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = TensorTrainDensity().fit(X)
    >>> model.score_samples(X).shape
    (150,)
    >>> model.conditional({"x3": 0.2}).sample(5, random_state=0).shape
    (5, 3)
    """

    declares = PARAMETERS
    takes = Data(kinds={"measured", "codes"}, marginalises={"measured", "codes"})
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
    description = TrainDescription()

    rank_: int
    coordinates_: str
    order_: list[str]
    atoms_: dict[str, NDArray[np.float64]]
    solution_: TrainDensity | EmbeddedDensity

    def __init__(
        self,
        rank: int | str = "auto",
        *,
        coordinates: str = "queries",
        method: str = "likelihood",
        structure: str = "chain",
        widths: str | Sequence[float] = "auto",
        views: ViewsLike | None = None,
        max_iter: int = 4,
        pilot_rows: int = 20_000,
        trains: TensorTrainOptions | None = None,
        missing: str = "marginalise",
        weights: str = "counts",
        sample_dim: str = "sample",
        random_state: RandomState = None,
    ) -> None:
        self.rank = rank
        self.coordinates = coordinates
        self.method = method
        self.structure = structure
        self.widths = widths
        self.views = views
        self.max_iter = max_iter
        self.pilot_rows = pilot_rows
        self.trains = trains
        self.missing = missing
        self.weights = weights
        self.sample_dim = sample_dim
        self.random_state = random_state

    def score_samples(
        self,
        X: DataLike,
        *,
        of: str | Iterable[str] | None = None,
        given: str | Iterable[str] | None = None,
    ) -> RowAnswer:
        """Return the log-density of every row, in nats: ``(rows,)`` float64.

        Missing entries are summed over where the coordinates allow it. An entry of a categorical
        variable or on an atom counts with the logarithm of its probability, any other one with
        that of its density. To compare with a model that has densities alone, spread an atom over
        a unit: subtract the logarithm of the unit for every entry on one of `atoms_`.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        of : str or iterable of str, optional
            Variables whose density is asked for; by default all that are not given.
        given : str or iterable of str, optional
            Variables that are known: the density is conditional on them.

        Raises
        ------
        ViewError
            When a variable is unknown.
        ParameterError
            When a variable is in both, or the coordinates answer no such query.
        """
        if of is None and given is None:
            return super().score_samples(X)
        density = self._answering()
        conditions = self._marked(given)
        asked = ~conditions if of is None else self._marked(of)
        if (asked & conditions).any():
            both = [density.features[j] for j in np.flatnonzero(asked & conditions)]
            raise ParameterError(f"variables are asked for and given: {', '.join(both)}")
        function = LogDensities(density.tables_of_rows, asked, conditions)
        return self._query(X, LOG_DENSITY, function)

    def marginal(self, variables: str | Iterable[str]) -> TensorTrainDensity:
        """Return the density of some variables, as a fitted model.

        Parameters
        ----------
        variables : str or iterable of str
            Names of features; columns of plain arrays are named ``x0``, ``x1`` and so on.

        Returns
        -------
        TensorTrainDensity
            With the variables in the order of their names here, which the columns of plain arrays
            and of `sample` have too. A set has no order: its variables are in the order of this
            model.

        Raises
        ------
        ViewError
            When a variable is unknown.
        ParameterError
            When there is no variable, or the coordinates have no marginals.
        """
        names = _listed(variables)
        kept = self._marked(names)
        order = None if isinstance(variables, set | frozenset) else list(dict.fromkeys(names))
        return self._of_others({int(j): None for j in np.flatnonzero(~kept)}, order)

    def conditional(self, given: Mapping[str, float | str]) -> TensorTrainDensity:
        """Return the density of the other variables given some, as a fitted model.

        Parameters
        ----------
        given : mapping of str to float or str
            Values of variables. Of a categorical variable it is one of its values, of named
            categories their names or codes. A measured value far outside the range of the sample is
            answered with a warning.

        Returns
        -------
        TensorTrainDensity
            With the other variables in the order of this model.

        Raises
        ------
        ViewError
            When a variable is unknown.
        ParameterError
            When a category is unknown, no variable is left, or the coordinates have no
            conditionals.
        """
        marked = self._marked(given)
        conditions = Conditions(
            self._answering(), getattr(self, "categories_", {}), self.diagnostics_
        )
        values = {
            int(j): conditions.number(int(j), given[conditions.density.features[j]])
            for j in np.flatnonzero(marked)
        }
        return self._of_others(values)

    def impute(
        self, X: DataLike, method: str = "mean", random_state: RandomState = None
    ) -> RowAnswer:
        """Return rows whose missing entries are replaced by what the others say of them.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`, with NaN for missing entries.
        method : {"mean", "median", "sample"}, default "mean"
            Of the conditional distribution of an entry given the entries of its row that are known.
            Draws of several entries of a row are drawn together. Categorical variables have their
            most probable value in place of a mean or median, also if they are numbers with at most
            10 distinct values.
        random_state : int, RandomState or Generator, optional
            Seed of the draws of ``"sample"``. None stands for the seed of the model, which gives
            the same draws at every call.

        Returns
        -------
        (rows, features) float64 array, DataArray or dask array
            Features in the order of the views, lazy if ``X`` is lazy.
        """
        check_choice("method", method, METHODS)
        function = self._answering().imputed(method, self._seed_of_draw(random_state))
        return self._with_names(self._query(X, IMPUTED, function))

    def predict_variable(self, X: DataLike, variable: str, interval: float = 0.8) -> xr.Dataset:
        """Return one variable of every row from its other entries, with an interval.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`. Entries of the variable are not looked at, and may be missing.
        variable : str
            Name of the variable.
        interval : float, default 0.8
            Probability between the bounds.

        Returns
        -------
        Dataset
            ``mean`` (of a categorical variable its most probable value), ``median``, ``lower`` and
            ``upper`` along the samples, lazy if ``X`` is lazy.
        """
        density = self._answering()
        (j,) = np.flatnonzero(self._marked([variable]))
        if not 0 < interval < 1:
            raise ParameterError(f"interval is {interval!r}; expected a number between 0 and 1")
        curves = ConditionalCurves(density.tables_of_rows, int(j), density.modes.modes[j])
        answers = self._query(X, PREDICTION, PredictedVariable(curves, interval))
        if not isinstance(answers, xr.DataArray):
            answers = xr.DataArray(answers, dims=(self.sample_dim, "number"))
        numbers = {name: answers.isel(number=place) for place, name in enumerate(PREDICTED)}
        return xr.Dataset(numbers, attrs={"variable": variable, "interval": interval})

    def surprise(self, X: DataLike) -> RowAnswer:
        """Return how unusual every entry of a row is, given the other entries of the row.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.

        Returns
        -------
        (rows, features) float64 array, DataArray or dask array
            Negative logarithm of the probability of an entry at least as far out, in nats: twice
            the smaller of the conditional probabilities below and above a measured entry, and the
            conditional probability of a categorical one. It depends on no unit. Missing entries
            have NaN. Features are in the order of the views.
        """
        return self._with_names(self.row_output(X, SURPRISE))

    def score_contributions(self, X: DataLike) -> RowAnswer:
        """Return what every variable adds to the log-density of a row.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.

        Returns
        -------
        (rows, features) float64 array, DataArray or dask array
            Log-density of an entry given the entries before it in `order_`, in nats. The sum over
            features is `score_samples`; a missing entry adds zero. Features are in the order of
            the views.
        """
        return self._with_names(self.row_output(X, CONTRIBUTION))

    def latent_posterior(self, X: DataLike) -> RowAnswer:
        """Return the posterior probabilities of the latent states of every row.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.

        Returns
        -------
        (rows, trains, links, states) float64 array, DataArray or dask array
            Probability of a train of the average and of a state at one of its links. Along a chain,
            link i lies between ``order_[i]`` and ``order_[i + 1]``; in a tree, links are those from
            a node to its parent, in the order of the nodes. Sums over trains and states are one.

        Raises
        ------
        ParameterError
            When there is one variable, which has no link.
        """
        return self.row_output(X, POSTERIOR)

    def mutual_information(
        self,
        variables: str | Iterable[str],
        others: str | Iterable[str],
        n_samples: int = 10_000,
        random_state: RandomState = None,
    ) -> float:
        """Return the mutual information of two sets of variables, in nats.

        Parameters
        ----------
        variables, others : str or iterable of str
            Names of variables.
        n_samples : int, default 10000
            Draws from the density that the mean is taken over.
        random_state : int, RandomState or Generator, optional
            None stands for the seed of the model.

        Returns
        -------
        float
            The standard error is of order ``1 / sqrt(n_samples)``.

        Raises
        ------
        ParameterError
            When a variable is in both sets: what it tells about itself has no number.
        """
        left, right = _listed(variables), _listed(others)
        if both := [name for name in left if name in right]:
            raise ParameterError(
                f"the variables {', '.join(both)} are in both sets; name every variable in one"
            )
        joint = self.marginal({*left, *right})
        drawn = joint.sample(n_samples, random_state)
        scores = [np.asarray(joint._scores_in_order(drawn, names)) for names in (None, left, right)]
        return float((scores[0] - scores[1] - scores[2]).mean())

    @property
    def preferred_kind(self) -> Literal["measured"]:
        """Kind in which whole numbers without names are read. The fit counts distinct ones."""
        return "measured"

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of scikit-learn: names of categories are taken too."""
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        """Return the function that gives some answers for every row."""
        for output in outputs:
            check_choice("outputs", output, ROW_ANSWERS)
        parts = tuple(self._answer(output) for output in dict.fromkeys(outputs))
        return parts[0] if len(parts) == 1 else AnswersTogether(parts)

    def attributes_of_output(self, output: str) -> dict[str, Any]:
        """Return the names of imputed codes, as ``categories``."""
        return self.names_of_codes() if output == IMPUTED else {}

    def _answer(self, output: str) -> RowFunction:
        """Return the function that gives one answer for every row."""
        if output == LOG_DENSITY:
            return self._density().log_densities()
        if output == POSTERIOR:
            return self._of_trains().posteriors()
        density = self._answering()
        if output == SURPRISE:
            return density.surprises()
        if output == CONTRIBUTION:
            return density.contributions()
        return density.imputed("mean", 0)

    def _query(self, X: DataLike, output: str, function: RowFunction) -> RowAnswer:
        """Return an answer that sums over missing entries, whatever the rule of the fit."""
        return self.row_output(X, output, function, missing="marginalise")

    def _with_names(self, answer: RowAnswer) -> RowAnswer:
        """Return labelled answers for every entry with the names of the features."""
        if not isinstance(answer, xr.DataArray):
            return answer
        return answer.assign_coords({answer.dims[1]: list(self.views_.feature_names)})

    def _scores_in_order(self, rows: NDArray[np.float64], of: list[str] | None) -> RowAnswer:
        """Return log-densities of rows whose columns are in the order of the fit."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return self.score_samples(rows, of=of)
        coords = {"feature": list(names)}
        labelled = xr.DataArray(rows, coords, (self.sample_dim, "feature"))
        return self.score_samples(labelled, of=of)

    def set_fitted_attributes(self, solution: TrainDensity | EmbeddedDensity) -> None:
        """Set the attributes that users read."""
        self.n_iter_ = len(self.diagnostics_.get("held_out_log_density", ()))
        self.rank_ = solution.n_components
        self.coordinates_ = self.diagnostics_["system"]
        self.atoms_ = {}
        if isinstance(solution, TrainDensity):
            self.atoms_ = solution.atoms
        self.order_ = [solution.features[j] for j in solution.order]

    def _density(self) -> TrainDensity | EmbeddedDensity:
        """Return the solution, or raise sklearn's NotFittedError."""
        self.require_fitted()
        return self.solution_

    def _of_trains(self) -> TrainDensity:
        """Return the solution if it has latent states."""
        density = self._density()
        if isinstance(density, EmbeddedDensity):
            raise ParameterError(
                "a kernel embedding gives log-densities of complete rows and draws, but neither "
                "marginals, conditionals nor latent states; fit with "
                + Setting("method", "likelihood")
            )
        return density

    def _answering(self) -> TrainDensity:
        """Return the solution if it answers queries on some of the variables."""
        density = self._of_trains()
        if not density.answers_queries:
            raise ParameterError(
                f"the coordinates are {self.coordinates_!r}, which mix the variables: they give "
                "log-densities of complete rows and draws, but neither marginals nor conditionals; "
                "fit with " + Setting("coordinates", "queries")
            )
        return density

    def _marked(self, variables: str | Iterable[str] | None) -> NDArray[np.bool_]:
        """Return which variables are named."""
        features = self._density().features
        names = [] if variables is None else _listed(variables)
        unknown = [name for name in names if name not in features]
        if unknown:
            raise ViewError(
                f"unknown variables: {', '.join(map(str, unknown))}; the density has "
                f"{', '.join(features)}"
            )
        return np.isin(features, names)

    def _of_others(
        self, values: Mapping[int, float | None], order: Sequence[str] | None = None
    ) -> TensorTrainDensity:
        """Return the density without some variables, given or summed over, as a fitted model."""
        density = self._answering()
        if len(values) == len(density.features):
            raise ParameterError("no variable is left: a density needs one at least")
        others = density.without(values)
        if order is not None:
            others = others.in_order([others.features.index(name) for name in order])
        model = type(self)(**self.parameters_of_fit())
        model.set_features_of(self, others.features, order)
        model.diagnostics_ = self.diagnostics_
        model.set_solution(others)
        return model


def _listed(variables: str | Iterable[str]) -> list[str]:
    """Return names of variables as a list. One name is one variable, and no iterable of letters."""
    if isinstance(variables, str) or not np.iterable(variables):
        return [variables]
    return list(variables)
