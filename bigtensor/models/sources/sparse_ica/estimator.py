"""Sparse independent component analysis: rows that are made of few of many sources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.answers.transform import TransformAnswers, inverse_transform
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.parameters import RandomState, ViewsLike
from bigtensor.models.contract.script import FitSteps
from bigtensor.models.sources.sparse_ica.declared_parameters import PARAMETERS
from bigtensor.models.sources.sparse_ica.description import SparseDescription
from bigtensor.models.sources.sparse_ica.planned_passes import (
    planned_preparation,
    planned_refinement,
)
from bigtensor.models.sources.sparse_ica.script import (
    STORED_CLASSES,
    prepare,
    refine,
)
from bigtensor.models.sources.sparse_ica.settings import (
    settings_of,
    without_effect,
)
from bigtensor.models.sources.sparse_ica.solution import SparseComponents


class SparseICA(TransformAnswers):
    r"""Sparse independent component analysis, also called dictionary learning.

    Every row is :math:`x = o + A h + e`, with independent sources h of which most are zero, and
    noise e. There may be more sources than features. Columns of A are found first as terms of the
    fourth cumulant of a pilot sample, :math:`\sum_j \kappa_j a_j^{\otimes 4}` (Anandkumar, Ge and
    Janzamin 2015, sec. 4.3), which needs no initialisation near the solution. Then rows are
    encoded, few sources for each, and the columns follow by least squares: first in the sample,
    then in passes over all rows.

    Sources do not depend on units, shifts or order of the features.

    Parameters
    ----------
    n_components : int, optional
        Number of sources k, which may exceed the number of features, by default the rank of the
        data. Fewer are returned where fewer stand out from Gaussian noise in the fourth cumulant,
        or where the others explain the rows as well.
    views : mapping of str to feature names or columns, optional
        The features to use, in any number of views. By default every feature.
    max_iter : int, default 2
        Largest number of passes that encode all rows and solve for the mixing matrix again, or 0
        for the columns of the fourth cumulant. Gaussian noise does not bias columns of the
        cumulant, but their error is two to five times as large in simulations. They are used, too,
        where rows show further sources than were asked for, which would turn the columns; one
        pass then encodes all rows.
    gauss_newton_steps : int, default 2
        Largest number of Gauss-Newton steps over all rows, if ``max_iter`` is 0 or if there are
        further sources.
    pilot_rows : int, optional
        Rows of the pilot sample in which the sources are found first, by default 1,000 a source,
        and at least 20,000. Beyond 100,000 rows the default is 500 a source, and always at least
        five a feature.
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
        kurtosis, descending. The values of ``transform`` of every source correlate positively with
        the feature that they correlate with most. If ``max_iter`` is 0, the largest entry of every
        column, in standard deviations of the features, is positive instead.
    components_ : (k, d) float64 array
        The same columns as rows: the atoms of the dictionary.
    mean_ : (d,) float64 array
        Row without any source. It is the mean of the rows where sources have the mean zero.
    kurtosis_ : (k,) float64 array
        Excess kurtosis of the codes in the last pass over all rows. The columns are updated after
        it: the kurtosis of the values of ``transform`` differs by up to 3 % in simulations. If
        there are further sources, the columns are not updated, and both are equal. If ``max_iter``
        is 0, the kurtosis is estimated from the fourth cumulant of all rows, without codes: the
        kurtosis of the values of ``transform`` may be twice as large or, if there are further
        sources, a fiftieth.
    activity_ : (k,) float64 array
        Share of the rows in which the code of a source is above the threshold, in the last pass
        over all rows. If the kurtosis is estimated from the cumulant, the share follows from the
        kurtosis of a source that is Gaussian where it is not zero.
    views_ : Views
        The views as they were found in the data.
    n_iter_ : int
        Iterations over all rows that update the columns; 0 where these are columns of the fourth
        cumulant.
    diagnostics_ : dict
        Every decision taken on the way: rank, outlying rows, turns of the columns by the
        passes, ``active`` sources of a typical row, ``noise`` in standard deviations of a feature
        (with the codes below the threshold), ``further_sources`` than the returned ones, the
        number of ``redundant`` columns that were left out, the plan, and a ``verdict``.
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
    >>> from bigtensor import SparseICA, simulate
    >>> data = simulate.ica(40_000, 15, n_features=10, sources="sparse", random_state=1)
    >>> model = SparseICA(15).fit(data)
    >>> model.components_.shape
    (15, 10)
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
    description = SparseDescription()

    mixing_: NDArray[np.float64]
    components_: NDArray[np.float64]
    mean_: NDArray[np.float64]
    kurtosis_: NDArray[np.float64]
    activity_: NDArray[np.float64]
    solution_: SparseComponents

    def __init__(
        self,
        n_components: int | None = None,
        *,
        views: ViewsLike | None = None,
        max_iter: int = 2,
        gauss_newton_steps: int = 2,
        pilot_rows: int | None = None,
        missing: str = "raise",
        weights: str = "counts",
        sample_dim: str = "sample",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.views = views
        self.max_iter = max_iter
        self.gauss_newton_steps = gauss_newton_steps
        self.pilot_rows = pilot_rows
        self.missing = missing
        self.weights = weights
        self.sample_dim = sample_dim
        self.random_state = random_state

    inverse_transform = inverse_transform

    def set_fitted_attributes(self, solution: SparseComponents) -> None:
        """Set the attributes that users read."""
        self.n_iter_ = len(self.diagnostics_.get("turns", ()))
        self.mixing_ = solution.mixing
        self.components_ = solution.mixing.T
        self.mean_ = solution.mean
        self.kurtosis_ = solution.kurtosis
        self.activity_ = solution.activity
