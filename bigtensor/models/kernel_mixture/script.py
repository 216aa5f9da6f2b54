"""Script of a kernel mixture's fit: the order of its passes, their rows, and when they end."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.merge_tree import MergeTree
from bigtensor.decomposition.solution import MultiviewMixture, Outcome
from bigtensor.errors import DataError, IdentifiabilityError, Setting
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels import GaussianKernel, LaplaceKernel
from bigtensor.features.nystroem import Nystroem
from bigtensor.features.plain_maps import OneHot
from bigtensor.models.data_shape import DataShape
from bigtensor.models.kernel_mixture.bandwidth_choice import with_chosen_bandwidth
from bigtensor.models.kernel_mixture.component_choice import (
    with_counted_components,
    with_populations_if_dependent,
)
from bigtensor.models.kernel_mixture.constant_features import (
    LeftOut,
    described,
    varying_columns,
    without_constant_features,
)
from bigtensor.models.kernel_mixture.embedded_view import EmbeddedView
from bigtensor.models.kernel_mixture.groups import Groups, OtherView, projected_views
from bigtensor.models.kernel_mixture.held_out import score_pilot
from bigtensor.models.kernel_mixture.histogram_densities import Grids
from bigtensor.models.kernel_mixture.population_choice import find_populations
from bigtensor.models.kernel_mixture.preparation import Preparation, prepare_from
from bigtensor.models.kernel_mixture.settings import Settings
from bigtensor.models.kernel_mixture.solution import KernelFit, KernelSolution
from bigtensor.models.kernel_mixture.solve import (
    Refinement,
    Stage,
    clustered_start,
    decomposed,
    moments_solution,
    posterior_solution,
    spectral_start,
)
from bigtensor.models.kernel_mixture.verdict import (
    Evidence,
    Verdict,
    form_verdict,
    moments_verdict,
)
from bigtensor.models.populations import Populations
from bigtensor.models.script import Estimate, Script, Solved, Step
from bigtensor.statistics.base import Narrowing, Pass
from bigtensor.statistics.co_posterior import CoPosteriorSumsResult
from bigtensor.statistics.densities import EmbeddedDensities, MixtureDensities
from bigtensor.statistics.posterior_sums import PosteriorSums
from bigtensor.statistics.row_sample import RowSample, Sample
from bigtensor.statistics.tabulated_densities import TabulatedDensities
from bigtensor.statistics.triple_moments import TripleMoments, TripleMomentsResult
from bigtensor.statistics.windows import sample_windows

STORED_CLASSES = (
    *(KernelFit, KernelSolution, EmbeddedView, Populations, MergeTree, Preparation, Settings),
    *(Grids, GroupMap, OtherView, Nystroem, OneHot, GaussianKernel, LaplaceKernel),
    *(TripleMoments, PosteriorSums, MixtureDensities, TabulatedDensities, EmbeddedDensities),
)
"""Dataclasses that a saved kernel mixture, prepared or fitted, is made of."""


POLISHING_PASSES = 2
"""Over all rows, from a mixture near the answer: further ones would let it drift."""

POLISHING_PASSES_OF_MANY, MANY_ROWS = 4, 500_000
"""From so many rows on, a spectral start is coarse beside what the rows can tell.

On 10 sets of a million rows with overlapping components the error was 1.23 times that of a kernel
density that knows the labels after two passes, and 1.13 times after four.
"""

MOST_PASSES = 20
"""After a doubtful spectral start, or k-means: these have to travel, until they have settled."""

POPULATION_PASSES = 2
"""For components that are merged afterwards: they only have to cover the data."""

MOST_ROUNDS = 1_000_000
"""More than anybody accumulates."""

SETTLING_ROWS = 1_000_000
"""Rows of the moments and of the passes that settle a mixture, where data have 4 times as many.

On 11 sets of five million rows (3 to 8 components, Fisher ratios 1 to 4), moments of a million
rows, four passes over the same rows and two over all rows left an error of 1.046 times the error of
a kernel density that knows the labels. Moments of all rows and four passes over all rows left 1.071
and took 1.9 times the processor time. With 200,000 rows the last singular values of four
overlapping components were 43 to 54 times their noise. Where they are noise, as in simulated
cytometry of ten million rows, the start is doubtful with all rows too, and the passes settle it.
"""

SETTLING_WINDOWS = 32
"""Ranges that these rows lie in, about as long as the chunks of a store."""

PILOT_ROWS_SEEN = 1_000_000
"""Rows that a pilot sample is drawn from at least; of fewer rows all are looked at.

