"""Kernel mixture in which a population is divided by a function of one feature."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.models.answers.populations import Populations
from bigtensor.models.kernel_mixture.solution import KernelFit, KernelSolution

_NOTHING = 1e-6
"""Share of the second part below which a component stays whole, in parts of the share of all.

Every divided component makes answers slower, and probabilities are float32.
"""


@dataclass(frozen=True, eq=False)
class DividedFit:
    """Fit with one more population.

    Attributes
    ----------
    fit : KernelFit
        Components by descending weight, and populations.
    first, second : int
        Numbers of the two parts.
    """

    fit: KernelFit
    first: int
    second: int


def divided_fit(
    solution: KernelSolution,
    populations: Populations,
    number: int,
    view: int,
    probability: FloatArray,
) -> DividedFit:
    """Divide one population into two.

    Every component of the population becomes two. Weight times density in the feature is multiplied
    by the probability of the second part, and by the rest, so that the density of all rows stays
    what it was and the posterior probabilities of the two parts are products. A probability that
    is a steep step makes weights of the parts equal to shares of labels.

    Parameters
    ----------
    solution : KernelSolution
        Weights and densities of the components.
    populations : Populations
        Populations of the components.
    number : int
        Population that is divided.
    view : int
        Place of the feature among the one-dimensional views.
    probability : (bins + 1,) float64 array
        Probability of the second part at every grid point of the feature.
    """
    # every component keeps a first part, which stands for it in the tree
    second = np.clip(probability, 0.0, 1 - _NOTHING)
    own = np.flatnonzero(populations.of_component == number)
    step = solution.grids.step[view]
    shares = np.asarray(second @ solution.densities[view][:, own] * step, np.float64)
    part = shares * solution.weights[own]
    kept = part > _NOTHING * part.sum()
    own, shares = own[kept], shares[kept]
    divided = _divided_solution(solution, own, shares, view, second)
    weights = solution.weights[own]
    parts = populations.divided(number, own, shares, float(shares @ weights))
    order = divided.descending
    parts = parts.reordered(order)
    places = np.argsort(order)
    return DividedFit(
        KernelFit(divided.ordered(order), parts),
        int(parts.of_component[places[own[0]]]),
        int(parts.of_component[places[-1]]),
    )


def _divided_solution(
    solution: KernelSolution,
    own: NDArray[np.intp],
    shares: FloatArray,
    view: int,
    second: FloatArray,
) -> KernelSolution:
    """Return the mixture with the second parts of some components after all components."""

    def densities_of(densities: FloatArray) -> FloatArray:
        """Divide densities, and scale them so that products with the new weights are kept."""
        both = np.concatenate([densities, densities[:, :, own]], axis=2)
        both[view][:, own] *= (1 - second)[:, None] / (1 - shares)
        both[view][:, densities.shape[2] :] *= second[:, None] / shares
        return both

    k = len(solution.weights)
    weights = np.concatenate([solution.weights, solution.weights[own] * shares])
    weights[own] *= 1 - shares
    histograms = np.concatenate([solution.histograms, solution.histograms[:, :, own]], axis=2)
    histograms[:, :, own] *= 1 - shares
    histograms[:, :, k:] *= shares
    counts = solution.histograms[view][:, own]
    # smoothed densities reach where a component has no rows
    in_second = second[:, None] * np.where(
        second @ counts > 0, counts, _counts_of(solution, view, own)
    )
    histograms[view][:, own] = counts * (1 - second)[:, None]
    histograms[view][:, k:] = in_second
    responsibilities = solution.responsibilities
    if responsibilities is not None:
        responsibilities = np.concatenate(
            [responsibilities, responsibilities[:, own] * shares], axis=1
        )
        responsibilities[:, own] *= 1 - shares
    twice = np.concatenate([np.arange(k), own])
    return replace(
        solution,
        weights=weights,
        histograms=histograms,
        densities=densities_of(solution.densities),
        bandwidths=solution.bandwidths[:, twice],
        posterior_densities=densities_of(solution.posterior_densities),
        embedded=tuple(
            replace(entry, coefficients=entry.coefficients[:, twice], floor=entry.floor[twice])
            for entry in solution.embedded
        ),
        responsibilities=responsibilities,
    )


def _counts_of(solution: KernelSolution, view: int, own: NDArray[np.intp]) -> FloatArray:
    """Return the counts that the smoothed densities of some components stand for."""
    densities = solution.densities[view][:, own]
    total = solution.histograms[view][:, own].sum(axis=0)
    return np.asarray(densities * solution.grids.step[view] * total)
