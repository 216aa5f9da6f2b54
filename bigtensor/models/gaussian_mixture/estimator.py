"""The Gaussian mixture, with a covariance for every component or one for all."""

from __future__ import annotations

from typing import Any, Self, Unpack

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from bigtensor.models.answers import information_criteria
from bigtensor.models.answers.mixture import MixtureAnswers
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.opened_fit import OpenedFit
from bigtensor.models.contract.opening_for_answers import require_import_of_fit
from bigtensor.models.contract.parameters import ParameterValues, RandomState, ViewsLike
from bigtensor.models.contract.run import RunOptions
from bigtensor.models.contract.script import FitSteps
from bigtensor.models.gaussian.component_labels import array_of_labels
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian_mixture.declared_parameters import PARAMETERS
from bigtensor.models.gaussian_mixture.description import (
    GaussianMixtureDescription,
)
from bigtensor.models.gaussian_mixture.initial_arrays import InitialArrays, LastFit
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.planned_passes import (
    planned_preparation,
    planned_refinement,
)
from bigtensor.models.gaussian_mixture.regularisation import strength_of
from bigtensor.models.gaussian_mixture.script import (
    STORED_CLASSES,
    prepare,
    refine,
)
from bigtensor.models.gaussian_mixture.settings import (
    check_parameters,
    free_parameters,
    settings_of,
    without_effect,
)


