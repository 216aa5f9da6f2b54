"""Maximum-likelihood weights of every group of rows under the densities of a fitted mixture."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.mixture_proportions import (
    ProportionSums,
    em_step,
    newton_step,
    proportion_covariance,
)
from bigtensor.statistics.base import Pass
from bigtensor.statistics.densities.class_densities import ClassDensities
from bigtensor.statistics.densities.group_likelihood import GroupLikelihood, GroupLikelihoodResult
from bigtensor.statistics.densities.group_sums import GroupSums, GroupSumsResult

MOST_PASSES = 6
"""Passes over the rows: one for posterior means, the others for Newton steps."""

SETTLED = 0.25
"""Length in standard errors of a group's last Newton step, which is still taken. What remains is of
second order: at most a tenth of a standard error on the cytometry data of the benchmarks."""

STILL_MOVING = 1.0
"""Length in standard errors of the last step of all, above which a group's weights are called
unsettled: less is smaller than what the rows can tell."""

LARGEST_MISFIT = 0.1
"""Relative difference between the mean uncertainty of labels that the densities let expect and that
of the rows, above which weights are scaled to the labels. At most .03 where simulated rows follow
the model, and .15 to .5 on gated cells, where features depend on each other."""

LARGEST_DEFICIT = 0.5
"""Nats a row by which the mean log-density of a group may be below the one that the densities let
expect for its classes. At most -.1 on unchanged files of the activation data (a fit of eight files,
asked about these and four others), and .3 under mixtures of four to eight components. After all
gains are multiplied by 1.2, 1.5, 2 and 3 it is .3, 1.1, 2.6 and 4.8. Smaller gains raise densities,
and are not noticed."""


@dataclass(frozen=True, eq=False)
class GroupWeights:
    """Weights of the classes in every group.

    Attributes
    ----------
    weights : (groups, classes) float64 array
        Zero in groups whose rows have no weight.
    covariance : (groups, classes, classes) float64 array
        Covariance of the estimated weights of every group.
    sums : GroupSumsResult
        Sums over the rows of every group.
    unsettled : int
        Groups whose weights still moved by more than a standard error after `MOST_PASSES` passes.
    """

    weights: FloatArray
    covariance: FloatArray
    sums: GroupSumsResult
    unsettled: int


def group_weight_passes(
    classes: ClassDensities, n_groups: int, variable: str
) -> Generator[Pass[Any], Any, GroupWeights]:
    """Ask for passes until the weights of all groups have settled.

    Parameters
    ----------
    classes : ClassDensities
        Densities of the components or populations.
    n_groups : int
        Number of groups.
    variable : str
        Names the passes.
    """
    first, others = weight_passes(classes, np.zeros((n_groups, classes.n_classes)), variable)
    sums: GroupSumsResult = yield first
    total = sums.mass.sum(axis=1, keepdims=True)
    weights = np.divide(sums.mass, total, out=np.zeros_like(sums.mass), where=total > 0)
    ascents = {
        group: _Ascent(weights[group], float(total[group, 0] / sums.squared_weight[group]))
        for group in np.flatnonzero(total > 0).tolist()
    }
    for _ in range(MOST_PASSES - 1):
        present = np.zeros_like(weights)
        for group, ascent in ascents.items():
            if ascent.distance > SETTLED:
                present[group] = ascent.weights
        if not present.any():
            break
        likelihoods = yield replace(others, statistic=GroupLikelihood(classes, present))
        for group in np.flatnonzero(present.any(axis=1)).tolist():
            ascents[group].advance(likelihoods, group)
    covariance = np.zeros((n_groups, classes.n_classes, classes.n_classes))
    for group, ascent in ascents.items():
        weights[group] = ascent.weights
        covariance[group] = ascent.covariance()
    unsettled = sum(ascent.distance > STILL_MOVING for ascent in ascents.values())
    return GroupWeights(weights, covariance, sums, unsettled)


def weight_passes(
    classes: ClassDensities, weights: FloatArray, variable: str
) -> tuple[Pass[Any], Pass[Any]]:
    """Return the first pass, and a later one with these weights."""
    return (
        Pass(f"weights by {variable}", GroupSums(classes, len(weights))),
        Pass(f"likelihood by {variable}", GroupLikelihood(classes, weights)),
    )


def is_calibrated(
    fitted: GroupWeights, expected_certainty: FloatArray, expected_rows: float
) -> bool:
    """Return True if the rows are as hard to label as the densities let expect.

    Parameters
    ----------
    fitted : GroupWeights
        Weights of all groups, with the sums that they come from.
    expected_certainty : (classes,) float64 array
        Mean of the largest posterior probability over rows drawn from every class.
    expected_rows : float
        How many rows were drawn.
    """
    mass = fitted.sums.mass.sum()
    rows = mass**2 / fitted.sums.squared_weight.sum()
    observed = 1.0 - fitted.sums.certainty.sum() / mass
    expected = 1.0 - pooled_weights(fitted) @ expected_certainty
    # an uncertainty between 0 and 1 has a variance below its mean
    noise = 3.0 * np.sqrt(max(expected, 0.0) * (1.0 / rows + 1.0 / expected_rows))
    return bool(abs(observed - expected) <= LARGEST_MISFIT * max(observed, expected) + noise)


def log_density_deficits(fitted: GroupWeights, expected: FloatArray) -> FloatArray:
    """Return how far the rows of every group are below the expected log-density, in nats a row.

    Parameters
    ----------
    fitted : GroupWeights
        Weights of all groups, with the sums that they come from.
    expected : (classes,) float64 array
        Mean log-density of rows drawn from every class.

    Returns
    -------
    (groups,) float64 array
        Zero in groups whose rows have no weight, and where the deficit is at most `LARGEST_DEFICIT`
        or might be due to a few rows or to chance: within three standard errors of it.
    """
    sums = fitted.sums
    mass = sums.mass.sum(axis=1)
    kept = mass > 0
    total = np.where(kept, mass, 1.0)
    mean = sums.log_density / total
    # a few outliers with tiny densities have a large standard error, too
    variance = np.maximum(sums.squared_log_density / total - mean**2, 0.0)
    error = np.sqrt(variance * sums.squared_weight) / total
    deficit = sums.labelled @ expected / total - mean
    return np.where(kept & (deficit > LARGEST_DEFICIT + 3.0 * error), deficit, 0.0)


def pooled_weights(fitted: GroupWeights) -> FloatArray:
    """Return the mean weights over the rows of all groups."""
    mass = fitted.sums.mass.sum(axis=1)
    return np.asarray(mass @ fitted.weights / mass.sum())


def scaled_to_labels(fitted: GroupWeights) -> GroupWeights:
    """Scale every class by one factor for all groups, so that the pooled weights are its labels'.

    Where the densities do not hold, the likelihood is biased alike in every group, and labels are
    the better measure of all rows together. How groups differ is left to the likelihood.
    """
    labelled, pooled = fitted.sums.labelled, pooled_weights(fitted)
    factor = np.divide(
        labelled.sum(axis=0) / labelled.sum(), pooled, out=np.zeros_like(pooled), where=pooled > 0
    )
    # classes that the likelihood gives no row keep their labels
    counted = labelled / np.maximum(labelled.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    counted = np.where(pooled > 0, 0.0, counted)
    rest = 1.0 - counted.sum(axis=1, keepdims=True)
    raw = fitted.weights * factor
    total = raw.sum(axis=1, keepdims=True)
    shares = np.divide(raw, total, out=np.zeros_like(raw), where=total > 0)
    inverse = np.divide(rest, total, out=np.zeros_like(total), where=total > 0)[..., None]
    # delta method: d shares = (diag(factor) - shares factor') du / total
    change = inverse * (np.diag(factor) - shares[:, :, None] * factor)
    return replace(
        fitted,
        weights=shares * rest + counted,
        covariance=change @ fitted.covariance @ change.transpose(0, 2, 1),
    )


@dataclass(eq=False)
class _Ascent:
    """The way of one group's weights to the maximum of their likelihood.

    Attributes
    ----------
    weights : (classes,) float64 array
        To be looked at next.
    per_weight : float
        Effective number of rows for every unit of weight.
    best : tuple of weights and ProportionSums, optional
        Where the likelihood is largest so far.
    distance : float
        Length of the last Newton step, in standard errors.
    """

    weights: FloatArray
    per_weight: float
    best: tuple[FloatArray, ProportionSums] | None = None
    distance: float = float("inf")

    def advance(self, likelihoods: GroupLikelihoodResult, group: int) -> None:
        """Take the next step from the sums at the present weights."""
        sums = ProportionSums(
            score=likelihoods.score[group] * self.per_weight,
            information=likelihoods.information[group] * self.per_weight,
            log_likelihood=float(likelihoods.log_likelihood[group]) * self.per_weight,
            weight=float(likelihoods.weight[group]) * self.per_weight,
        )
        # float32 posterior probabilities know the likelihood to six digits
        slack = 1e-3 + 1e-6 * sums.weight
        if self.best is not None and sums.log_likelihood < self.best[1].log_likelihood - slack:
            self.weights = em_step(*self.best)
            return
        self.best = self.weights, sums
        self.weights, self.distance = newton_step(self.weights, sums)

    def covariance(self) -> FloatArray:
        """Return the covariance of the weights."""
        assert self.best is not None
        return proportion_covariance(self.weights, self.best[1].information)
