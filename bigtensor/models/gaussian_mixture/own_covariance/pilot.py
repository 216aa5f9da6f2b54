"""Components with a covariance each, found in a pilot sample from several initialisations."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.models.contract.script import Step, in_memory
from bigtensor.models.gaussian.em_iterations import EmIterate, em_iterations
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian.sample_iterations import FIRST_ITERATIONS, SAMPLE_ITERATIONS
from bigtensor.models.gaussian_mixture.competition import End, competition_facts
from bigtensor.models.gaussian_mixture.component_choice import (
    log_densities,
    log_joint_densities,
)
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.own_covariance.em import OwnCovarianceEm
from bigtensor.models.gaussian_mixture.own_covariance.initialisations import (
    LabelMoments,
    cluster_labels,
    components_of_moments,
    frame_of,
    nearest_components,
    with_own_covariances,
)
from bigtensor.models.gaussian_mixture.regularisation import (
    CANDIDATES,
    ENOUGH_ROWS_A_PARAMETER,
    FOLDS,
    Regularisation,
    Strength,
    candidates_for,
    validated_regularisation,
)
from bigtensor.models.gaussian_mixture.sample_rows import SampleRows
from bigtensor.models.gaussian_mixture.settings import GaussianSettings
from bigtensor.statistics.gaussian.own_covariance_densities import Frame
from bigtensor.statistics.gaussian.own_covariance_sums import OwnCovarianceSums
from bigtensor.statistics.gaussian.quadratic_features import QuadraticFeatures
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.row_copies import random_order
from bigtensor.statistics.within_reach import Reach

COMPARISON_TOLERANCE = 1e-3
"""Gain of a row, in nats, below which iterations of a compared regularisation end.

In 22 of 23 fits of 17 tables the chosen value was that of a tolerance of 1e-5, with which a fit
takes up to 1.8 times as long.
"""

LEAST_FIRST_ROWS = 10_000
"""Fewest rows of a sample that the first iterations of all initialisations read.

