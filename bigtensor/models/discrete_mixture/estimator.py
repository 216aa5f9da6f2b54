"""The discrete mixture: latent classes of rows of categories."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from bigtensor.models.answers import information_criteria
from bigtensor.models.answers.mixture import MixtureAnswers
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.parameters import RandomState, ViewsLike
from bigtensor.models.contract.script import FitSteps
from bigtensor.models.discrete_mixture.declared_parameters import PARAMETERS
from bigtensor.models.discrete_mixture.description import (
    DiscreteMixtureDescription,
)
from bigtensor.models.discrete_mixture.planned_passes import (
    planned_preparation,
    planned_refinement,
)
from bigtensor.models.discrete_mixture.script import STORED_CLASSES, prepare, refine
from bigtensor.models.discrete_mixture.settings import (
    check_parameters,
    settings_of,
    without_effect,
)
from bigtensor.models.discrete_mixture.solution import DiscreteFit


class DiscreteMixture(MixtureAnswers):
    """Mixture of categorical views that are independent given the component: latent classes.

    Every row has a hidden component; given the component, the views are independent, each with its
    own probabilities of categories. Moments of three views determine the mixture; their spectral
    solution, improved by a descent through infeasible parameters (exterior point method; Shaban,
    Farajtabar, Xie, Song and Boots, UAI 2015), is where EM iterations start. Where the joint table
    of all views is small, one pass counts the rows, and all else is independent of their number.

    Parameters
    ----------
    n_components : int or "auto", default "auto"
        Number of components k: ``"auto"`` is the number with the best likelihood of held-out rows,
        of at most 20. Components that have the same probabilities are merged.
    views : mapping of str to feature names or columns, optional
        At least three, of one categorical feature each. By default every feature.
    method : {"ex", "ex_literal", "svd", "svd_joint", "std", "em"}, default "ex"
        Initialisation of the EM iterations: ``"ex"`` is the exterior point method, ``"em"`` the
        best of random initialisations, and the others are references without EM iterations.
        Residuals of ``"ex"`` are weighted by independence, from several spectral solutions. More
        than three views are put into three groups, whose joint codes are decomposed. Where the
        driver holds the rows, random initialisations compete with the result. Where the smallest
        group has fewer joint codes than there are components, ``"ex"`` is ``"em"``. The references
        are the spectral solution of one random combination of slices (``"svd"``), of their joint
        diagonalisation (``"svd_joint"``), or of the tensor power method (``"std"``), each clipped
        to valid probabilities, and the exterior point method as it was published
        (``"ex_literal"``).
    ridge : float, "cross-validation" or None, default "cross-validation"
        Pseudo-count that draws the components of ``"ex"`` towards independence, by default the one
        of 0, 1/2 and 2 with the best likelihood of held-out rows. If it is positive, EM iterations
        add half a count to every category.
    max_iter : int, optional
        Largest number of EM iterations after the initialisation, by default 1,000. The default is
        20 after the exterior point method of three views with a ridge. If each iteration reads all
        rows, it is 5 after ``"ex"`` and 30 after ``"em"``, and it is 0 after other methods.
        Iterations end when the likelihood settles.
    n_starts : int, default 40
        Largest number of random initialisations of ``"ex"`` and ``"em"``. They end when three of at
        least ten have reached the best likelihood. After ten of them, every second one is the best
        mixture with one component dropped and another one split.
    missing : {"raise", "omit", "marginalise"}, default "raise"
        Rule for rows with missing entries: ``"raise"`` is an error, ``"omit"`` leaves the rows out
        and counts them, and ``"marginalise"`` uses their other entries. Whatever the rule, an entry
        whose category no row of the fit had is ignored, and the row keeps its other entries.
    weights : {"counts", "relative"}, default "counts"
        Meaning of sample weights. With ``"counts"``, a row of weight 2 occurs twice. ``"relative"``
        weights only compare rows, and their unit has no effect: they are scaled so that their sum
        is the effective sample size of Kish (1965).
    sample_dim : str, default "sample"
        Name of the sample dimension of labelled data.
    random_state : int, RandomState or Generator, optional
        Seed of held-out rows, sketches and random initialisations. None stands for 0: the same data
        give the same model.

    Attributes
    ----------
    weights_ : (k,) float64 array
        Mixing weights, descending.
    component_probabilities_ : dict of str to DataArray
        For every view the probability of its categories (category, component) in every component.
    categories_ : dict of str to tuple of str
        Names of the codes of every feature.
    views_ : Views
        The views as they were found in the data.
    n_iter_ : int
        Number of EM iterations, as many as ``mean_log_likelihood`` of the diagnostics has values.
    diagnostics_ : dict
        Every decision taken on the way: held-out likelihoods, spectrum, condition numbers,
        residuals, log-likelihoods, the plan and the passes, and a ``verdict``.
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
    >>> from bigtensor import DiscreteMixture, simulate
    >>> data = simulate.discrete_mixture(5000, 3, n_categories=6, random_state=1)
    >>> model = DiscreteMixture(3, random_state=0).fit(data)
    >>> model.component_probabilities_["view1"].shape
    (6, 3)
    >>> model.predict(data).dims
    ('sample',)
    """

    declares = PARAMETERS
    takes = Data(kinds={"codes"}, marginalises={"codes"})
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
    description = DiscreteMixtureDescription()

    component_probabilities_: dict[str, xr.DataArray]
    solution_: DiscreteFit

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        views: ViewsLike | None = None,
        method: str = "ex",
        ridge: float | str | None = "cross-validation",
        max_iter: int | None = None,
        n_starts: int = 40,
        missing: str = "raise",
        weights: str = "counts",
        sample_dim: str = "sample",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.views = views
        self.method = method
        self.ridge = ridge
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.missing = missing
        self.weights = weights
        self.sample_dim = sample_dim
        self.random_state = random_state

    aic = information_criteria.aic
    bic = information_criteria.bic

    def free_parameters(self) -> int:
        """Return the number of free parameters."""
        self.require_fitted()
        return self.solution_.solution.parameters

    @property
    def categories_without_rows(self) -> Mapping[str, tuple[str, ...]]:
        """Categories of probability zero in all components, by feature."""
        # a model without a solution, between rounds, has the categories alone
        fitted = getattr(self, "solution_", None)
        if fitted is None:
            return {}
        return {
            features[0]: tuple(
                name for name, row in zip(names, table, strict=True) if not row.any()
            )
            for (_, features), names, table in zip(
                fitted.views, fitted.categories, fitted.solution.probabilities, strict=True
            )
        }

    def set_fitted_attributes(self, solution: DiscreteFit) -> None:
        """Set the attributes that users read."""
        self.n_iter_ = len(self.diagnostics_.get("mean_log_likelihood", ()))
        self.weights_ = solution.solution.weights
        self.component_probabilities_ = {
            view: xr.DataArray(
                table, {"category": list(names)}, ("category", "component"), name="probability"
            )
            for (view, _), names, table in zip(
                solution.views, solution.categories, solution.solution.distributions, strict=True
            )
        }
