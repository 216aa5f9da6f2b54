"""Initialisations that compete in a pilot sample by the likelihood that EM iterations reach."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bigtensor.models.contract.script import Step
from bigtensor.models.gaussian.em_iterations import SharedCovarianceEm
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian.sample_iterations import FIRST_ITERATIONS, SampleIterations
from bigtensor.models.gaussian_mixture.initialisations import PilotRows
from bigtensor.models.gaussian_mixture.settings import GaussianSettings

_Components = TypeVar("_Components")


@dataclass(frozen=True, eq=False)
class End(Generic[_Components]):
    """Components after EM iterations in the sample.

    Attributes
    ----------
    name : str
        Name of the initialisation.
    components : GaussianComponents or OwnCovarianceComponents
        The mixture.
    log_likelihood : float
        Mean log-likelihood of a row of the sample, in nats. It is penalised after EM iterations if
        every component has its own covariance.
    """

    name: str
    components: _Components
    log_likelihood: float


def competition_facts(best: End[Any], ends: Iterable[End[Any]]) -> dict[str, Any]:
    """Return the best initialisation and its alternatives as diagnostics."""
    return {
        "initialisation": best.name,
        "log_likelihood": {end.name: end.log_likelihood for end in ends},
    }


def shared_components(
    initialisations: Mapping[str, GaussianComponents], pilot: PilotRows, settings: GaussianSettings
) -> Generator[Step, None, tuple[GaussianComponents, dict[str, Any]]]:
    """Return the components of the best initialisation, and the facts of the competition.

    The best one has most components that hold enough rows, and among such ones the best likelihood.
    """
    sample = _iterations_in(pilot, settings)
    ends: list[End[GaussianComponents]] = []
    for name, initial in initialisations.items():
        yield Step(f"EM iterations in the sample from {name}")
        if settings.max_iter == 0 or settings.starts_from_all_arrays:
            # iterations in the sample would lose what another fit found in all rows
            _, likelihood = sample.settled(initial, iterations=1)
            ends.append(End(name, initial, likelihood))
        else:
            ends.append(End(name, *sample.distinct(initial)))
    k = settings.n_components
    best = max(ends, key=lambda end: sample.merit(end.components, end.log_likelihood, k))
    merged = initialisations[best.name].n_components - best.components.n_components
    return best.components, {**competition_facts(best, ends), "merged": merged}


def best_clusterings(
    initialisations: Mapping[str, GaussianComponents], pilot: PilotRows, settings: GaussianSettings
) -> dict[str, GaussianComponents]:
    """Return the few initialisations that have the best likelihood after a few EM iterations."""
    sample = _iterations_in(pilot, settings)
    first = {
        name: sample.settled(initial, FIRST_ITERATIONS) for name, initial in initialisations.items()
    }
    names = sorted(first, key=lambda name: -first[name][1])
    return {name: first[name][0] for name in names[: settings.competition.finalists]}


def _iterations_in(pilot: PilotRows, settings: GaussianSettings) -> SampleIterations:
    """Return the EM iterations over the rows of a sample."""
    return SampleIterations(
        SharedCovarianceEm(pilot.tensor.within, settings.spherical),
        pilot.block,
        pilot.total,
        settings.competition.tolerance,
    )
