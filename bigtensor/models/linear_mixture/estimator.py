"""The linear mixture: three views, each a column of its factor and noise."""

from __future__ import annotations

import xarray as xr

from bigtensor.models.answers.mixture import MixtureAnswers
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.parameters import RandomState, ViewsLike
from bigtensor.models.contract.script import FitSteps
from bigtensor.models.gaussian.component_labels import array_of_labels
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.linear_mixture.declared_parameters import PARAMETERS
from bigtensor.models.linear_mixture.description import LinearMixtureDescription
from bigtensor.models.linear_mixture.method_choice import settings_with_method
from bigtensor.models.linear_mixture.planned_passes import (
    planned_methods,
    planned_preparation,
    planned_refinement,
)
from bigtensor.models.linear_mixture.script import STORED_CLASSES, prepare, refine
from bigtensor.models.linear_mixture.settings import without_effect


class LinearMixture(MixtureAnswers):
    r"""Mixture of three views, with more components than features if need be.

    Every row has a hidden component h; given it, view v is the column h of the factor of v plus
    noise that is independent between views. The third moment across the views,
    :math:`\sum_h w_h\, a_h \otimes b_h \otimes c_h` (Anandkumar, Ge and Janzamin 2015, eq. 5), need
    not be formed: its contractions with candidate columns are sums over rows. Components are found
    by power updates, joint least squares and deflation, and by Gauss-Newton steps of one pass over
    all rows each. Where few features make the tensor small, it is formed in one pass. The number of
    components may be several times the number of features of a view. Clusters of the rows compete
    with the moments where these are in doubt. If there are more components than a third moment
    determines, clusters alone give the initialisation.

    Parameters
    ----------
    n_components : int
        Number of components k, which may exceed the number of features. Components that do not
        stand out from the noise are not returned.
    views : mapping of str to feature names or columns, optional
        Three views, independent of each other given the component. By default every feature. Data
        may also be given as a mapping of view names to arrays, or as a list of three arrays.
    method : {"auto", "sample", "compressed", "explicit", "passes", "power"}, default "auto"
        Way to find the components, of which ``"auto"`` takes a cheap one: a search in a pilot
        sample, a compressed or an explicit moment tensor, passes over all rows, or the published
        power updates.

        - ``"sample"``: search in a pilot sample, and Gauss-Newton steps over all rows. Where the
          search is in doubt, such as with few rows, clusters of the rows compete with it.
        - ``"compressed"``: two passes form the tensor in as many directions of every view as there
          are components, which may not outnumber the features of a view.
        - ``"explicit"``: one pass forms the whole tensor, of the product of the features of the
          views.
        - ``"passes"``: the search of ``"sample"``, with a pass over all rows for every contraction.
        - ``"power"``: power updates as they were published, in 63 passes; a reference, which is
          biased.

        ``"auto"`` takes the first, which tells most about the rows, unless the second or the third
        costs clearly less by counted operations; `plan` shows the cost of every method.
    gauss_newton_steps : int, default 1
        Largest number of Gauss-Newton steps over all rows, with methods ``"sample"`` and
        ``"compressed"``. Every step needs a pass, and one more pass tells whether the last has led
        nearer to the moment. A small step may follow it.
    max_iter : int, optional
        Largest number of EM iterations over all rows, by default 200 if the pilot sample holds all
        rows, 10 otherwise, and 2 in rounds. Each is a pass over the data. They follow the solution
        of the moments, and end when all rows together gain less than .01 nats; the 10 end when a
        row gains less than .001 nats on average. They assume Gaussian noise of one covariance a
        view, and are more precise than moments where noise is large.
    pilot_rows : int, optional
        Rows of the pilot sample, by default 200 a component, five a feature, and at least 20,000.
        The components are found in the sample, or other methods take the units and the
        initialisations from it.
    missing : {"raise", "omit"}, default "raise"
        Rule for rows with missing entries: ``"raise"`` is an error, and ``"omit"`` leaves the rows
        out and counts them.
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
        Mixing weights, descending; in the order of the labels after a fit with labels.
    classes_ : (k,) array
        Labels of the components, after a fit with labels: integers as integers, names as strings.
        `predict` returns positions in it, and ``model.classes_[model.predict(X)]`` the labels.
    components_ : dict of str to DataArray
        For every view the mean (feature, component) of its features in every component.
    noise_covariance_ : dict of str to DataArray
        For every view the covariance (feature, feature2) of its noise.
    views_ : Views
        The views as they were found in the data.
    n_iter_ : int
        Number of EM iterations, as many as ``mean_log_likelihood`` of the diagnostics has values.
    diagnostics_ : dict
        Every decision taken on the way: rounds of the search, what is left of the moment, steps
        and whether they were accepted, the plan and the passes, and a ``verdict``.
    n_features_in_ : int
        Number of features of the data.
    feature_names_in_ : array of str
        For labelled data.

    References
    ----------
    - A. Anandkumar, R. Ge and M. Janzamin. Learning overcomplete latent variable models through
      tensor methods. COLT 2015.

    Examples
    --------
    >>> from bigtensor import LinearMixture, simulate
    >>> data = simulate.linear_mixture(20_000, 15, n_features=10, random_state=1)
    >>> views = {view: data["feature"][data["view"] == view].values for view in "abc"}
    >>> model = LinearMixture(15, views=views).fit(data)
    >>> model.components_["a"].shape
    (10, 15)
    """

    declares = PARAMETERS
    takes = Data(kinds={"measured"}, labels=True, by_view=True)
    steps = FitSteps(
        settings_with_method,
        prepare,
        refine,
        planned_preparation,
        planned_refinement,
        planned_methods=planned_methods,
        without_effect=without_effect,
    )
    stored_classes = STORED_CLASSES
    description = LinearMixtureDescription()

    components_: dict[str, xr.DataArray]
    noise_covariance_: dict[str, xr.DataArray]
    solution_: GaussianComponents

    def __init__(
        self,
        n_components: int,
        *,
        views: ViewsLike | None = None,
        method: str = "auto",
        gauss_newton_steps: int = 1,
        max_iter: int | None = None,
        pilot_rows: int | None = None,
        missing: str = "raise",
        weights: str = "counts",
        sample_dim: str = "sample",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.views = views
        self.method = method
        self.gauss_newton_steps = gauss_newton_steps
        self.max_iter = max_iter
        self.pilot_rows = pilot_rows
        self.missing = missing
        self.weights = weights
        self.sample_dim = sample_dim
        self.random_state = random_state

    def set_fitted_attributes(self, solution: GaussianComponents) -> None:
        """Set the attributes that users read."""
        self.n_iter_ = len(self.diagnostics_.get("mean_log_likelihood", ()))
        self.weights_ = solution.weights
        if solution.names:
            self.classes_ = array_of_labels(solution.names)
        self.components_, self.noise_covariance_ = {}, {}
        for (view, features), columns in zip(solution.views, solution.slices.values(), strict=True):
            self.components_[view] = xr.DataArray(
                solution.means[:, columns].T,
                {"feature": list(features)},
                ("feature", "component"),
                name="mean",
            )
            self.noise_covariance_[view] = xr.DataArray(
                solution.covariance[columns, columns],
                {"feature": list(features), "feature2": list(features)},
                ("feature", "feature2"),
                name="covariance",
            )
