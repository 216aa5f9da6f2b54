"""Alternative initialisations, of which the likelihood of a sample chooses: k-means, bandwidths."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.models.contract.driver_threads import map_on_threads
from bigtensor.models.contract.script import Step, in_memory
from bigtensor.models.kernel_mixture.groups import projected_views
from bigtensor.models.kernel_mixture.preparation import KernelMixturePreparation
from bigtensor.models.kernel_mixture.settings import KernelMixtureSettings
from bigtensor.models.kernel_mixture.solve import (
    mixture_of_moments,
    posterior_solution,
)
from bigtensor.models.kernel_mixture.stages import LEAST_CANDIDATES, MOST_PASSES, Stage
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.statistics.base import Pass
from bigtensor.statistics.densities.view_densities import MixtureDensities
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.moments.triple_moments import TripleMoments
from bigtensor.statistics.row_sample import Sample

CLUSTERS = "kmeans"
"""The initialisation by the clusters of the pilot sample.

Where views have fewer distinct densities than there are components, such as markers that are only
on or off, moments do not determine the components. Of 3, 4 and 6 groups, each high in a feature of
its own, fits of 300 to 9,000 rows had a mean Rand index (three seeds) of 0.17 to 1.00 without this
initialisation, and of 0.81 to 0.91 (3 standard deviations apart) and 1.00 (8) with it. On 192
simulated mixtures of products of continuous densities it changed means by at most 0.012.
"""

LEAST_GAIN_OF_CLUSTERS = 0.01
"""How much likelier clusters have to end than moments, in nats a row, to be taken.

In the groups above it was 0.07 to 0.9. On 20,000 simulated cells a mixture that was likelier by
0.002 had a Rand index of 0.75, where that of the moments had 0.995.
"""

ALTERNATIVES = (2.0, 1.0, 1.4, 0.5, 3.0)
"""Bandwidths of alternatives relative to the first initialisation.

On twelve sets of a million simulated cells (8, 12 and 15 components) they lose 0.0001 nats a row
against the best of eight, at most 0.0005, and on eleven others as much. Without the last three
they lose 0.002, at most 0.012, on the twelve. That of the same bandwidth has the moments of other
rows, and is left out where the rows are the same. It is not the first because it shares the errors
of the initialisation: on a million simulated blood cells both agreed at a mixture without the
dendritic cells, which are one in a hundred.
"""

RECURS = 2e-4
"""Difference of two log-likelihoods, in nats a row, that counts as none.

