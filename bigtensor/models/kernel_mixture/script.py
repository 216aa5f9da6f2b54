"""The script of a kernel mixture's fit: what follows what, and when it ends."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.solution import MultiviewMixture, Outcome
from bigtensor.errors import DataError, IdentifiabilityError, RefinementWarning
from bigtensor.models.data_shape import DataShape
from bigtensor.models.kernel_mixture.bandwidth_choice import with_chosen_bandwidth
from bigtensor.models.kernel_mixture.component_choice import with_counted_components
from bigtensor.models.kernel_mixture.passes import (
    has_settled,
    moments_pass,
    pilot,
    posterior_solution,
    spectral_mixture,
)
from bigtensor.models.kernel_mixture.populations import Populations
from bigtensor.models.kernel_mixture.preparation import Preparation, prepare
from bigtensor.models.kernel_mixture.refinement import (
    LEAST_WEIGHT,
    clustered_start,
    spectral_start,
)
from bigtensor.models.kernel_mixture.rival_starts import best_of_rivals
from bigtensor.models.kernel_mixture.settings import Settings, purpose_seed
from bigtensor.models.kernel_mixture.solution import KernelSolution
from bigtensor.models.kernel_mixture.stages import (
    moments_reason,
    moments_windows,
    posterior_stages,
)
from bigtensor.statistics.base import Pass
from bigtensor.statistics.co_posterior import CoPosteriorSumsResult
from bigtensor.statistics.densities import MixtureDensities
from bigtensor.statistics.row_sample import Sample
from bigtensor.statistics.triple_moments import TripleMomentsResult


@dataclass(frozen=True, eq=False)
class KernelFit:
    """What a fit found."""

    solution: KernelSolution
    populations: Populations | None
    diagnostics: dict[str, Any]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything but the diagnostics as named arrays."""
        return fitted_arrays(self.solution, self.populations)


def fitted_arrays(
    solution: KernelSolution, populations: Populations | None
) -> dict[str, NDArray[Any]]:
    """Return what a fitted model is saved as."""
    arrays = solution.arrays()
    if populations is not None:
        arrays |= populations.arrays()
    return arrays


def fit_passes(settings: Settings, shape: DataShape) -> Generator[Pass[Any], Any, KernelFit]:
    """Ask for a sample, the moments and the posterior sums, and solve between them."""
    sample, preparation = yield from preparation_passes(settings, shape)
    diagnostics: dict[str, Any] = dict(preparation.diagnostics)
    windows = moments_windows(settings, shape.rows)
    mixture, doubtful = yield from _start(sample, preparation, settings, diagnostics, windows)
    co_posterior: CoPosteriorSumsResult | None = None
    for stage in posterior_stages(settings, shape.rows, doubtful=doubtful):
        solution, sums, likelihoods = yield from posterior_solution(
            mixture,
            preparation,
            stage.most,
            settle=stage.settle,
            name=stage.name,
            rows=stage.windows,
            co_posterior=stage.co_posterior,
        )
        co_posterior = sums.co_posterior or co_posterior
        if stage.name == "settling" and stage.settle and windows and preparation.groups:
            # the settings know nothing of a number that was counted, nor of rows beside the data
            known = replace(settings, n_components=preparation.n_components, rows=shape.rows)
            solution, likelihoods = yield from best_of_rivals(
                (solution, likelihoods), sample, preparation, known, stage, diagnostics
            )
        mixture = solution.mixture()
        key = "mean" if stage.name == "posterior" else stage.name
        diagnostics[f"{key}_log_likelihood"] = likelihoods
        if stage.settle and settings.posterior_passes is None:
            _warn_unless_settled(likelihoods)
    return finished(solution, co_posterior, settings, diagnostics, sample)


def preparation_passes(
    settings: Settings, shape: DataShape
) -> Generator[Pass[Any], Any, tuple[Sample, Preparation]]:
    """Ask for a sample, and prepare everything that is fixed before the first full pass."""
    sample = counted((yield from pilot(shape, settings.sample_size, settings.random_state)))
    settings, counted_in_sample = with_counted_components(sample, settings)
    preparation = yield from with_chosen_bandwidth(
        sample, prepare(sample, settings), settings, moments_windows(settings, shape.rows)
    )
    if counted_in_sample:
        preparation.diagnostics["component_count"] = counted_in_sample
    return sample, preparation