More are read for components with more parameters, one row for each. On 60,000 simulated rows of 50
features, the fit is that of first iterations over all rows. On 15,000 rows of the KEEL table letter
with 26 components, other rows have -20.52 nats in place of -20.57.
"""

_End: TypeAlias = End[OwnCovarianceComponents]


def pilot_components(
    sample: SampleRows,
    reach: Reach,
    settings: GaussianSettings,
    shared: Mapping[str, GaussianComponents] = MappingProxyType({}),
) -> Generator[Step, None, tuple[OwnCovarianceComponents, dict[str, Any]]]:
    """Return the components of the best initialisation, and the facts of the competition.

    Parameters
    ----------
    sample : SampleRows
        Rows of the pilot sample.
    reach : Reach
        The rows that count.
    settings : GaussianSettings
        Resolved parameters of the fit.
    shared : mapping of str to GaussianComponents
        Initialisations with one covariance for all components, by name. Those of labels stand
        alone.
    """
    block, total = sample.block, sample.total
    frame = frame_of(total, settings.covariance_type, settings.n_components)
    least = Strength(CANDIDATES[0]) if settings.strength is None else settings.strength
    yield Step("initialising components in the sample")
    regularisation = Regularisation.for_features(total.variances, least)
    initial = _initial_components(sample, frame, regularisation, settings, shared)
    yield Step("EM iterations in the sample")
    if settings.max_iter == 0 or settings.starts_from_all_arrays:
        # iterations in the sample would lose what another fit found in all rows
        ends = [End(name, one, _score(one, block)) for name, one in initial.items()]
    else:
        em = OwnCovarianceEm(reach, regularisation)
        ends = _compared(initial, sample, em, settings)
    best = max(ends, key=lambda end: end.log_likelihood)
    facts = {**competition_facts(best, ends), **asdict(least)}
    if chooses_regularisation(settings) and best.name != "given" and sample.n_distinct >= 2 * FOLDS:
        yield Step("choosing the regularisation")
        before, after = (
            _labelled(one, sample, settings) for one in (initial[best.name], best.components)
        )
        starts = _ValidationStarts(before, after)
        chosen, compared = _validated(frame, starts, sample, total.variances, reach, settings)
        facts |= {"regularisations": compared, **asdict(chosen)}
        if chosen != least:
            # covariances that are free to shrink end elsewhere than those that are not, and the
            # best of them may have a component of a few rows
            finalists = _number_of_finalists(ends, sample, settings)
            regularisation = Regularisation.for_features(total.variances, chosen)
            initial = {
                end.name: _regularised(end.components, sample, frame, regularisation, settings)
                for end in ends[:finalists]
            }
            em = OwnCovarianceEm(reach, regularisation)
            ends = _compared(initial, sample, em, settings)
            best = ends[0]
            facts |= competition_facts(best, ends)
    return best.components, facts


def chooses_regularisation(settings: GaussianSettings) -> bool:
    """Return True if held-out rows are to choose the regularisation."""
    numbers = settings.n_components * QuadraticFeatures("full", settings.n_features).width
    return (
        settings.strength is None
        and settings.max_iter > 0
        and settings.covariance_type == "full"
        and settings.shape.all_rows <= ENOUGH_ROWS_A_PARAMETER * numbers
    )


def held_out_gain(
    best: OwnCovarianceComponents,
    regularisations: Sequence[Mapping[str, float]],
    sample: SampleRows,
    settings: GaussianSettings,
) -> float:
    """Return the gain over one component of the likelihood of held-out rows, in nats a row.

    Parameters
    ----------
    best : OwnCovarianceComponents
        The components.
    regularisations : sequence of dict
        Regularisations of such components that were compared by held-out rows.
    sample : SampleRows
        Rows of the pilot sample.
    settings : GaussianSettings
        Resolved parameters of the fit.
    """
    of_one, variances = replace(settings, n_components=1), sample.total.variances
    rows, weight = best.frame.of_rows(sample.complete.astype(np.float64)), sample.block.weight
    labelled = _LabelledRows.of_rows(rows, np.zeros(len(rows), np.intp), weight, of_one)

    def hold_out(held: NDArray[np.bool_]) -> Callable[[Strength], FloatArray]:
        moments, outside = labelled.without(held, of_one), sample.part(held).block

        def scores(strength: Strength) -> FloatArray:
            # one covariance is its own mean, to which shrinkage would draw it
            unshrunk = Regularisation.for_features(variances, replace(strength, shrinkage=0.0))
            one = components_of_moments(moments, best.frame, unshrunk, of_one)
            return log_densities(one, outside)

        return scores

    candidates = candidates_for(settings.n_features, 1, sample.n_distinct)
    _, for_one = validated_regularisation(
        sample.distinct, settings.random_state, hold_out, weight, candidates
    )
    level, level_of_one = (
        max(end["held_out"] for end in ends) for ends in (regularisations, for_one)
    )
    return level - level_of_one


def _initial_components(
    sample: SampleRows,
    frame: Frame,
    regularisation: Regularisation,
    settings: GaussianSettings,
    shared: Mapping[str, GaussianComponents],
) -> dict[str, OwnCovarianceComponents]:
    """Return the initialisations that compete, by name."""
    initial = {
        name: with_own_covariances(components, frame, settings)
        for name, components in shared.items()
    }
    arrays = settings.initial
    if settings.shape.groups:
        return initial
    if arrays is not None and arrays.means is not None:
        nearest = nearest_components(arrays.means, sample, frame, regularisation, settings)
        return {"given": arrays.in_place_of(nearest)}
    if settings.init == "moments":
        return initial
    rows = frame.of_rows(sample.complete.astype(np.float64))
    for name, labels in cluster_labels(sample, frame, settings).items():
        moments = LabelMoments.of_rows(rows, labels, sample.block.weight, settings)
        start = components_of_moments(moments, frame, regularisation, settings)
        initial[name] = start if arrays is None else arrays.in_place_of(start)
    return initial


def _regularised(
    components: OwnCovarianceComponents,
    sample: SampleRows,
    frame: Frame,
    regularisation: Regularisation,
    settings: GaussianSettings,
) -> OwnCovarianceComponents:
    """Return the components of the rows of each, with another regularisation."""
    moments = _labelled(components, sample, settings).moments
    anew = components_of_moments(moments, frame, regularisation, settings)
    return replace(anew, names=components.names)


def _compared(
    initial: Mapping[str, OwnCovarianceComponents],
    sample: SampleRows,
    em: OwnCovarianceEm,
    settings: GaussianSettings,
) -> list[_End]:
    """Return initialisations after EM iterations, the best one first.

    The best few go on to convergence, and all where rows are few.
    """
    first = [End(name, components, -np.inf) for name, components in initial.items()]
    finalists = _number_of_finalists(first, sample, settings)
    block = sample.block if len(first) <= finalists else _first_rows(sample, settings)
    tolerance = settings.competition.tolerance
    ends = _by_likelihood(_improved(first, block, em, FIRST_ITERATIONS, tolerance))
    best, others = ends[:finalists], ends[finalists:]
    return _by_likelihood(_improved(best, sample.block, em, SAMPLE_ITERATIONS, tolerance)) + others


def _number_of_finalists(
    ends: Sequence[_End], sample: SampleRows, settings: GaussianSettings
) -> int:
    """Return the number of initialisations that go on to convergence."""
    competition = settings.competition
    return len(ends) if sample.block.rows <= competition.few_rows else competition.finalists


def _first_rows(sample: SampleRows, settings: GaussianSettings) -> Block:
    """Return the rows of the sample that the first iterations of all initialisations read."""
    width = QuadraticFeatures(settings.covariance_type, settings.n_features).width
    rows = max(LEAST_FIRST_ROWS, settings.n_components * width)
    # without regularisation a component may collapse in fewer rows
    if rows >= sample.n_distinct or settings.is_unregularised:
        return sample.block
    places = random_order(sample.distinct, settings.random_state)[sample.distinct]
    return sample.part(places < rows).block


def _by_likelihood(ends: list[_End]) -> list[_End]:
    """Return the ends with the largest likelihood first."""
    return sorted(ends, key=lambda end: -end.log_likelihood)


def _improved(
    ends: Sequence[_End],
    block: Block,
    em: OwnCovarianceEm,
    iterations: int,
    tolerance: float,
) -> list[_End]:
    """Return components after further EM iterations.

    Without regularisation a component may collapse. Such ends are left out.

    Raises
    ------
    ParameterError
        When a component collapses in all of them.
    """
    improved: list[_End] = []
    collapse: ParameterError | None = None
    for end in ends:
        around = replace(em, regularisation=em.regularisation.around(end.components))
        script = em_iterations(
            EmIterate(end.components), around, max_iter=iterations, tolerance=tolerance
        )
        try:
            ended = in_memory(script, block)
        except ParameterError as error:
            collapse = error
            continue
        improved.append(End(end.name, ended.state.components, ended.measures[-1]))
    if collapse is not None and not improved:
        raise collapse
    return improved


@dataclass(frozen=True, eq=False)
class _LabelledRows:
    """Rows of the sample with the component that is most probably theirs.

    Attributes
    ----------
    rows : (n, d) float64 array
        Complete rows in the frame.
    labels : (n,) integer array
        Numbers of the components.
    weight : (n,) float64 array, optional
        Weights of the rows.
    moments : LabelMoments
        Sums over all rows, by label.
    """

    rows: FloatArray
    labels: NDArray[np.intp]
    weight: FloatArray | None
    moments: LabelMoments

    @classmethod
    def of_rows(
        cls,
        rows: FloatArray,
        labels: NDArray[np.intp],
        weight: FloatArray | None,
        settings: GaussianSettings,
    ) -> _LabelledRows:
        """Return labelled rows with their sums."""
        return cls(rows, labels, weight, LabelMoments.of_rows(rows, labels, weight, settings))

    def without(self, held: NDArray[np.bool_], settings: GaussianSettings) -> LabelMoments:
        """Return the sums over the rows that are not held out."""
        weight = None if self.weight is None else self.weight[: len(held)][held]
        part = LabelMoments.of_rows(self.rows[held], self.labels[held], weight, settings)
        return self.moments.without(part, self.rows[~held])


@dataclass(frozen=True, eq=False)
class _ValidationStarts:
    """Labels that iterations without held-out rows start from.

    Attributes
    ----------
    initialisation : _LabelledRows
        Labels of the initialisation, for covariances with shrinkage. Iterations without it may
        have left the clusters for components of a few rows.
    end : _LabelledRows
        Labels where its iterations ended, for the others.
    """

    initialisation: _LabelledRows
    end: _LabelledRows


def _labelled(
    components: OwnCovarianceComponents, sample: SampleRows, settings: GaussianSettings
) -> _LabelledRows:
    """Return the rows of the sample with their most probable components."""
    labels = log_joint_densities(components, sample.block).argmax(axis=1)
    rows = components.frame.of_rows(sample.complete.astype(np.float64))
    return _LabelledRows.of_rows(rows, labels, sample.block.weight, settings)


def _validated(
    frame: Frame,
    starts: _ValidationStarts,
    sample: SampleRows,
    variances: FloatArray,
    reach: Reach,
    settings: GaussianSettings,
) -> tuple[Strength, list[dict[str, float]]]:
    """Return the regularisation that held-out rows prefer."""

    def hold_out(held: NDArray[np.bool_]) -> Callable[[Strength], FloatArray]:
        inside, outside = sample.part(~held).block, sample.part(held).block
        with_shrinkage = starts.initialisation.without(held, settings)
        others = starts.end.without(held, settings)

        def scores(strength: Strength) -> FloatArray:
            regularisation = Regularisation.for_features(variances, strength)
            moments = with_shrinkage if strength.shrinkage else others
            start = components_of_moments(moments, frame, regularisation, settings)
            em = OwnCovarianceEm(reach, regularisation)
            first = [End("", start, -np.inf)]
            (end,) = _improved(first, inside, em, FIRST_ITERATIONS, COMPARISON_TOLERANCE)
            return log_densities(end.components, outside)

        return scores

    candidates = candidates_for(settings.n_features, settings.n_components, sample.n_distinct)
    return validated_regularisation(
        sample.distinct, settings.random_state, hold_out, sample.block.weight, candidates
    )


def _score(components: OwnCovarianceComponents, block: Block) -> float:
    """Return the mean log-likelihood of the rows, in nats."""
    sums = sum_in_memory(OwnCovarianceSums(components.mixture()), block)
    return float(sums.log_likelihood / max(sums.weight, np.finfo(np.float64).tiny))
