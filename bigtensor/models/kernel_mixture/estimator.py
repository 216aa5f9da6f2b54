"""The nonparametric multi-view mixture: populations with a density of any shape in every view."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np
import numpy.typing as npt
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.errors import ParameterError, Setting, ViewError
from bigtensor.features.kernels.kernel import Kernel
from bigtensor.models.answers.mixture import MixtureAnswers
from bigtensor.models.contract.containers import RowAnswer, labelled_like
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.model_files import in_stored_layout
from bigtensor.models.contract.opening_for_answers import open_with_subjects
from bigtensor.models.contract.parameters import RandomState, ViewsLike, checked_points, plain
from bigtensor.models.contract.run import RunOptions
from bigtensor.models.contract.script import FitSteps, PlannedPass
from bigtensor.models.kernel_mixture.declared_parameters import PARAMETERS
from bigtensor.models.kernel_mixture.description import (
    KernelMixtureDescription,
)
from bigtensor.models.kernel_mixture.options import SpectralOptions
from bigtensor.models.kernel_mixture.parameter_checks import check_parameters
from bigtensor.models.kernel_mixture.planned_passes import planned_preparation, planned_refinement
from bigtensor.models.kernel_mixture.refinement.undivided_population import (
    UndividedPopulation,
    histogram_pass,
)
from bigtensor.models.kernel_mixture.script import (
    STORED_CLASSES,
    prepare,
    refine,
)
from bigtensor.models.kernel_mixture.settings import ViewKernel, settings_of, without_effect
from bigtensor.models.kernel_mixture.solution import KernelFit, KernelSolution
from bigtensor.models.kernel_mixture.view_functions import (
    checked_view_function,
    function_of_rows,
    view_values,
)
from bigtensor.statistics.densities.conditional_means import ConditionalMeans
from bigtensor.statistics.densities.posterior_means import PosteriorMeans


class KernelMixture(MixtureAnswers):
    """Mixture of components with densities of any shape, independent between views.

    Every row has a hidden label h; given the label, the views are independent, and nothing else is
    assumed of their densities. The spectral initialisation finds the components from moments of
    kernel features in one pass over the data (Song, Anandkumar, Dai and Xie 2014). EM iterations
    then re-estimate weights and densities (Benaglia, Chauveau and Hunter 2009).

    Parameters
    ----------
    n_components : int or "auto", default "auto"
        Number of components k: ``"auto"`` counts them in the pilot sample, or takes up to 150 if
        they are merged into populations. The count is the number of singular values of the
        cross-covariance of views that exceed the singular values under permuted rows. Fewer than
        500 rows get more if features depend on each other within these. Components that are merged
        have at least 50 rows each on average.
    views : mapping of str to feature names or columns, optional
        Features that may depend on each other within a component share a view. By default every
        feature is its own view. The spectral initialisation needs three views, k-means two.
    units : {"auto", "own", "common"}, default "auto"
        Units in which clusters of the pilot sample compare features: ``"own"`` divides every
        feature by its spread, ``"common"`` takes features as they are, and ``"auto"`` is
        ``"common"`` if the import put all features on one scale. Otherwise, for populations of
        views of one feature, ``"auto"`` is ``"common"`` if rows of the pilot sample that are held
        out are then more likely, by more than a standard error. In all other cases it is ``"own"``.
        With common units, such as markers of a cytometer on one scale, a marker that spreads more
        counts more.
    kernel : str, CustomKernel, or mapping of views to these, default "gaussian"
        Kernel by which every view compares rows. It is ``"gaussian"``, ``"laplace"``, a
        user-defined kernel, or ``"delta"`` for views of one feature that holds codes of categories.
        Views that a mapping leaves out have ``"gaussian"``. Views of one measured feature use the
        kernel for the moments. Their densities are smoothed histograms with any kernel.
    view_groups : three lists of view names, optional
        View groups whose moments the spectral initialisation decomposes. Views outside all groups
        follow by regression on the sample (Song et al. 2014, sec. 3). By default all views are in
        a group, about equally many in each, unless other groups separate the components clearly
        better. The order of the views does not matter.
    bandwidth : {"auto", "gap", "cross-validation"} or float, default "auto"
        Bandwidth of the kernels in the spectral initialisation: a number multiplies the bandwidth
        of ``"auto"``, and ``"gap"`` and ``"cross-validation"`` choose from four multiples of it.
        ``"auto"`` is twice the width of a rule of thumb. The multiples are 1/4, 1/2, 1 and 2.
        ``"gap"`` takes the one with the largest spectral gap in the sample, and
        ``"cross-validation"`` the one with the best likelihood of held-out rows, which takes two
        more passes.
    views_share_components : bool, default False
        Components have the same density in all views, as in repeated measurements. The views then
        have equally many features.
    init : {"auto", "spectral", "kmeans"}, default "auto"
        Initialisation of the EM iterations: ``"auto"`` is ``"kmeans"`` if components are merged
        into populations or there are two views, and ``"spectral"`` otherwise. ``"kmeans"`` takes
        clusters of the pilot sample. Beside a doubtful spectral initialisation they are tried too.
    max_iter : int, optional
        Largest number of EM iterations over all rows, by default between 2 and 20. It is at least
        one. The default is 2 after a spectral initialisation (4 from half a million rows on), and 2
        before components are merged. After a doubtful initialisation it is up to 20 until
        convergence, and 20 with broad densities, which do not climb the likelihood. From four
        million rows on, these iterations read a million rows spread over the data (4 iterations
        after an initialisation that is not doubtful), and 2 iterations over all rows follow. If
        components are merged, no iteration over all rows follows.
    n_populations : int or "auto", optional
        Number of populations that many components are merged into and that labels stand for:
        ``"auto"`` is the most informative number on which halves of the pilot sample agree.
        Components are merged because real populations are seldom products of views. ``predict`` and
        ``predict_proba`` answer for populations. By default components are merged if neither their
        number nor ``init`` is given, features depend on each other within components, and there are
        rows enough.
    merging : str or None, default "levels"
        Criterion by which pairs of components are merged into populations. ``"levels"`` weighs how
        often rows of one are taken for the other, how far both are apart in the low and high levels
        of each feature, and their mass. ``"separation"`` is misclassification weighted by mass
        alone. ``"misclassification"`` merges the pair with the largest
        misclassification probability, the larger of the two probabilities of a pair (Hennig 2010).
        ``"mean_misclassification"`` takes the mean of the two, ``"quadratic_entropy"`` the fall of
        the quadratic entropy, and ``"overlap"`` the cosine of the posterior probabilities. With
        None components are never merged.
    pilot_rows : int, optional
        Rows of the pilot sample, by default 20,000, and 50,000 if components are merged.
        Bandwidths, landmarks and directions are chosen from the sample. Take more if the smallest
        component has fewer than a hundred rows in it.
    spectral : SpectralOptions, optional
        Details of kernel features, moments and densities that seldom need a change. None stands for
        the defaults of `SpectralOptions`.
    missing : {"raise", "omit"}, default "raise"
        Rule for rows with NaN or infinities: ``"raise"`` is an error, and ``"omit"`` leaves the
        rows out and counts them.
    weights : {"counts", "relative"}, default "counts"
        Meaning of sample weights. With ``"counts"``, a row of weight 2 occurs twice. ``"relative"``
        weights only compare rows, and their unit has no effect: they are scaled so that their sum
        is the effective sample size of Kish (1965).
    sample_dim : str, default "sample"
        Name of the sample dimension of labelled data.
    random_state : int, RandomState or Generator, optional
        Seed of the sample, the clustering and the power method. None stands for 0: the same data
        give the same model.

    Attributes
    ----------
    weights_ : (k,) float64 array
        Mixing weights, descending.
    views_ : Views
        Views of the data.
    n_iter_ : int
        Number of EM iterations, as many as ``mean_log_likelihood`` of the diagnostics has values.
    diagnostics_ : dict
        Decisions of the fit: bandwidths, spectrum and gap, condition numbers, chosen candidate,
        log-likelihoods, the plan and the passes. ``verdict`` judges the final mixture: ``good``,
        sentences, and the numbers behind them.
    n_features_in_ : int
        Number of features of the data.
    feature_names_in_ : array of str
        For labelled data.

    References
    ----------
    - L. Song, A. Anandkumar, B. Dai and B. Xie. Nonparametric estimation of multi-view latent
      variable models. ICML 2014.
    - A. Anandkumar, R. Ge, D. Hsu, S. M. Kakade and M. Telgarsky. Tensor decompositions for
      learning latent variable models. Journal of Machine Learning Research 15, 2014.

    Examples
    --------
    >>> from bigtensor import KernelMixture, simulate
    >>> data = simulate.kernel_mixture(5000, 3, random_state=1)
    >>> model = KernelMixture(3, random_state=0).fit(data)
    >>> labels = model.predict(data)
    >>> labels.dims
    ('sample',)
    """

    declares = PARAMETERS
    takes = Data(kinds={"measured"})
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
    description = KernelMixtureDescription()

    solution_: KernelFit

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        views: ViewsLike | None = None,
        units: str = "auto",
        kernel: ViewKernel | Mapping[str, ViewKernel] = "gaussian",
        view_groups: Sequence[Sequence[str]] | None = None,
        bandwidth: float | str = "auto",
        views_share_components: bool = False,
        init: str = "auto",
        max_iter: int | None = None,
        n_populations: int | str | None = None,
        merging: str | None = "levels",
        pilot_rows: int | None = None,
        spectral: SpectralOptions | None = None,
        missing: str = "raise",
        weights: str = "counts",
        sample_dim: str = "sample",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.views = views
        self.units = units
        self.kernel = kernel
        self.view_groups = view_groups
        self.bandwidth = bandwidth
        self.views_share_components = views_share_components
        self.init = init
        self.max_iter = max_iter
        self.n_populations = n_populations
        self.merging = merging
        self.pilot_rows = pilot_rows
        self.spectral = spectral
        self.missing = missing
        self.weights = weights
        self.sample_dim = sample_dim
        self.random_state = random_state

    def component_density(
        self, view: str, points: npt.ArrayLike
    ) -> NDArray[np.float64] | xr.DataArray:
        """Return the density of every component in one view, at given points.

        The densities are smoothed with the width of each component, and floored at one millionth
        of their maximum.

        Parameters
        ----------
        view : str
            Name of the view.
        points : (n,) or (n, d) array-like
            In the units of the data.

        Returns
        -------
        (n, k) float64 array
            One column a component; a DataArray when ``points`` is one.
        """
        self._require_view(view)
        values = checked_points(points, view, len(self.views_.as_mapping()[view]))
        return labelled_like(points, self._solution.density(view, values))

    def expectation(
        self,
        view: str,
        f: Callable[[NDArray[Any]], NDArray[Any]],
        X: DataLike | None = None,
        **options: Unpack[RunOptions],
    ) -> NDArray[np.float64]:
        """Return ``E[f(x) | h]`` of one view for every component, without smoothing.

        With data, the expectation is the mean over all rows weighted by posterior probabilities, in
        one pass. Without data, it is computed for views of one measured feature from the histogram
        of every component, and for other views from the rows of the pilot sample with their
        posterior probabilities. For a `KernelExpansion` with the kernel of an embedded view it is
        computed from the mean embeddings. A model that was solved from statistics keeps no rows:
        multivariate views then use the landmarks of their kernel, and views of one feature, before
        the first EM iteration, smoothed densities.

        None of these is the integral of f times the reported density, which is smoothed.

        Parameters
        ----------
        view : str
            Name of the view.
        f : callable
            Takes ``(n,)`` values of a view of one feature or ``(n, d)`` rows of a wider one, and
            returns ``(n,)`` or ``(n, m)`` numbers.
        X : path, xarray, dask array or array-like, optional
            Rows to average over.
        **options
            As for `fit`, without ``checkpoint``. They are ignored without data, as no pass runs.

        Returns
        -------
        (k,) or (k, m) float64 array
            Expectations by component, of a function with one value or with m values.

        Raises
        ------
        ViewError
            When there is no such view.
        ParameterError
            When f returns another shape, or with a checkpoint.
        """
        self._require_view(view)
        function = checked_view_function(f)
        if X is None:
            return self._solution.expectation(view, function)
        if options.get("checkpoint") is not None:
            raise ParameterError(
                "an expectation keeps no checkpoint, which could not tell one function from "
                "another; it is one pass: leave " + Setting("checkpoint") + " out"
            )
        shaped = function_of_rows(function)
        example = np.asarray(function(self._solution.example(view)))
        statistic = PosteriorMeans(
            self._solution.mixture(), view, shaped, math.prod(example.shape[1:])
        )
        means: NDArray[np.float64] = self.sum_rows(X, "expectation", statistic, **options)
        return means.reshape(-1, *example.shape[1:])

    def predict_view(
        self, X: DataLike, view: str, f: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    ) -> RowAnswer:
        """Return the conditional mean of one view for every row, given its other views.

        ``sum_h P(h | other views) E[f(x) | h]`` (Song et al. 2014, sec. 2), with the expectations
        of `expectation`.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`. The features of the view may be missing from labelled data, and may hold
            anything, such as NaN, in plain arrays and data frames.
        view : str
            Name of the view.
        f : callable, optional
            As for `expectation`. By default the values of the view.

        Returns
        -------
        (rows, m) float64 array, DataArray or dask array
            Answers in the kind of container of ``X``, with the dimension ``value``.
        """
        self._require_view(view)
        if len(self.views_.names) < 2:
            raise ViewError("a model of one view has no other view to predict it from")
        means = self._solution.expectation(view, checked_view_function(f or view_values))
        function = ConditionalMeans(
            self._solution.without(view).mixture(), means.reshape(len(means), -1)
        )
        return self.row_output(X, "expectation", function, unseen=frozenset({view}))

    def refine_population(
        self,
        population: int | str,
        X: DataLike,
        *,
        feature: str | None = None,
        by: str | RowVariableLike | None = None,
        **options: Unpack[RunOptions],
    ) -> Self:
        """Divide one population into two by one feature, in one pass over the data.

        It finds rare populations, such as activated cells, which are no cluster of all features but
        lie in the tail of one. Within the population, the feature is a mixture of a body and a tail
        with log-concave densities (Chang and Walther 2007), whose share differs between samples.

        The model has one more population afterwards, and populations are numbered by weight again.
        The population is divided at the value beyond which rows more probably belong to the tail,
        as by a gate. Weights by sample are therefore shares of labels, with their standard errors.
        Rows of the tail that overlap with the body are not corrected for. The density of the rows
        and labels of other populations do not change. Both parts get the name of the population,
        or its suggested name, with the sign of the feature. If the name says already that the
        population is positive, and the tail is the upper one, ``lo`` and ``hi`` are added.
        `diagnostics_` lists the division and all candidates under ``"refinements"``. Its number of
        rows counts every row with its probability of the population.

        A model that was prepared takes no further rounds afterwards.

        Parameters
        ----------
        population : int or str
            Number or present name of the population.
        X : path, xarray, dask array or array-like, or a list of these
            As for `fit`, usually the data of the fit.
        feature : str, optional
            Feature that divides the population, which has to be a view of its own. By default, of
            the tails with at most 5 % of the rows, the one that varies most between samples, or has
            the strongest evidence if there is one sample. A larger tail has to be asked for.
        by : str, or (rows,) array-like, optional
            The sample (file, subject) of every row, as for `weights_by`. By default the variable
            ``sample_id`` if ``X`` has it. Otherwise all rows are one sample.
        **options
            As for `fit`: ``client``, ``scheduler``, ``workers``, ``memory_limit``,
            ``wait_for_workers``, ``checkpoint``, ``listeners``.

        Returns
        -------
        self
            The model itself, with one more population.

        Raises
        ------
        ParameterError
            When there is no such population.
        ViewError
            When the feature is no view of its own.
        DataError
            When no feature has a clear tail within the population that remains after samples are
            shifted and scaled to agree, or all clear tails are larger than 5 % and none was
            asked for.

        Examples
        --------
        >>> import numpy as np
        >>> from bigtensor import KernelMixture
        >>> cells = np.random.default_rng(0).normal(size=(20_000, 3))
        >>> cells[:8000, :2] += 4  # two populations
        >>> cells[:100, 2] += 4  # and a few cells of the second one that are positive for x2
        >>> model = KernelMixture(2, random_state=0).fit(cells)
        >>> model.refine_population(1, cells).population_names_.tolist()
        ['0', 'x1+ x0+ x2-', 'x1+ x0+ x2+']
        """
        populations = self._present_populations()
        undivided = UndividedPopulation.of_mixture(
            self.solution_, populations, populations.number_of(population), feature
        )
        samples = open_with_subjects(self, X, by)
        names = ("",) if samples.groups is None else samples.groups.names
        planned = PlannedPass(histogram_pass(undivided.histograms(len(names))))
        ran = self.run_passes(samples, undivided.script(names), [planned], **options)
        divided, facts = ran.result
        earlier = self.diagnostics_.get("refinements", [])
        self.diagnostics_ = {**self.diagnostics_, "refinements": [*earlier, plain(facts)]}
        self._rounds = None
        self.set_solution(in_stored_layout(divided, self._stored_classes()))
        return self

    def view_kernel(self, view: str) -> Kernel:
        """Return the kernel of the densities of an embedded view.

        Raises
        ------
        ViewError
            When the densities of the view are smoothed histograms, or the view is categorical.
        """
        self._require_view(view)
        return self._solution.kernel(view)

    def _require_view(self, view: str) -> None:
        """Raise unless the model is fitted and has this view."""
        self.require_fitted()
        names = self.views_.names
        if view not in names:
            raise ViewError(f"there is no view {view!r}; the model has {', '.join(names)}")

    @property
    def _solution(self) -> KernelSolution:
        """Weights and densities of the components."""
        self.require_fitted()
        return self.solution_.solution

    def set_fitted_attributes(self, solution: KernelFit) -> None:
        """Set the attributes that users read."""
        self.n_iter_ = len(self.diagnostics_.get("mean_log_likelihood", ()))
        self.weights_ = solution.solution.weights