With 5e-4, different mixtures were taken for one on 2 of these 23 sets.
"""

FEWEST_ROWS_WITH_BANDWIDTHS = 10_000
"""Rows from which on other bandwidths are tried: of fewer, the likelihood tells little of them."""

TRIAL_ROWS, TRIAL_NBYTES = 250_000, 2**26
"""Largest sample in which initialisations are compared, in rows and in bytes of their features."""

AT_ONCE = 2
"""Initialisations that settle at the same time."""


@dataclass(frozen=True, eq=False)
class Trial:
    """An initialisation after its EM iterations on a sample.

    Attributes
    ----------
    bandwidth : float, optional
        Of the moments, relative to the rule for it. None for clusters of the pilot sample.
    rows : int
        Rows of the moments, or of the pilot sample.
    mixture : MixtureDensities
        Where the iterations ended.
    log_likelihood : float
        Of the sample under the mixture before the last iteration, in nats a row.
    """

    bandwidth: float | None
    rows: int
    mixture: MixtureDensities
    log_likelihood: float

    @property
    def score(self) -> float:
        """The log-likelihood, less the gain that clusters need to be taken."""
        return self.log_likelihood - (LEAST_GAIN_OF_CLUSTERS if self.of_clusters else 0.0)

    @property
    def of_clusters(self) -> bool:
        """True for the initialisation by clusters of the pilot sample."""
        return self.bandwidth is None


def has_alternatives(settings: KernelMixtureSettings) -> bool:
    """Return True if other initialisations are tried beside a doubtful one.

    Parameters
    ----------
    settings : KernelMixtureSettings
        Settings that say whether the initialisation is spectral, and how it goes on.
    """
    return (
        settings.spectral
        and settings.max_iter is None
        # components that are merged only have to cover the data
        and settings.n_populations is None
        # passes with broad densities do not climb the likelihood
        and settings.posterior_width is None
    )


def trial_pass(settings: KernelMixtureSettings) -> Pass[Sample]:
    """Return the pass that draws the rows in which initialisations are compared.

    Parameters
    ----------
    settings : KernelMixtureSettings
        Settings with the shape of the data.
    """
    row_nbytes = len(settings.shape.features) * np.dtype(settings.shape.dtype).itemsize
    rows = max(settings.pilot_rows, min(TRIAL_ROWS, TRIAL_NBYTES // row_nbytes))
    larger = replace(settings, wanted_pilot_rows=rows)
    drawn = pilot_pass(larger, least_candidates=LEAST_CANDIDATES)
    return replace(drawn, name="trial rows")


def best_initialisation(
    first: MixtureDensities,
    of_clusters: MixtureDensities | None,
    preparation: KernelMixturePreparation,
    diagnostics: dict[str, Any],
) -> Generator[Pass[Any] | Step, Any, MixtureDensities]:
    """Compare initialisations in a sample, until the best likelihood recurs.

    Two that end at one likelihood have most likely found the same components.

    Parameters
    ----------
    first : MixtureDensities
        The doubtful initialisation.
    of_clusters : MixtureDensities, optional
        That of the clusters of the pilot sample, if there are enough of them.
    preparation : KernelMixturePreparation
        Its preparation.
    diagnostics : dict
        Holds the rows of its moments. Receives ``initialisations``: bandwidth factor (None for
        clusters), rows and log-likelihood of all, and ``began_with_clusters``.

    Returns
    -------
    MixtureDensities
        The likeliest one, after its EM iterations on the sample.
    """
    settings = preparation.settings
    if of_clusters is None and settings.shape.all_rows < FEWEST_ROWS_WITH_BANDWIDTHS:
        return first
    sample: Sample = yield trial_pass(settings)
    rows = sample.block(preparation.slices)
    of_first = diagnostics["moments"]["rows"]
    factor = diagnostics.get("bandwidth_choice", {}).get("chosen", settings.bandwidth_factor)

    def tried(alternative: float | str | None) -> Trial | None:
        if alternative is None:
            return _settled(first, preparation, rows, factor, of_first)
        if isinstance(alternative, str):
            assert of_clusters is not None
            return _settled(of_clusters, preparation, rows, None, len(preparation.assignment))
        return _alternative(preparation, rows, alternative * factor)

    batches = _batches(
        settings, with_clusters=of_clusters is not None, same_rows=rows.rows == of_first
    )
    trials: list[Trial] = []
    for number, alternatives in enumerate(batches, 1):
        yield Step("comparing initialisations", number, len(batches))
        ended = map_on_threads(tried, alternatives, AT_ONCE)
        trials += [trial for trial in ended if trial is not None]
        best = max(trials, key=lambda trial: trial.score)
        others = (one.log_likelihood for one in trials if one is not best)
        if any(abs(best.log_likelihood - other) < RECURS for other in others):
            break
    diagnostics["initialisations"] = [
        {"bandwidth": trial.bandwidth, "rows": trial.rows, "log_likelihood": trial.log_likelihood}
        for trial in trials
    ]
    diagnostics["began_with_clusters"] = best.of_clusters
    return best.mixture


def began_with_moments(diagnostics: Mapping[str, Any]) -> bool:
    """Return True if EM iterations began with the components of moments, and not with clusters."""
    return "spectral" in diagnostics and not diagnostics.get("began_with_clusters")


def _batches(
    settings: KernelMixtureSettings, *, with_clusters: bool, same_rows: bool
) -> list[tuple[float | str | None, ...]]:
    """Return the initialisations that are tried before likelihoods are compared, batch by batch.

    None stands for the first initialisation, and a number for a bandwidth relative to its.

    Parameters
    ----------
    settings : KernelMixtureSettings
        With the number of rows.
    with_clusters : bool
        There are enough clusters to begin with.
    same_rows : bool
        Moments of the same bandwidth would be the same.
    """
    bandwidths = [one for one in ALTERNATIVES if not (same_rows and one == 1.0)]
    if settings.shape.all_rows < FEWEST_ROWS_WITH_BANDWIDTHS:
        bandwidths = []
    clusters = [CLUSTERS] if with_clusters else []
    begin = (None, *clusters, *bandwidths[:1])
    later = bandwidths[1:]
    return [begin, *(tuple(later[at : at + AT_ONCE]) for at in range(0, len(later), AT_ONCE))]


def _alternative(
    preparation: KernelMixturePreparation, rows: Block, bandwidth: float
) -> Trial | None:
    """Settle an initialisation of another bandwidth; None where the moments make no components."""
    groups, others, _ = projected_views(preparation.features_with_bandwidth(bandwidth))
    prepared = replace(preparation, groups=groups, others=others)
    moments = sum_in_memory(TripleMoments(groups), rows)
    mixture = mixture_of_moments(moments, prepared)
    if mixture is None:
        return None
    return _settled(mixture, prepared, rows, bandwidth, moments.rows)


def _settled(
    mixture: MixtureDensities,
    preparation: KernelMixturePreparation,
    rows: Block,
    bandwidth: float | None,
    rows_of_start: int,
) -> Trial:
    """Return an initialisation after its EM iterations."""
    stage = Stage("trial", MOST_PASSES, settle=True)
    passes = in_memory(posterior_solution(mixture, preparation, stage), rows)
    return Trial(bandwidth, rows_of_start, passes.solution.mixture(), passes.likelihoods[-1])
