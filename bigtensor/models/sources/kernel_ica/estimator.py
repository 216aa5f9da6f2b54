"""Kernel independent component analysis: independent sources of the features of a kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.answers.transform import TransformAnswers
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.parameters import RandomState, ViewsLike
from bigtensor.models.contract.script import FitSteps
from bigtensor.models.sources.kernel_ica.declared_parameters import PARAMETERS
from bigtensor.models.sources.kernel_ica.description import KernelDescription
from bigtensor.models.sources.kernel_ica.planned_passes import (
    planned_preparation,
    planned_refinement,
)
from bigtensor.models.sources.kernel_ica.script import (
    STORED_CLASSES,
    prepare,
    refine,
)
from bigtensor.models.sources.kernel_ica.settings import (
    settings_of,
    without_effect,
)
from bigtensor.models.sources.kernel_ica.solution import KernelComponents


class KernelICA(TransformAnswers):
    r"""Independent component analysis in the feature space of a kernel.

    The features of every row are :math:`\phi(x) = m + A h + z`, with k independent sources h of
    unit variance, noise z, and :math:`\langle \phi(x), \phi(x') \rangle = k(x, x')`. The sources
    are those of ordinary whitened component analysis along the k largest principal components of
    the features (Anandkumar, Ge, Hsu, Kakade and Telgarsky 2014; Song et al. 2014). The kernel is
    evaluated at landmarks, from which all else follows by sums over the rows (Williams and Seeger
    2001): a covariance, and fixed-point iterations with the contrast log cosh (Hyvarinen 1999).

    This is no nonlinear component analysis: it does not undo a nonlinear function of linear
    mixtures. Sources are linear in the features of the kernel, and mean something where the
    features are mixtures. For linear mixtures use `ICA`.

    Sources do not depend on units, shifts or order of the features.

    Parameters
    ----------
    n_components : int
        Number of sources k, which may exceed the number of features. Fewer are returned where the
        features of the kernel vary along fewer axes.
    kernel : {"gaussian", "laplace", "linear"}, default "gaussian"
        Kernel of standardised features, in whose feature space rows are mixtures of the sources.
        With ``"linear"`` the sources are those of ``ICA(method="whitened")``.
    bandwidth : float or "auto", default "auto"
        Standard deviation of the kernel in standard deviations of the features, by default the
        square root of the number of features that vary. Of the Laplace kernel it is
        ``sqrt(8 / pi)`` times this number. A typical pair of rows then has a kernel of about 1 / e.
    n_landmarks : int, default 500
        Largest number of points at which the kernel is evaluated, which are centres of clusters in
        the pilot sample. More landmarks make narrow kernels more precise, and a pass slower in
        proportion. With as many landmarks as distinct rows the kernel is exact.
    views : mapping of str to feature names or columns, optional
        The features to use, in any number of views. By default every feature.
    max_iter : int, default 3
        Largest number of fixed-point iterations over all rows. They end when the sources turn by
        less than their error.
    pilot_rows : int, optional
        Rows of the pilot sample in which landmarks are chosen and the sources are found first, by
        default 200 a source, five a feature, and at least 20,000.
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
    landmarks_ : (p, d) float64 array or None
        Points at which the kernel is evaluated; None with the linear kernel.
    dual_coef_ : (p, k) float64 array
        Sources are ``kernel(x, landmarks_) @ dual_coef_ + intercept_``. With the linear kernel it
        has one row a feature, for features about the mean of the sample over `scale_`.
    intercept_ : (k,) float64 array
        Added to the products of features and ``dual_coef_``.
    bandwidth_ : float
        In units of `scale_`; NaN with the linear kernel.
    scale_ : (d,) float64 array
        Standard deviations of the features in the sample, by which the kernel divides them.
    kurtosis_ : (k,) float64 array
        Excess kurtosis of the sources, which are in the order of its absolute value, descending.
        Every source correlates positively with the feature that it correlates with most.
    explained_variance_ : (k,) float64 array
        Variance in the feature space that every source explains.
    explained_variance_ratio_ : (k,) float64 array
        The same as a share of the variance of all rows in the feature space.
    correlations_ : (k, d) float64 array
        Correlation of every source with every feature, in the sample.
    views_ : Views
        The views as they were found in the data.
    n_iter_ : int
        Iterations over all rows.
    diagnostics_ : dict
        Every decision taken on the way: landmarks and the error of their approximation, rank,
        outlying rows, turns of the sources by the passes, the plan, and a ``verdict``.
    n_features_in_ : int
        Number of features of the data.
    feature_names_in_ : array of str
        For labelled data.

    References
    ----------
    - A. Anandkumar, R. Ge, D. Hsu, S. M. Kakade and M. Telgarsky. Tensor decompositions for
      learning latent variable models. Journal of Machine Learning Research 15, 2014.
    - L. Song, A. Anandkumar, B. Dai and B. Xie. Nonparametric estimation of multi-view latent
      variable models. ICML 2014.
    - C. K. I. Williams and M. Seeger. Using the Nystrom method to speed up kernel machines. NIPS
      2000.

    Examples
    --------
    >>> from bigtensor import KernelICA, simulate
    >>> data = simulate.ica(2_000, 4, n_features=4, random_state=1)
    >>> model = KernelICA(3).fit(data)
    >>> model.transform(data).shape
    (2000, 3)
    """

    declares = PARAMETERS
    takes = Data(kinds={"measured"})
    steps = FitSteps(
        settings_of,
        prepare,
        refine,
        planned_preparation,
        planned_refinement,
        without_effect=without_effect,
    )
    stored_classes = STORED_CLASSES
    description = KernelDescription()

    landmarks_: NDArray[np.float64] | None
    dual_coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    bandwidth_: float
    scale_: NDArray[np.float64]
    kurtosis_: NDArray[np.float64]
    explained_variance_: NDArray[np.float64]
    explained_variance_ratio_: NDArray[np.float64]
    correlations_: NDArray[np.float64]
    solution_: KernelComponents

    def __init__(
        self,
        n_components: int,
        *,
        kernel: str = "gaussian",
        bandwidth: float | str = "auto",
        n_landmarks: int = 500,
        views: ViewsLike | None = None,
        max_iter: int = 3,
        pilot_rows: int | None = None,
        missing: str = "raise",
        weights: str = "counts",
        sample_dim: str = "sample",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_landmarks = n_landmarks
        self.views = views
        self.max_iter = max_iter
        self.pilot_rows = pilot_rows
        self.missing = missing
        self.weights = weights
        self.sample_dim = sample_dim
        self.random_state = random_state

    def set_fitted_attributes(self, solution: KernelComponents) -> None:
        """Set the attributes that users read."""
        self.n_iter_ = len(self.diagnostics_.get("turns", ()))
        self.landmarks_ = solution.landmarks
        self.dual_coef_ = solution.coefficients
        self.intercept_ = -solution.offset
        self.bandwidth_ = solution.bandwidth
        self.scale_ = solution.scales
        self.kurtosis_ = solution.kurtosis
        self.explained_variance_ = solution.explained
        self.explained_variance_ratio_ = solution.explained / solution.variance
        self.correlations_ = solution.correlations.T