A window holds rows of one file and one time. The F1 of 600,000 activated T cells of 12 files in
10, 15 and 20 populations was 0.57, 0.56 and 0.61 with a sample of 262,144 rows in 64 windows (three
seeds), and 0.58, 0.63 and 0.64 with one of all rows (five seeds). Reading a row takes less than a
tenth of a microsecond.
"""

Rival = tuple[float, int]
"""Bandwidth of a start relative to the first, and the multiple of the windows it reads."""

RIVALS_ON_WINDOWS: tuple[Rival, ...] = ((1.0, 4), (2.0, 1))
"""Where the last singular values of the moments are noise, the start is a draw.

On simulated cytometry of 1e8 rows the first start ended at a log-likelihood of -7.760 and an
accuracy of 0.991, the others at -7.740 and 0.999. With 12 populations four times as many rows led
from 0.973 to 0.982.
"""

RIVALS_ON_ALL_ROWS: tuple[Rival, ...] = ((2.0, 1), (0.5, 1))
"""The same where moments are summed over all rows.

Of 6 sets of 100,000 simulated cells one was mended by each of the two bandwidths: mean F1 rose from
0.868 to 0.996 and from 0.861 to 0.974. The likelihood told which.
"""

FEWEST_ROWS_WITH_RIVALS = 10_000
"""Rows from which on other starts are tried: of fewer, the likelihood tells little."""


def prepare(settings: Settings, shape: DataShape) -> Script:
    """Ask for a sample, and fix everything that the sums depend on.

    Constant features are left out of the sample, the settings, the preparation, and all later
    passes.
    """
    sample = counted((yield pilot_pass(shape, settings.sample_size, settings.random_state)))
    varying = varying_columns(sample)
    left_out: LeftOut = {}
    if not varying.all():
        sample, settings, left_out = without_constant_features(sample, settings, varying)
        yield Narrowing(tuple(np.flatnonzero(varying).tolist()))
    if settings.counted:
        yield Step("counting the components")
    settings, counted_in_sample = with_counted_components(sample, settings)
    if settings.if_dependent is not None:
        yield Step("measuring dependence within components")
    settings, dependence = with_populations_if_dependent(sample, settings)
    windows = moments_windows(settings, shape.rows)
    yield Step("preparing the features")
    preparation = yield from with_chosen_bandwidth(prepare_from(sample, settings), windows)
    if counted_in_sample:
        preparation.diagnostics["component_count"] = counted_in_sample
    if dependence is not None:
        preparation.diagnostics["dependence_within_components"] = dependence
    if left_out:
        preparation.diagnostics["constant_features"] = left_out
        preparation.diagnostics["notes"].append(
            f"{described(left_out, len(sample.values))}, and left out of the fit"
        )
    return preparation


def refine(preparation: Preparation) -> Script:
    """Ask for the moments and the posterior sums, and solve between them.

    Without rows of a sample, in rounds, posterior passes go on for as long as there are sums.
    """
    settings, diagnostics = preparation.settings, dict(preparation.diagnostics)
    mixture, doubtful = yield from _initialisation(preparation, diagnostics)
    in_rounds = preparation.pilot is None
    stages = (
        [rounds_stage(settings)] if in_rounds else posterior_stages(settings, doubtful=doubtful)
    )
    co_posterior: CoPosteriorSumsResult | None = None
    for stage in stages:
        conclude = partial(
            _concluded, preparation=preparation, diagnostics=diagnostics, stage=stage
        )
        passes = yield from posterior_solution(mixture, preparation, stage, conclude)
        co_posterior = passes.sums.co_posterior or co_posterior
        if doubtful and stage.settle and preparation.groups:
            passes = yield from best_of_rivals(passes, preparation, stage, diagnostics, conclude)
        mixture = passes.solution.mixture()
        key = "mean" if stage.name == "posterior" else stage.name
        diagnostics[f"{key}_log_likelihood"] = passes.likelihoods
    if settings.n_populations is not None:
        yield Step("merging components into populations")
    return conclude(passes, co_posterior)


def _concluded(
    passes: Refinement,
    co_posterior: CoPosteriorSumsResult | None = None,
    *,
    preparation: Preparation,
    diagnostics: dict[str, Any],
    stage: Stage,
) -> Solved:
    """Return the solution after some posterior passes, with its populations and its verdict.

    Parameters
    ----------
    passes : Refinement
    co_posterior : CoPosteriorSumsResult, optional
        What the components share; of the last of these passes unless it is given.
    preparation : Preparation
    diagnostics : dict
    stage : Stage
        The stage that the passes belong to.
    """
    settings, sample = preparation.settings, preparation.pilot
    diagnostics = {**diagnostics, "mean_log_likelihood": passes.likelihoods}
    co_posterior = co_posterior or passes.sums.co_posterior
    found = finished(passes.solution, co_posterior, preparation, diagnostics)
    order = passes.solution.descending
    scores = None
    if sample is not None:
        of_component = None if found.populations is None else found.populations.of_component
        scores = score_pilot(
            sample,
            passes,
            preparation,
            contained=stage.windows is None,
            of_component=None if of_component is None else of_component[np.argsort(order)],
            random_state=settings.random_state,
        )
    evidence = Evidence(
        weights=found.solution.weights,
        order=order,
        rows=settings.rows if stage.windows else passes.sums.rows,
        scores=scores,
        labelled=None if co_posterior is None else co_posterior.assigned.sum(axis=0),
        population_weights=None if found.populations is None else found.populations.weights,
        # a number of passes that was asked for is not questioned, and components that are merged
        # only have to cover the data
        judge_settling=settings.posterior_passes is None and settings.n_populations is None,
        passes=len(passes.likelihoods),
        spectral=diagnostics.get("spectral"),
    )
    return judged(found, form_verdict(evidence), diagnostics)


def judged(found: KernelFit, verdict: Verdict, diagnostics: dict[str, Any]) -> Solved:
    """Return a solution with the verdict on it, and warn of a fault."""
    verdict.warn(stacklevel=6)
    return Solved(found, {**diagnostics, "verdict": verdict.as_diagnostics()})


def _initialisation(
    preparation: Preparation, diagnostics: dict[str, Any]
) -> Generator[Pass[Any] | Estimate | Step, Any, tuple[MixtureDensities, bool]]:
    """Return the mixture to start from, and whether it is a doubtful one."""
    if preparation.start is not None:
        return preparation.start.mixture(), True
    if preparation.groups is None:
        return clustered_components(preparation).mixture(), True
    settings = preparation.settings
    # in rounds, all sites sum all their rows
    windows = None if preparation.pilot is None else moments_windows(settings, settings.rows)
    moments = yield moments_pass(preparation.groups, windows)
    yield Step("decomposing the moments")
    spectral = spectral_components(moments, preparation, diagnostics)
    diagnostics["moments"] = {
        "rows": moments.rows,
        "reason": moments_reason(settings, windowed=windows is not None),
    }
    mixture = spectral_start(spectral, preparation)
    yield Estimate(partial(_concluded_from_moments, mixture, moments, preparation, diagnostics))
    return mixture, spectral.outcome is not Outcome.CONVERGED


def _concluded_from_moments(
    mixture: MixtureDensities,
    moments: TripleMomentsResult,
    preparation: Preparation,
    diagnostics: dict[str, Any],
) -> Solved:
    """Return the solution of the moments alone."""
    solution = moments_solution(mixture, moments.weight, preparation)
    found = KernelFit(solution.ordered(solution.descending), None)
    verdict = moments_verdict(diagnostics["spectral"], len(solution.weights))
    return judged(found, verdict, {**diagnostics, "mean_log_likelihood": []})


def without_rows(preparation: Preparation) -> Preparation:
    """Return the preparation of a fit in rounds: the initial components, and no rows."""
    start = None
    if preparation.groups is None:
        start = clustered_components(preparation)
        start = start.ordered(start.descending)
    return replace(
        preparation,
        assignment=np.empty(0, np.intp),
        clustering_weight=None,
        pilot=None,
        start=start,
    )


def finished(
    solution: KernelSolution,
    co_posterior: CoPosteriorSumsResult | None,
    preparation: Preparation,
    diagnostics: dict[str, Any],
) -> KernelFit:
    """Put the components in order, and merge them where populations were asked for.

    Parameters
    ----------
    solution : KernelSolution
    co_posterior : CoPosteriorSumsResult, optional
        What the components share.
    preparation : Preparation
    diagnostics : dict
        Receives the number of populations and the record of their choice.
    """
    order = solution.descending
    ordered = solution.ordered(order, preparation.pilot)
    populations = None
    if preparation.settings.n_populations is not None and co_posterior is not None:
        populations = find_populations(
            ordered, co_posterior.ordered(order), preparation, diagnostics
        )
        diagnostics["n_populations"] = len(populations.weights)
    return KernelFit(ordered, populations)


def clustered_components(preparation: Preparation) -> KernelSolution:
    """Return the components that the clusters of the sample make, if there are enough."""
    assert preparation.pilot is not None
    _require_clusters(preparation)
    return clustered_start(preparation.pilot, preparation)


def spectral_components(
    moments: TripleMomentsResult, preparation: Preparation, diagnostics: dict[str, Any]
) -> MultiviewMixture:
    """Decompose the moments and record diagnostics."""
    spectral = decomposed(moments, preparation)
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
    return sample.take(positive)


def _require_clusters(preparation: Preparation) -> None:
    """Raise unless k-means found as many clusters as there are components."""
    found, wanted = np.unique(preparation.assignment).size, preparation.n_components
    if found < wanted:
        raise IdentifiabilityError(
            f"the sample has only {found} distinct rows, which support at most {found} "
            f"components, but {wanted} were asked for: use fewer components"
        )


def rivals_of(settings: Settings, rows: int) -> tuple[Rival, ...]:
    """Return the starts that are tried beside a doubtful one.

    Parameters
    ----------
    settings : Settings
    rows : int
        Of the data.
    """
    if (
        rows < FEWEST_ROWS_WITH_RIVALS
        or not settings.spectral
        or settings.posterior_passes is not None
    ):
        return ()
    on_all = moments_windows(settings, rows) is None
    return RIVALS_ON_ALL_ROWS if on_all else RIVALS_ON_WINDOWS


def best_of_rivals(
    first: Refinement,
    preparation: Preparation,
    stage: Stage,
    diagnostics: dict[str, Any],
    conclude: Callable[[Refinement], Solved],
) -> Generator[Pass[Any] | Estimate | Step, Any, Refinement]:
    """Settle starts of other bandwidths too, and return the passes of the best likelihood.

    Parameters
    ----------
    first : Refinement
        Passes that settled the first start.
    preparation : Preparation
    stage : Stage
        Over whose rows the mixtures settle.
    diagnostics : dict
        Receives ``starts``: bandwidth factor, rows of the moments and last log-likelihood of all.
    conclude : callable
        As for `posterior_solution`.
    """
    best, settings = first, preparation.settings
    factor = diagnostics.get("bandwidth_choice", {}).get("chosen", settings.bandwidth_factor)
    rows = diagnostics["moments"]["rows"]
    starts = [{"bandwidth": factor, "rows": rows, "log_likelihood": first.likelihoods[-1]}]
    on_all = moments_windows(settings, settings.rows) is None
    for rival, multiple in rivals_of(settings, settings.rows):
        prepared = _with_bandwidth(preparation, rival * factor)
        assert prepared.groups is not None
        suffix = f", start {len(starts) + 1}"
        windows = None if on_all else settling_windows(settings.rows, multiple)
        moments = yield replace(moments_pass(prepared.groups, windows), name="moments" + suffix)
        yield Step("decomposing the moments" + suffix)
        try:
            spectral = decomposed(moments, prepared)
        except IdentifiabilityError:
            continue
        passes = yield from posterior_solution(
            spectral_start(spectral, prepared),
            prepared,
            replace(stage, name=stage.name + suffix, co_posterior=False),
            conclude,
        )
        starts.append(
            {
                "bandwidth": rival * factor,
                "rows": moments.rows,
                "log_likelihood": passes.likelihoods[-1],
            }
        )
        if passes.likelihoods[-1] > best.likelihoods[-1]:
            best = passes
    diagnostics["starts"] = starts
    return best


def _with_bandwidth(preparation: Preparation, factor: float) -> Preparation:
    """Prepare the features of the moments again with another bandwidth."""
    assert preparation.pilot is not None
    rows: NDArray[np.float64] = np.asarray(preparation.pilot.values, np.float64)
    scale = np.array(list(preparation.diagnostics["scales"].values()))
    settings = replace(preparation.settings, bandwidth=factor)
    groups, others = projected_views(rows, scale, settings, {"notes": []})
    return replace(preparation, groups=groups, others=others)


def pilot_pass(shape: DataShape, size: int, random_state: int) -> Pass[Sample]:
    """Return the pass that draws the sample from which everything is prepared."""
    statistic = RowSample(size, len(shape.features), shape.dtype, random_state, shape.has_weight)
    return Pass("pilot", statistic, pilot_windows(shape.rows, size))


def moments_pass(
    groups: Groups, rows: tuple[tuple[int, int], ...] | None = None
) -> Pass[TripleMomentsResult]:
    """Return the pass that a spectral start needs."""
    return Pass("moments", TripleMoments(groups), rows)


def pilot_windows(rows: int, size: int) -> tuple[tuple[int, int], ...] | None:
    """Return the rows that a pilot sample of so many rows is drawn from; None for all."""
    # windows hold at least twice the sample that they are chosen for
    return sample_windows(rows, max(size, PILOT_ROWS_SEEN // 2))


def rounds_stage(settings: Settings) -> Stage:
    """Return the EM iterations of a fit in rounds. Their number is not bounded."""
    return Stage("posterior", MOST_ROUNDS, False, co_posterior=settings.n_populations is not None)


def posterior_stages(settings: Settings, *, doubtful: bool) -> list[Stage]:
    """Return the posterior passes after a start.

    Parameters
    ----------
    settings : Settings
    doubtful : bool
        True if the initialisation did not converge, or is k-means.
    """
    merged, rows = settings.n_populations is not None, settings.rows
    windows = settling_windows(rows)
    if settings.posterior_passes is not None:
        settle = doubtful and settings.posterior_width is None
        return [Stage("posterior", settings.posterior_passes, settle, co_posterior=merged)]
    if merged:
        return [Stage("posterior", POPULATION_PASSES, False, windows, co_posterior=True)]
    polishing = Stage("posterior", POLISHING_PASSES, settle=False)
    if not doubtful:
        if windows is None or moments_windows(settings, rows) is None:
            return [Stage("posterior", _polishing_passes(rows), settle=False)]
        return [Stage("settling", POLISHING_PASSES_OF_MANY, False, windows), polishing]
    # passes with broad densities do not climb the likelihood, so that it cannot end them
    settle = settings.posterior_width is None
    if windows is None:
        return [Stage("posterior", MOST_PASSES, settle)]
    return [Stage("settling", MOST_PASSES, settle, windows), polishing]


def longest_stages(settings: Settings) -> list[Stage]:
    """Return the largest number of EM iterations for any initialisation."""
    sure, doubtful = (posterior_stages(settings, doubtful=one) for one in (False, True))
    most = max(sure[-1].most, doubtful[-1].most)
    return [*doubtful[:-1], replace(doubtful[-1], most=most)]


def _polishing_passes(rows: int) -> int:
    """Return how many passes over all rows follow a start near the answer."""
    return POLISHING_PASSES if rows < MANY_ROWS else POLISHING_PASSES_OF_MANY


def moments_windows(settings: Settings, rows: int) -> tuple[tuple[int, int], ...] | None:
    """Return the rows that the moments of a start are summed over; None for all.

    EM iterations over the same rows and over all rows follow, so that the start needs no more rows
    than leave it near the maximum of the likelihood.
    """
    if settings.moments_rows == "all":
        return None
    if settings.moments_rows == "auto":
        return settling_windows(rows)
    return sample_windows(rows, -(-int(settings.moments_rows) // 2), SETTLING_WINDOWS)


def moments_reason(settings: Settings, *, windowed: bool) -> str:
    """Return why the moments were summed over their rows, for the diagnostics."""
    if settings.moments_rows == "all":
        return Setting("moments_rows", "all")
    if settings.moments_rows != "auto":
        return Setting("moments_rows", settings.moments_rows) + ", in whole windows"
    if windowed:
        return "EM iterations over these rows and over all rows follow"
    return f"all rows, because there are less than {4 * SETTLING_ROWS:,}"


def settling_windows(rows: int, multiple: int = 1) -> tuple[tuple[int, int], ...] | None:
    """Return the rows on which a mixture settles before it is polished on all; None for all.

    Moments may read a multiple of these rows.
    """
    return (
        None
        if rows < 4 * SETTLING_ROWS
        else sample_windows(rows, multiple * SETTLING_ROWS // 2, SETTLING_WINDOWS)
    )
