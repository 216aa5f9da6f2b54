"""Division of a population by the tail of one feature: what is summed, and what follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.merging.relative_levels import words_of
from bigtensor.errors import DataError, ViewError
from bigtensor.models.answers.populations import Populations
from bigtensor.models.answers.suggested_names import suggested_names
from bigtensor.models.contract.script import SizedScript, Step
from bigtensor.models.kernel_mixture.refinement.divided_fit import divided_fit
from bigtensor.models.kernel_mixture.refinement.tail_candidates import (
    TailCandidate,
    tail_candidates,
)
from bigtensor.models.kernel_mixture.solution import KernelFit
from bigtensor.statistics.base import Pass
from bigtensor.statistics.densities.class_densities import ClassDensities
from bigtensor.statistics.densities.population_histograms import PopulationHistograms

_BINS = 80
"""Bins of a histogram. 50 to 100 bins choose the same feature on gated cells."""

_OUTSIDE = 2e-4
"""Share of the population beyond each end of a histogram. The end bins hold it."""


@dataclass(frozen=True, eq=False)
class UndividedPopulation:
    """One population of a fitted mixture, before it is divided.

    Attributes
    ----------
    fit : KernelFit
        The mixture.
    populations : Populations
        Populations of its components.
    number : int
        Number of the population.
    features : mapping of str to int
        Features that may divide the population, and their places among the grids.
    """

    fit: KernelFit
    populations: Populations
    number: int
    features: dict[str, int]

    @classmethod
    def of_mixture(
        cls, fit: KernelFit, populations: Populations, number: int, feature: str | None = None
    ) -> UndividedPopulation:
        """Take one population of a mixture.

        Parameters
        ----------
        fit : KernelFit
            The mixture.
        populations : Populations
            Populations of its components.
        number : int
            Number of the population.
        feature : str, optional
            The only feature that may divide the population; by default all that can.

        Raises
        ------
        ViewError
            When the feature is no view of its own, or no feature is.
        """
        solution = fit.solution
        names = {solution.slices[name].start: members[0] for name, members in solution.views}
        places = {names[column]: place for place, column in enumerate(solution.grids.columns)}
        if not places:
            raise ViewError(
                "a population is divided by one feature that is a view of its own, and this model "
                "has none; fit it with each marker as a view"
            )
        if feature is not None:
            if feature not in places:
                raise ViewError(
                    f"{feature!r} is no feature that can divide a population, which has to be a "
                    f"view of its own and must not be constant; choose one of {', '.join(places)}"
                )
            places = {feature: places[feature]}
        return cls(fit, populations, number, places)

    def histograms(self, n_groups: int) -> PopulationHistograms:
        """Return the statistic that sums the histograms of the population.

        Parameters
        ----------
        n_groups : int
            Number of groups of rows, such as samples.
        """
        solution = self.fit.solution
        own = self.populations.of_component == self.number
        places = list(self.features.values())
        ends = [
            _range_of(solution.histograms[place][:, own].sum(axis=1), solution.grids.points(place))
            for place in places
        ]
        low, high = np.array(ends, np.float64).T
        classes = ClassDensities(self.fit.mixture(), self.populations.of_component)
        columns = tuple(solution.grids.columns[place] for place in places)
        step = (high - low) / _BINS
        return PopulationHistograms(classes, self.number, columns, low, step, _BINS, n_groups)

    def script(self, n_groups: int) -> SizedScript:
        """Ask for the histograms, and return the divided mixture and the facts of the division.

        Parameters
        ----------
        n_groups : int
            Number of groups of rows, such as samples.

        Raises
        ------
        DataError
            When no feature has a clear tail.
        """
        statistic = self.histograms(n_groups)
        counts: FloatArray = yield histogram_pass(statistic)
        yield Step("compare tails")
        return self._divided(counts, statistic)

    def _divided(
        self, counts: FloatArray, statistic: PopulationHistograms
    ) -> tuple[KernelFit, dict[str, Any]]:
        """Return the mixture with the population divided, and the facts of the division."""
        names = list(self.features)
        candidates = tail_candidates(counts)
        if not candidates or not candidates[0].is_clear:
            raise DataError(self._nothing_found())
        chosen = candidates[0]
        feature = names[chosen.feature]
        place = self.features[feature]
        centres = statistic.low[chosen.feature] + statistic.step[chosen.feature] * (
            np.arange(_BINS) + 0.5
        )
        probability = np.interp(self.fit.solution.grids.points(place), centres, chosen.probability)
        result = divided_fit(self.fit.solution, self.populations, self.number, place, probability)
        rest, rare = self._names(feature, is_upper=chosen.is_upper)
        populations = result.fit.populations
        assert populations is not None
        populations = populations.renamed({result.first: rest, result.second: rare})
        facts = {
            "population": self.populations.shown_names[self.number],
            "parts": [rest, rare],
            "threshold": _threshold(centres, chosen),
            **chosen.facts(feature),
            "candidates": [one.facts(names[one.feature]) for one in candidates],
        }
        return replace(result.fit, populations=populations), facts

    def _names(self, feature: str, *, is_upper: bool) -> tuple[str, str]:
        """Return names of the first and the second part, by the sign or level of the feature."""
        name = (self.populations.names or ("",) * self.populations.count)[self.number]
        features = [member for _, members in self.fit.solution.views for member in members]
        if not name:
            name = suggested_names(self.fit, self.populations.of_component, features).names[
                self.number
            ]
        old = {feature + sign for sign in ("+", "-", "hi", "lo")}
        words = [word for word in words_of(name, features) if word not in old]
        # a population that is positive stays so below its upper tail, and the other way round
        has_sign_of_tail = feature + ("+" if is_upper else "-") in words_of(name, features)
        marks = ("lo", "hi") if has_sign_of_tail else ("-", "+")
        taken = {*self.populations.names} - {name}
        names = [" ".join([*words, feature + mark]) for mark in marks]
        rest, rare = (_free_name(one, taken) for one in (names if is_upper else names[::-1]))
        return rest, rare

    def _nothing_found(self) -> str:
        """Say that there is no clear tail."""
        shown = self.populations.shown_names[self.number]
        names = list(self.features)
        if len(names) == 1:
            subject, remedy = f"{names[0]} has no", "choose another feature, or leave it out"
        else:
            subject, remedy = "no feature has a", "choose another population"
        return (
            f"{subject} clear tail within population {shown}, so that there is nothing to divide "
            f"it by; {remedy}"
        )


def histogram_pass(statistic: PopulationHistograms) -> Pass[FloatArray]:
    """Return the pass over the rows."""
    return Pass("histograms of a population", statistic)


def _free_name(name: str, taken: set[str]) -> str:
    """Return the name, with a number if another population has it."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


def _range_of(counts: FloatArray, points: FloatArray) -> tuple[float, float]:
    """Return the ends of a histogram of the population."""
    share = np.cumsum(counts) / counts.sum()
    low, high = np.searchsorted(share, [_OUTSIDE, 1 - _OUTSIDE])
    half = 0.5 * (points[1] - points[0])
    return float(points[low] - half), float(points[min(high, len(points) - 1)] + half)


def _threshold(centres: FloatArray, tail: TailCandidate) -> float:
    """Return the value at which a row belongs to the tail with probability one half."""
    values, order = tail.probability, 1 if tail.is_upper else -1
    return float(np.interp(0.5, values[::order], centres[::order]))
