"""The nonparametric multi-view mixture: populations with a density of any shape in every view."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.solution import Outcome
from bigtensor.errors import (
    DataError,
    IdentifiabilityError,
    RefinementWarning,
)
from bigtensor.models.base import (
    DataShape,
    Passes,
    PassSize,
)
from bigtensor.models.kernel_mixture.parameters import check_parameters, settings_of
from bigtensor.models.kernel_mixture.pass_sizes import expected_passes
from bigtensor.models.kernel_mixture.passes import (
    pilot,
    posterior_solution,
    settling_windows,
    spectral_solution,
    warn_unless_settled,
)
from bigtensor.models.kernel_mixture.preparation import Preparation, prepare
from bigtensor.models.kernel_mixture.queries import KernelMixtureQueries
from bigtensor.models.kernel_mixture.refinement import (
    LEAST_WEIGHT,
    clustered_start,
    spectral_start,
)
from bigtensor.models.kernel_mixture.settings import Settings, purpose_seed
from bigtensor.models.kernel_mixture.solution import solution_from_arrays
from bigtensor.models.mixture import LatentMixture
from bigtensor.statistics.row_functions import Responsibilities
from bigtensor.statistics.row_sample import Sample

POLISHING_PASSES = 2
"""Over all rows, from a mixture near the answer: further ones would let it drift."""

MOST_PASSES = 20
"""After a doubtful spectral start, or k-means: these have to travel, until they have settled."""


class KernelMixture(KernelMixtureQueries, LatentMixture):
    """Mixture of components with densities of any shape, independent between views.

    Every row has a hidden label h; given the label, the views are independent, and nothing else is
    assumed of their densities. The spectral start finds the components from moments of kernel
    features in one pass over the data (Song, Anandkumar, Dai and Xie 2014); posterior passes then
    re-estimate weights and densities (Benaglia, Chauveau and Hunter 2009).

    Parameters
    ----------
    n_components : int
        Number of components k.
    views : mapping of str to feature names or columns, optional
        Features that may depend on each other within a component share a view. By default every
        feature is its own view. The spectral start needs three views, the k-means start two.
    views_share_components : bool, default False
        Whether a component has the same density in all views, which then have equally many
        features: repeated measurements, for example.
    start : {"spectral", "kmeans"}, default "spectral"
        Where the posterior passes start.
    posterior_width : float, optional
        Least width of the densities that labels and posterior probabilities come from, in
        standard deviations of the feature (views of one feature). By default these are the
        densities that are reported, whose widths are each component's own.
    posterior_passes : int, optional
        At most this many posterior passes, at least one. By default 2 after a spectral start;
        after a doubtful one, or k-means, up to 20 until the likelihood has settled; from four
        million rows on, these read a million rows spread over the data, and 2 read all.
    decomposition : {"jacobi", "power"}, default "jacobi"
        Joint diagonalisation, or the robust tensor power method with deflation.
    landmarks : {"kmeans", "uniform"}, default "kmeans"
        How the landmarks of the kernel features are chosen from the sample.
    n_landmarks : int, default 100
        Landmarks of every view.
    n_directions : int, optional
        Projected features of every group of views, between k and 3 k; 3 k, or 2 k from k = 20.
    bins : int, default 2048
        Bins of the histograms of one-dimensional views.
    sample_size : int, default 20,000
        Rows of the pilot sample that bandwidths, landmarks and directions come from.
    feature_dtype : {"float32", "float64"}, default "float32"
        What kernel features are computed in; sums are always float64.
    missing : {"raise", "omit"}, default "raise"
        Whether rows with NaN or infinities are an error or are left out and counted.
    sample_dim : str, default "sample"
        Name of the sample dimension of labelled data.
    random_state : int, optional
        Seed of the sample, the clustering and the power method. None stands for 0: the same data
        give the same model.

    Attributes
    ----------
    weights_ : (k,) float64 array
        Mixing weights, descending.
    views_ : Views
        The views as they were found in the data.
    diagnostics_ : dict
        Every decision taken on the way: bandwidths, spectrum and gap, condition numbers, chosen
        candidate, log-likelihoods, the plan and the passes.
    n_features_in_ : int
    feature_names_in_ : array of str
        For labelled data.

    Examples
    --------
    >>> from bigtensor import KernelMixture, simulate
    >>> data = simulate.kernel_mixture(5000, 3, random_state=1)
    >>> model = KernelMixture(3, random_state=0).fit(data)
    >>> labels = model.predict(data)
    >>> labels.dims
    ('sample',)
    """

    def __init__(
        self,
        n_components: int,
        views: Any = None,
        *,
        views_share_components: bool = False,
        start: str = "spectral",
        posterior_width: float | None = None,
        posterior_passes: int | None = None,
        decomposition: str = "jacobi",
        landmarks: str = "kmeans",
        n_landmarks: int = 100,
        n_directions: int | None = None,
        bins: int = 2048,
        sample_size: int = 20_000,
        feature_dtype: str = "float32",
        missing: str = "raise",
        sample_dim: str = "sample",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.views = views
        self.views_share_components = views_share_components
        self.start = start
        self.posterior_width = posterior_width
        self.posterior_passes = posterior_passes
        self.decomposition = decomposition
        self.landmarks = landmarks
        self.n_landmarks = n_landmarks
        self.n_directions = n_directions
        self.bins = bins
        self.sample_size = sample_size
        self.feature_dtype = feature_dtype
        self.missing = missing
        self.sample_dim = sample_dim
        self.random_state = random_state

    def _passes(self, shape: DataShape) -> Passes:
        """Ask for a sample, the moments and the posterior sums, and solve between them."""
        settings = self._settings(shape)
        seed = settings.random_state
        sample = _counted((yield from pilot(shape, self.sample_size, seed)))
        preparation = prepare(sample, settings)
        diagnostics: dict[str, Any] = dict(preparation.diagnostics)
        most = self.posterior_passes or MOST_PASSES
        settle = True
        if preparation.groups is None:
            self._require_clusters(preparation)
            mixture = clustered_start(sample, preparation)
        else:
            spectral = yield from spectral_solution(
                preparation.groups,
                preparation,
                self.decomposition,  # type: ignore[arg-type]
                purpose_seed(seed, "power"),
            )
            diagnostics["spectral"] = {"outcome": spectral.outcome.value, **spectral.diagnostics}
            mixture = spectral_start(spectral, sample, preparation)
            settle = spectral.outcome is not Outcome.CONVERGED
            most = self.posterior_passes or (MOST_PASSES if settle else POLISHING_PASSES)
        windows = settling_windows(shape.rows)
        if settle and windows is not None and self.posterior_passes is None:
            settled, early = yield from posterior_solution(
                mixture, preparation, MOST_PASSES, settle=True, name="settling", rows=windows
            )
            diagnostics["settling_log_likelihood"] = early
            warn_unless_settled(early)
            mixture, settle, most = settled.mixture(), False, POLISHING_PASSES
        solution, likelihoods = yield from posterior_solution(
            mixture, preparation, most, settle=settle
        )
        diagnostics["mean_log_likelihood"] = likelihoods
        if settle and self.posterior_passes is None:
            warn_unless_settled(likelihoods)
        _warn_of_empty(solution.weights)
        return solution.ordered(sample), diagnostics

    def _require_clusters(self, preparation: Preparation) -> None:
        """Raise unless k-means found as many clusters as there are components."""
        found = np.unique(preparation.assignment).size
        if found < self.n_components:
            raise IdentifiabilityError(
                f"the sample has only {found} distinct rows, which support at most {found} "
                f"components, but {self.n_components} were asked for: use fewer components"
            )

    def _expected_passes(self, shape: DataShape) -> list[PassSize]:
        """Return upper bounds of what `_passes` will ask for."""
        windows = None if self.posterior_passes else settling_windows(shape.rows)
        times = {"posterior": (self.posterior_passes or MOST_PASSES, shape.rows)}
        if windows is not None:
            seen = sum(stop - start for start, stop in windows)
            times = {"settling": (MOST_PASSES, seen), "posterior": (POLISHING_PASSES, shape.rows)}
        return expected_passes(shape, self._settings(shape), self.sample_size, times)

    def _adopt(self, solution: Any) -> None:
        """Set the fitted attributes."""
        found, self.diagnostics_ = solution
        self._restore(found.arrays())

    def _settings(self, shape: DataShape) -> Settings:
        """Return what the preparation needs to know, after checking it against the data."""
        return settings_of(self, shape)

    def _check_parameters(self) -> None:
        """Raise a ParameterError for a parameter of this model that is out of range."""
        check_parameters(self)

    def _row_function(self, outputs: tuple[str, ...]) -> Responsibilities:
        """Return the function that answers for every row."""
        return Responsibilities(self._solution.mixture(), outputs)

    def _fitted_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays from which `_restore` makes the fitted model again."""
        return self._solution.arrays()

    def _outcome_in_words(self) -> list[tuple[str, str]]:
        """Return how the fit ended, as names and words."""
        likelihoods = self.diagnostics_["mean_log_likelihood"]
        outcome = self.diagnostics_.get("spectral", {}).get("outcome", "not asked for")
        return [
            ("spectral start", outcome),
            ("log-likelihood", f"{likelihoods[-1]:.4f} nats a row"),
        ]

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Set the fitted attributes, in the same memory layout after a fit as after loading.

        The bits of a sum depend on the layout.
        """
        plain = {name: np.array(array, order="C") for name, array in arrays.items()}
        self._solution = solution_from_arrays(plain, self.views_.features)
        self.weights_ = self._solution.weights
        return self


def _counted(sample: Sample) -> Sample:
    """Leave rows of weight zero out of a sample: they are not part of the data."""
    if sample.weight is None:
        return sample
    counted = sample.weight > 0
    if not counted.any():
        raise DataError(
            f"every sample weight is zero in the {len(counted)} rows of the pilot sample, so that "
            "nothing is left to fit; give some rows a positive weight"
        )
    return replace(
        sample,
        values=sample.values[counted],
        index=sample.index[counted],
        weight=sample.weight[counted],
    )


def _warn_of_empty(weights: NDArray[np.float64]) -> None:
    """Say how many components hold next to no rows."""
    empty = int(np.count_nonzero(weights < 2 * LEAST_WEIGHT / len(weights)))
    if empty:
        warnings.warn(
            f"{empty} of {len(weights)} components hold next to no rows; use "
            f"n_components={len(weights) - empty} or fewer",
            RefinementWarning,
            stacklevel=4,
        )
