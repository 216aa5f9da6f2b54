"""Division of a population by the tail of one feature: what is summed, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.merging.relative_levels import words_of
from bigtensor.errors import DataError, Message, Setting, ViewError
from bigtensor.models.answers.populations import Populations
from bigtensor.models.answers.suggested_names import suggested_names
from bigtensor.models.contract.script import SizedScript, Step
from bigtensor.models.kernel_mixture.refinement.divided_fit import divided_fit
from bigtensor.models.kernel_mixture.refinement.tail_candidates import (
    RARE,
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

_RAMP = 3.0
"""Grid points over which the division goes from one part to the other.

Log densities are interpolated between grid points. With this width, the parts add up to the
population within 0.4 % at the threshold. A grid has about 2,000 points.
"""

_MOST_OF_A_TAIL = 0.5
"""Share of one sample in the tail above which one sample decides, if its odds are also twice its
odds in the population."""


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

    def script(self, sample_names: Sequence[str]) -> SizedScript:
        """Ask for the histograms, and return the divided mixture and the facts of the division.

        Parameters
        ----------
        sample_names : sequence of str
            Name of every group of rows.

        Raises
        ------
        DataError
            When no feature has a clear tail, or all clear tails are large and none was asked for.
        """
        statistic = self.histograms(len(sample_names))
        counts: FloatArray = yield histogram_pass(statistic)
        yield Step("compare tails")
        candidates = tail_candidates(counts)
        if not candidates or not candidates[0].is_clear:
            raise DataError(self._nothing_found(candidates))
        if len(self.features) > 1 and not candidates[0].is_rare:
            raise DataError(self._nothing_rare(candidates))
        in_samples = counts[:, candidates[0].feature].sum(axis=1)
        fit, facts = self._divided(candidates[0], statistic)
        facts |= _decisive_sample(candidates[0], in_samples, sample_names)
        names = list(self.features)
        facts["candidates"] = [one.facts(names[one.feature]) for one in candidates]
        return fit, facts

    def _divided(
        self, chosen: TailCandidate, statistic: PopulationHistograms
    ) -> tuple[KernelFit, dict[str, Any]]:
        """Return the mixture with the population divided, and the facts of the division."""
        feature = list(self.features)[chosen.feature]
        place, grids = self.features[feature], self.fit.solution.grids
        threshold = _threshold(statistic, chosen)
        # parts that overlap would have weights of densities that hardly differ, and a slight
        # misfit of the tail would then move many rows of the body into it
        outwards = 1 if chosen.is_upper else -1
        distance = (grids.points(place) - threshold) / (_RAMP * grids.step[place])
        result = divided_fit(
            self.fit.solution, self.populations, self.number, place, expit(outwards * distance)
        )
        rest, rare = self._names(feature, is_upper=chosen.is_upper)
        populations = result.fit.populations
        assert populations is not None
        populations = populations.renamed({result.first: rest, result.second: rare})
        facts = {
            "population": self.populations.shown_names[self.number],
            "parts": [rest, rare],
            "threshold": threshold,
            **chosen.facts(feature),
        }
        return replace(result.fit, populations=populations), facts

    def _names(self, feature: str, *, is_upper: bool) -> tuple[str, str]:
        """Return names of the first and the second part, by the sign or level of the feature."""
        name = (self.populations.names or ("",) * self.populations.count)[self.number]
        features = [member for _, members in self.fit.solution.views for member in members]
        if not name:
            name = self._suggested_name(features)
        words = words_of(name, features)
        # a population that is positive stays so below its upper tail, and the other way round
        sign = feature + ("+" if is_upper else "-")
        marks = ("lo", "hi") if sign in words else ("-", "+")
        old = {feature + mark for mark in ("+", "-", "hi", "lo")} - {sign}
        words = [word for word in words if word not in old]
        taken = {*self.populations.names} - {name}
        names = [" ".join([*words, feature + mark]) for mark in marks]
        rest, rare = (_free_name(one, taken) for one in (names if is_upper else names[::-1]))
        return rest, rare

    def _suggested_name(self, features: Sequence[str]) -> str:
        """Return the suggested name of the population among populations before any division."""
        populations = self.populations
        whole = np.arange(populations.count) if populations.whole is None else populations.whole
        suggested = suggested_names(self.fit, whole[populations.of_component], features)
        return suggested.names[int(whole[self.number])]

    def _nothing_found(self, candidates: Sequence[TailCandidate]) -> str:
        """Say that there is no clear tail."""
        shown = self.populations.shown_names[self.number]
        names = list(self.features)
        if len(names) == 1:
            subject, remedy = f"{names[0]} has no", "choose another feature, or leave it out"
        else:
            subject, remedy = "no feature has a", "choose another population"
        shifted = dict.fromkeys(names[one.feature] for one in candidates if one.is_shift)
        shift = ""
        if shifted:
            shift = (
                f" (the whole population differs between samples in {', '.join(shifted)}, as by "
                "a day effect)"
            )
        return (
            f"{subject} clear tail within population {shown}, so that there is nothing to divide "
            f"it by{shift}; {remedy}"
        )

    def _nothing_rare(self, candidates: Sequence[TailCandidate]) -> Message:
        """Say which tails are clear, but no rare cells."""
        shown = self.populations.shown_names[self.number]
        clear = [one for one in candidates if one.is_clear]
        names = list(self.features)
        tails = ", ".join(
            f"{names[one.feature]} {'high' if one.is_upper else 'low'} {one.share:.1%}"
            for one in clear
        )
        return (
            f"no clear tail within population {shown} is rare: all have more than {RARE:.0%} of it "
            f"({tails}); ask for one of them with "
            + Setting("feature", names[clear[0].feature])
            + ", or use a fit with more populations"
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


def _threshold(statistic: PopulationHistograms, tail: TailCandidate) -> float:
    """Return the edge of the bins whose rows more probably belong to the tail."""
    (inside,) = np.nonzero(tail.probability > 0.5)
    edge = inside[0] if tail.is_upper else inside[-1] + 1
    low, step = statistic.low[tail.feature], statistic.step[tail.feature]
    return float(low + step * edge)


def _decisive_sample(
    tail: TailCandidate, rows: FloatArray, sample_names: Sequence[str]
) -> dict[str, Any]:
    """Return the sample that most of the tail lies in, and its share; None without one.

    Parameters
    ----------
    tail : TailCandidate
        The tail.
    rows : (samples,) float64 array
        Rows of the population.
    sample_names : sequence of str
        Names of the samples.
    """
    largest = int(np.argmax(tail.rows_by_sample))
    share = float(tail.rows_by_sample[largest] / tail.rows)
    expected = rows[largest] / rows.sum()
    decides = share > _MOST_OF_A_TAIL and share * (1 - expected) > 2 * expected * (1 - share)
    return {
        "decisive_sample": sample_names[largest] if decides else None,
        "share_of_largest_sample": share,
    }