class GaussianMixture(MixtureAnswers):
    """Gaussian mixture whose components have a covariance each, or share one.

    Initialisations compete in a pilot sample by the likelihood that EM iterations reach from them.
    EM iterations over all rows follow until the likelihood settles. With a covariance for every
    component, the initialisations are clusterings of k-means. With a shared covariance, they are
    clusters of k-means, twice as many as components and merged by Ward's criterion, and the terms
    of the third moment, which is never formed (Anandkumar, Ge and Janzamin 2015, eq. 6). With a
    shared covariance, both find all components even if these are many. k-means, and EM from it,
    would miss some and put two into one.

    Parameters
    ----------
    n_components : int or "auto", default "auto"
        Number of components k, which may exceed the number of features. Components without rows are
        not returned. ``"auto"`` chooses a number by ``criterion``, of at most 100 and at most
        ``n / (2 d + 2)`` for n rows of d features, or takes one for every label.
    covariance_type : {"full", "tied", "diag", "spherical", "shared_spherical"}, default "full"
        Type of the covariances. Every component has its own with ``"full"`` (a matrix), ``"diag"``
        (a variance for every feature) and ``"spherical"`` (one variance). All components share one
        with ``"tied"`` (a matrix) and ``"shared_spherical"`` (one variance).
    n_populations : int or "auto", optional
        Number of populations that the components are merged into, in levels of the features as in a
        kernel mixture. ``"auto"`` is the number that halves of the pilot sample agree on. Labels,
        probabilities and draws are then those of populations. By default components are not merged.
    views : mapping of str to feature names or columns, optional
        Selects features, which are seen all together. By default all.
    criterion : {"held_out", "bic"}, default "held_out"
        How the number of components is chosen in the pilot sample. ``"held_out"`` is the smallest
        number whose mean likelihood of held-out rows is a standard error below the best at most.
        ``"bic"`` is the number with the best Bayesian information criterion (Schwarz 1978).
    init : {"auto", "kmeans", "moments"}, default "auto"
        Initialisations that EM iterations in the pilot sample start from: ``"kmeans"`` for
        clusters, or ``"moments"`` for the terms of the third moment under one covariance for all
        components, where they are determined. ``"auto"`` compares both if all components share
        their covariance, and is ``"kmeans"`` otherwise.
    n_init : int, default 10
        Number of k-means clusterings of the pilot sample. The one with the highest likelihood is
        used. If it is larger than one, the seeds of every clustering compete as well with
        ``"diag"`` covariances. It has no effect with ``"shared_spherical"`` covariances or
        ``init="moments"``.
    reg_covar : float or "auto", default "auto"
        Added to every variance, as a fraction of the variance of the feature over all rows, if
        every component has its own covariance. scikit-learn takes it in the units of the data. With
        0, components of few rows may collapse, which is an error.
        ``"auto"`` is 1e-6, or for ``"full"`` where rows are few the value between 1e-6 and .3 with
        the best likelihood of held-out rows of the pilot sample. These rows then also choose how
        far covariances are drawn to their mean.
    weights_init : (k,) array, optional
        Mixing weights that EM iterations start from, in place of those of clusters.
    means_init : (k, d) array, optional
        Means that EM iterations start from, in place of clusterings. Weights and precisions that
        are not given are those of the rows nearest to each mean.
    precisions_init : array, optional
        Precisions that EM iterations start from, in the shape of ``precisions_``.
    warm_start : bool, default False
        Start from the components of the last fit. More calls of `fit` then are more iterations. If
        covariances are drawn to their mean, the mean is taken anew.
        A fit with other features, another number of labels, or another `n_components`,
        `covariance_type` or `reg_covar` starts anew. Initial arrays have a part in the first fit
        alone.
    max_iter : int, default 10
        Largest number of EM iterations over all rows, each a pass, which end when the likelihood
        settles. With 0, the model is the first initialisation.
    tol : float, default 1e-05
        Gain of the mean log-likelihood of a row, in nats, below which no iteration follows.
    pilot_rows : int, optional
        Rows of the pilot sample in which the components are found, by default 200 a component, five
        a feature, ten a parameter if every component has its own covariance, and at least 10,000.
    missing : {"raise", "omit", "marginalise"}, default "raise"
        Rule for rows with missing entries: ``"raise"`` is an error, ``"omit"`` leaves the rows out
        and counts them, and ``"marginalise"`` uses their other entries, if every component has its
        own covariance. Whether an entry is missing may then depend on the entries that are seen,
        but not on the missing one.
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
    weights_ : (k,) float64 array
        Mixing weights, descending. After a fit with labels they are in the order of the labels,
        with ``means_init`` in its order, and with a warm start in that of the last fit.
    means_ : (k, d) float64 array
        In the order of the features of the data, without those that are constant.
    covariances_ : float64 array, or float
        ``(k, d, d)`` for ``"full"``, ``(k, d)`` for ``"diag"``, ``(k,)`` for ``"spherical"``,
        ``(d, d)`` for ``"tied"``, and one number for ``"shared_spherical"``.
    precisions_ : float64 array, or float
        Inverse of ``covariances_``, of the same shape.
    precisions_cholesky_ : float64 array, or float
        Upper triangular factors U of the precision matrices ``U U^T``, or roots of the precisions.
    converged_ : bool
        True if the last EM iteration over all rows gained less than ``tol`` nats a row.
    n_iter_ : int
        EM iterations over all rows.
    lower_bound_ : float
        Mean log-likelihood of a row before the last EM iteration, in nats. If every component has
        its own covariance, less half the trace of the regularisation over the covariance, and
        with a shrinkage with the log density of the covariances: an EM iteration raises this
        penalised likelihood. In float32 data, rounding may lower it by up to 1e-6 nats in
        simulations. With ``max_iter=0`` it is -inf.
    lower_bounds_ : list of float
        These numbers before every EM iteration. Empty with ``max_iter=0``.
    classes_ : (k,) array
        Labels of the components, after a fit with labels: integers as integers, names as strings.
        `predict` returns positions in it, and ``model.classes_[model.predict(X)]`` the labels.
    views_ : Views
        The features as they were found in the data.
    diagnostics_ : dict
        Every decision taken on the way: the initialisations and their likelihoods, log-likelihoods
        of all rows, the plan and the passes, and a ``verdict``.
    n_features_in_ : int
        Number of features of the data.
    feature_names_in_ : array of str
        For labelled data.

    References
    ----------
    - D. Hsu and S. M. Kakade. Learning mixtures of spherical Gaussians: moment methods and spectral
      decompositions. ITCS 2013.
    - A. P. Dempster, N. M. Laird and D. B. Rubin. Maximum likelihood from incomplete data via the
      EM algorithm. Journal of the Royal Statistical Society B 39, 1977.

    Examples
    --------
    >>> import numpy as np
    >>> from bigtensor import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(1, size=(500, 2)), rng.normal(7, size=(300, 2))])
    >>> model = GaussianMixture(2).fit(X)
    >>> model.means_.round().tolist()
    [[1.0, 1.0], [7.0, 7.0]]
    """

    declares = PARAMETERS
    takes = Data(kinds={"measured"}, marginalises={"measured"}, labels=True)
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
    description = GaussianMixtureDescription()

    means_: NDArray[np.float64]
    covariances_: Any
    precisions_: Any
    precisions_cholesky_: Any
    converged_: bool
    n_iter_: int
    lower_bound_: float
    lower_bounds_: list[float]
    solution_: GaussianComponents | OwnCovarianceComponents

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        covariance_type: str = "full",
        n_populations: int | str | None = None,
        views: ViewsLike | None = None,
        criterion: str = "held_out",
        init: str = "auto",
        n_init: int = 10,
        reg_covar: float | str = "auto",
        weights_init: npt.ArrayLike | None = None,
        means_init: npt.ArrayLike | None = None,
        precisions_init: npt.ArrayLike | None = None,
        warm_start: bool = False,
        max_iter: int = 10,
        tol: float = 1e-5,
        pilot_rows: int | None = None,
        missing: str = "raise",
        weights: str = "counts",
        sample_dim: str = "sample",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.n_populations = n_populations
        self.views = views
        self.criterion = criterion
        self.init = init
        self.n_init = n_init
        self.reg_covar = reg_covar
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.pilot_rows = pilot_rows
        self.missing = missing
        self.weights = weights
        self.sample_dim = sample_dim
        self.random_state = random_state

    aic = information_criteria.aic
    bic = information_criteria.bic

    def _fit_opened(self, opened: OpenedFit, **options: Unpack[RunOptions]) -> Self:
        """Fit the model to data that are opened; a warm start needs data of the same import."""
        if self.warm_start and hasattr(self, "_last_fit"):
            require_import_of_fit(self, opened.samples)
        return super()._fit_opened(opened, **options)

    @property
    def marginalises(self) -> bool:
        """True if every component has its own covariance."""
        return isinstance(self.solution_, OwnCovarianceComponents)

    def free_parameters(self) -> int:
        """Return the number of free parameters."""
        self.require_fitted()
        return free_parameters(_covariance_type(self.solution_), *self.means_.shape)

    def parameter_values(self, seed: int | None = None) -> ParameterValues:
        """Return the values of the parameters, with the last fit for a warm start.

        Parameters
        ----------
        seed : int, optional
            Seed in place of `random_state`.
        """
        values = super().parameter_values(seed)
        last_fit = getattr(self, "_last_fit", None) if self.warm_start else None
        return values.changed(last_fit=last_fit)

    def set_fitted_attributes(self, solution: GaussianComponents | OwnCovarianceComponents) -> None:
        """Set the attributes that users read."""
        self.weights_ = solution.weights
        order = np.argsort(self.views_.order)
        self.means_ = solution.means[:, order]
        if isinstance(solution, OwnCovarianceComponents):
            self.covariances_ = solution.of_features(order).covariances
        elif solution.covariance.ndim == 2:
            self.covariances_ = solution.covariance[np.ix_(order, order)]
        else:
            self.covariances_ = float(solution.covariance.mean())
        covariance_type = _covariance_type(solution)
        self.precisions_, self.precisions_cholesky_ = _precisions(
            self.covariances_, matrices=covariance_type in ("full", "tied")
        )
        self.lower_bounds_ = list(self.diagnostics_["mean_log_likelihood"])
        self.n_iter_ = len(self.lower_bounds_)
        self.lower_bound_ = self.lower_bounds_[-1] if self.lower_bounds_ else -np.inf
        self.converged_ = bool(self.diagnostics_["converged"])
        pilot = self.diagnostics_.get("pilot", {})
        self._last_fit = LastFit(
            constant_features=tuple(
                name
                for members in self.diagnostics_.get("constant_features", {}).values()
                for name in members
            ),
            n_components=self.n_components,
            reg_covar=self.reg_covar,
            strength=strength_of(pilot) if "reg_covar" in pilot else None,
            arrays=InitialArrays(
                covariance_type,
                self.weights_,
                self.means_,
                np.asarray(self.covariances_),
                log_likelihood=self.lower_bound_,
                features=tuple(np.array(self.views_.feature_names)[order].tolist()),
            ),
        )
        if solution.names:
            self.classes_ = array_of_labels(solution.names)


def _covariance_type(solution: GaussianComponents | OwnCovarianceComponents) -> str:
    """Return the type of fitted covariances. The parameter may have been set after the fit."""
    if isinstance(solution, OwnCovarianceComponents):
        return ("spherical", "diag", "full")[solution.covariances.ndim - 1]
    return ("shared_spherical", "tied")[solution.covariance.ndim - 1]


def _precisions(covariances: float | NDArray[np.float64], *, matrices: bool) -> tuple[Any, Any]:
    """Return precisions and their upper triangular factors, of variances or of matrices."""
    if not matrices:
        return 1 / covariances, covariances**-0.5
    inverse_roots = np.linalg.inv(np.linalg.cholesky(covariances))
    factors = np.ascontiguousarray(np.swapaxes(inverse_roots, -1, -2))
    return factors @ inverse_roots, factors