def finished(
    solution: KernelSolution,
    co_posterior: CoPosteriorSumsResult | None,
    settings: Settings,
    diagnostics: dict[str, Any],
    sample: Sample | None = None,
) -> KernelFit:
    """Put the components in order, and merge them where populations were asked for.

    Parameters
    ----------
    solution : KernelSolution
    co_posterior : CoPosteriorSumsResult, optional
        What the components share.
    settings : Settings
    diagnostics : dict
        Receives the number of populations.
    sample : Sample, optional
        The pilot sample, where its rows are at hand.
    """
    _warn_of_empty(solution.weights)
    order = solution.descending
    populations = None
    if settings.n_populations is not None and co_posterior is not None:
        populations = Populations.merged(
            co_posterior, order, settings.n_populations, settings.merging
        )
        diagnostics["n_populations"] = len(populations.weights)
    return KernelFit(solution.ordered(order, sample), populations, diagnostics)


def _start(
    sample: Sample,
    preparation: Preparation,
    settings: Settings,
    diagnostics: dict[str, Any],
    windows: tuple[tuple[int, int], ...] | None,
) -> Generator[Pass[Any], Any, tuple[MixtureDensities, bool]]:
    """Return the mixture to start from, and whether it is a doubtful one."""
    if preparation.groups is None:
        return clustered_components(sample, preparation).mixture(), True
    moments = yield moments_pass(preparation.groups, windows)
    spectral = spectral_components(moments, preparation, settings, diagnostics)
    diagnostics["moments"] = {
        "rows": moments.rows,
        "reason": moments_reason(settings, windowed=windows is not None),
    }
    doubtful = spectral.outcome is not Outcome.CONVERGED
    return spectral_start(spectral, preparation), doubtful


def clustered_components(sample: Sample, preparation: Preparation) -> KernelSolution:
    """Return the components that the clusters of the sample make, if there are enough."""
    _require_clusters(preparation)
    return clustered_start(sample, preparation)


def spectral_components(
    moments: TripleMomentsResult,
    preparation: Preparation,
    settings: Settings,
    diagnostics: dict[str, Any],
) -> MultiviewMixture:
    """Decompose the moments, and put down how that went."""
    seed = purpose_seed(settings.random_state, "power")
    spectral = spectral_mixture(moments, preparation, settings.decomposition, seed)
    diagnostics["spectral"] = {"outcome": spectral.outcome.value, **spectral.diagnostics}
    return spectral


def counted(sample: Sample) -> Sample:
    """Leave rows of weight zero out of a sample: they are not part of the data.

    Raises
    ------
    DataError
        When nothing is left.
    """
    if sample.weight is None:
        return sample
    positive = sample.weight > 0
    if not positive.any():
        raise DataError(
            f"every sample weight is zero in the {len(positive)} rows of the pilot sample, so that "
            "nothing is left to fit; give some rows a positive weight"
        )
    return replace(
        sample,
        values=sample.values[positive],
        index=sample.index[positive],
        weight=sample.weight[positive],
    )


def _require_clusters(preparation: Preparation) -> None:
    """Raise unless k-means found as many clusters as there are components."""
    found, wanted = np.unique(preparation.assignment).size, preparation.n_components
    if found < wanted:
        raise IdentifiabilityError(
            f"the sample has only {found} distinct rows, which support at most {found} "
            f"components, but {wanted} were asked for: use fewer components"
        )


def _warn_unless_settled(likelihoods: list[float]) -> None:
    """Say that the passes ended before the likelihood had settled."""
    if not has_settled(likelihoods):
        change = likelihoods[-1] - likelihoods[-2]
        warnings.warn(
            f"the likelihood still changed by {change:.2g} nats a row in the last of "
            f"{len(likelihoods)} passes; compare with another start or number of components, or "
            "give more posterior_passes",
            RefinementWarning,
            stacklevel=5,
        )


def _warn_of_empty(weights: NDArray[np.float64]) -> None:
    """Say how many components hold next to no rows."""
    empty = int(np.count_nonzero(weights < 2 * LEAST_WEIGHT / len(weights)))
    if empty:
        warnings.warn(
            f"{empty} of {len(weights)} components hold next to no rows; use "
            f"n_components={len(weights) - empty} or fewer",
            RefinementWarning,
            stacklevel=5,
        )
