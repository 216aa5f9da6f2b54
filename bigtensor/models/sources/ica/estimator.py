"""Independent component analysis: sources of rows that are linear mixtures of them, and noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.answers.transform import TransformAnswers, inverse_transform
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.parameters import RandomState, ViewsLike
from bigtensor.models.contract.script import FitSteps
from bigtensor.models.sources.components import IndependentComponents
from bigtensor.models.sources.ica.declared_parameters import PARAMETERS
from bigtensor.models.sources.ica.description import ICADescription
from bigtensor.models.sources.ica.planned_passes import planned_preparation, planned_refinement
from bigtensor.models.sources.ica.script import STORED_CLASSES, prepare, refine
from bigtensor.models.sources.ica.settings import settings_of, without_effect


class ICA(TransformAnswers):
    r"""Independent component analysis, with noise and with more sources than features.

    Every row is :math:`x = m + A h + e`, with independent sources h of unit variance, at most one
    of them Gaussian, and Gaussian noise e. Without noise, and with at most as many sources as
    features, rows are whitened and rotated until their sources are least Gaussian, by the
    fixed-point iteration of FastICA (Hyvarinen 1999) over all rows. Otherwise the columns of A are
    those of the fourth cumulant :math:`\sum_j \kappa_j a_j^{\otimes 4}`, in which Gaussian noise
    of any covariance has no part (Anandkumar, Ge and Janzamin 2015, eq. 8 to 10). The cumulant is
    never formed: its contractions are sums over rows. Both start from a pilot sample.

    Sources do not depend on units, shifts or order of the features. If there are fewer components
    than axes along which the rows vary, whitened sources lie along the largest principal axes of
    standardised features.

    Parameters
    ----------
    n_components : int, optional
        Number of sources k, which may exceed the number of features, by default the rank of the
        data. An axis that rounding of recorded values explains does not count. With the method
        ``"cumulant"``, fewer are returned where fewer stand out from Gaussian noise.
    method : {"auto", "whitened", "cumulant"}, default "auto"
        Estimator of the sources: ``"whitened"`` is more precise without noise and finds at most as
        many sources as features, ``"cumulant"`` is not biased by noise, and ``"auto"`` compares
        both. ``"auto"`` estimates the errors of both on the pilot sample by leaving out blocks of
        rows, and the dependence of their sources by characteristic functions, in which Gaussian
        noise has no part. It takes the cumulant if that has the smaller error or clearly less
        dependent sources, and gives all that were asked for.
    views : mapping of str to feature names or columns, optional
        The features to use, in any number of views. By default every feature.
    max_iter : int, default 3
        Largest number of fixed-point iterations over all rows, with the method ``"whitened"``. They
        end when the sources turn by less than their error.
    gauss_newton_steps : int, default 2
        Largest number of Gauss-Newton steps over all rows, with the method ``"cumulant"``. Every
        step needs a pass, and one more pass tells whether the last has led nearer to the cumulant.
    pilot_rows : int, optional
        Rows of the pilot sample in which the sources are found first, by default 1,000 a source,
        and at least 20,000. Beyond 100,000 rows the default is 500 a source, with ``"whitened"``
        200 a source, and always at least five a feature.
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
    mixing_ : (d, k) float64 array
        Column of every source, of unit variance. Sources are in the order of their absolute
        kurtosis, descending. Every source correlates positively with the feature that it
        correlates with most.
    components_ : (k, d) float64 array
        Sources are ``(x - mean_) @ components_.T``, the linear estimates with the least mean
        squared error. Without noise these are the sources, or the shortest ones that make up the
        row where there are more sources than features. With noise they have less than unit
        variance.
    mean_ : (d,) float64 array
        Mean of the rows.
    whitening_ : (q, d) float64 array
        Rows along it have the identity as covariance.
    kurtosis_ : (k,) float64 array
        Excess kurtosis of the sources: 0 of a Gaussian, 3 of a Laplace, -1.2 of a uniform source.
    method_ : {"whitened", "cumulant"}
        The method that was used.
    views_ : Views
        The views as they were found in the data.
    n_iter_ : int
        Iterations over all rows; 0 where the fourth cumulant was used.
    diagnostics_ : dict
        Every decision taken on the way: the choice of the method, rank, outlying rows, turns or
        steps of the passes, the plan, and a ``verdict``.
    n_features_in_ : int
        Number of features of the data.
    feature_names_in_ : array of str
        For labelled data.

    References
    ----------
    - A. Hyvarinen. Fast and robust fixed-point algorithms for independent component analysis. IEEE
      Transactions on Neural Networks 10, 1999.
    - A. Anandkumar, R. Ge and M. Janzamin. Learning overcomplete latent variable models through
      tensor methods. COLT 2015.

    Examples
    --------
    >>> from bigtensor import ICA, simulate
    >>> data = simulate.ica(20_000, 5, n_features=5, random_state=1)
    >>> model = ICA().fit(data)
    >>> model.transform(data).shape
    (20000, 5)
    >>> model.method_
    'whitened'
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
    description = ICADescription()

    mixing_: NDArray[np.float64]
    components_: NDArray[np.float64]
    mean_: NDArray[np.float64]
    whitening_: NDArray[np.float64]
    kurtosis_: NDArray[np.float64]
    solution_: IndependentComponents

    def __init__(
        self,
        n_components: int | None = None,
        *,
        method: str = "auto",
        views: ViewsLike | None = None,
        max_iter: int = 3,
        gauss_newton_steps: int = 2,
        pilot_rows: int | None = None,
        missing: str = "raise",
        weights: str = "counts",
        sample_dim: str = "sample",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.views = views
        self.max_iter = max_iter
        self.gauss_newton_steps = gauss_newton_steps
        self.pilot_rows = pilot_rows
        self.missing = missing
        self.weights = weights
        self.sample_dim = sample_dim
        self.random_state = random_state

    @property
    def method_(self) -> str:
        """The method that was used."""
        self.require_fitted()
        return str(self.diagnostics_["method"])

    inverse_transform = inverse_transform

    def set_fitted_attributes(self, solution: IndependentComponents) -> None:
        """Set the attributes that users read."""
        self.n_iter_ = len(self.diagnostics_.get("turns", ()))
        self.mixing_ = solution.mixing
        self.components_ = solution.unmixing.T
        self.mean_ = solution.mean
        self.whitening_ = solution.whitening.T
        self.kurtosis_ = solution.kurtosis
