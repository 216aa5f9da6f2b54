"""Number of components, chosen by the likelihood of held-out rows or by BIC."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from scipy.special import logsumexp

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.models.contract.script import Step
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.regularisation import (
    CANDIDATES,
    ENOUGH_HELD_OUT,
    Strength,
    positive,
)
from bigtensor.models.gaussian_mixture.sample_rows import SampleRows
from bigtensor.models.gaussian_mixture.settings import (
    QUICK,
    THOROUGH,
    GaussianSettings,
    free_parameters,
    least_components,
)
from bigtensor.models.pilot.number_search import NumberSearch
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.gaussian.gaussian_densities import GaussianDensities
from bigtensor.statistics.gaussian.own_covariance_densities import OwnCovarianceDensities
from bigtensor.statistics.row_copies import random_order

HELD_OUT = 5
"""The inverse of the part of the rows that is held out at once."""

INITIALISATIONS = 3
"""Clusterings of k-means that EM iterations start from, for every number."""

REGULARISATION = 1e-3
"""Value of ``reg_covar`` under which numbers are compared, if it is to be chosen afterwards."""

COMPARED_AGAIN = 0.03
"""Value of ``reg_covar``, chosen for the number of components, from which on numbers are compared
again under it.

Wine then has three components (two before), and the digits of scikit-learn 9 or 10 (2 or 5). With
.01, a further table, crx, was 3.8 nats a row worse in one of two divisions.
"""

FEW_ROWS = 1_000
"""Rows of a sample up to which initialisations compete as thoroughly as for the final mixture.

In more rows the competition of components with a covariance each is quick. Of 27 choices on ten
tables of 1,000 to 14,000 rows (full and diagonal covariances), 22 are the same, in three fifths of
the time, and the others are within .001 nats a held-out row or better. In tables of 500 rows three
of 18 choices lost up to 1.4 nats, and of tied covariances two of eight lost up to 5.6.
"""

PATIENCE = 3
"""Numbers of components without a better score after which the search ends."""

GROWTH = 1.2
"""Ratio of two numbers of components that follow each other, beyond the first few."""

BROAD_WEIGHT = 0.01
"""Weight of one Gaussian of all rows in what held-out rows are compared by.

A row that no component holds would otherwise decide the mean of all rows.
"""

Components: TypeAlias = GaussianComponents | OwnCovarianceComponents
"""Components of any covariance type."""

SampleFit: TypeAlias = Callable[[SampleRows, GaussianSettings], Generator[Step, None, Components]]
"""Returns the components of some rows of the pilot sample."""


@dataclass(frozen=True, eq=False)
class ComponentChoice:
    """Number of components that is chosen.

    Attributes
    ----------
    n_components : int
        The number.
    by_number : dict of str to float
        Mean held-out log-likelihood of a row in nats, or BIC of the sample in nats a row, by number
        of components.
    at_the_end : bool
        True if the largest number that may be chosen has the best score.
    """

    n_components: int
    by_number: dict[str, float]
    at_the_end: bool

    def facts(self, criterion: str) -> dict[str, Any]:
        """Return the choice as diagnostics."""
        return {
            "criterion": criterion,
            "by_number_of_components": self.by_number,
            "at_the_end": self.at_the_end,
        }


def compared_numbers(least: int, most: int) -> Iterator[int]:
    """Yield the numbers of components that are compared."""
    number = least
    while number <= most:
        yield number
        number = max(number + 1, int(number * GROWTH))


def chosen_components(
    sample: SampleRows, settings: GaussianSettings, fit: SampleFit
) -> Generator[Step, None, ComponentChoice]:
    """Return the number of components that the sample speaks for.

    Parameters
    ----------
    sample : SampleRows
        Rows of the pilot sample.
    settings : GaussianSettings
        Resolved parameters, with the largest number that may be chosen.
    fit : callable (sample, settings)
        Returns the components of rows.
    """
    quick = settings.own_covariances and sample.block.rows > FEW_ROWS
    fewer = replace(
        settings,
        n_init=min(settings.n_init, INITIALISATIONS),
        strength=settings.strength or Strength(REGULARISATION),
        criterion=None,
        competition=QUICK if quick else THOROUGH,
    )
    folds: list[_Fold] = []
    if settings.criterion == "held_out":
        folds = yield from _folds(sample, fewer, fit)
    candidates = list(
        compared_numbers(least_components(settings.n_populations), settings.n_components)
    )
    # without folds, every number of components has one score, its BIC
    weight = np.concatenate([fold.test.row_weights() for fold in folds] or [np.ones(1)])
    scores: list[FloatArray] = []
    search = NumberSearch(PATIENCE)
    for number, k in enumerate(candidates):
        yield Step("choosing the number of components", number + 1, len(candidates))
        of_number = replace(fewer, n_components=k)
        if folds:
            scores.append((yield from _held_out_scores(folds, of_number, fit)))
        else:
            scores.append((yield from _information_scores(sample, of_number, fit)))
        search.means.append(float(np.average(scores[-1], weights=weight)))
        if search.ended:
            break
    by_number = {str(k): mean for k, mean in zip(candidates, search.means, strict=False)}
    chosen = search.fewest_as_good(
        lambda fewer: loss_and_error(scores[search.best], scores[fewer], weight)
    )
    return ComponentChoice(candidates[chosen], by_number, search.best == len(candidates) - 1)


def loss_and_error(best: FloatArray, fewer: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Return by how much the mean score of a number is less than the best, and the standard error.

    Parameters
    ----------
    best, fewer : (n,) float64 array
        Scores of the same rows under two numbers of components.
    weight : (n,) float64 array
        Weights of the rows.
    """
    loss = best - fewer
    mean = np.average(loss, weights=weight)
    return float(mean), float(np.linalg.norm(weight * (loss - mean)) / weight.sum())


@dataclass(frozen=True, eq=False)
class _Fold:
    """Rows of the sample that are held out, and the others.

    Attributes
    ----------
    train : SampleRows
        Rows that mixtures are fitted to.
    test : Block
        Rows that are held out.
    broad : (m,) float64 array
        Log densities of the held-out rows under one Gaussian of the others, in nats.
    """

    train: SampleRows
    test: Block
    broad: FloatArray


def _folds(
    sample: SampleRows, settings: GaussianSettings, fit: SampleFit
) -> Generator[Step, None, list[_Fold]]:
    """Return divisions of the sample, until enough rows have been held out once."""
    order = random_order(sample.distinct, settings.random_state)
    rows = len(order)
    edges = np.linspace(0, rows, min(HELD_OUT, rows) + 1).astype(int)
    folds: list[_Fold] = []
    for start, stop in pairwise(edges):
        held = np.isin(sample.distinct, order[start:stop])
        train, test = sample.part(~held), sample.part(held).block
        broad = yield from fit(train, replace(settings, n_components=1))
        folds.append(_Fold(train, test, log_densities(broad, test)))
        if stop >= ENOUGH_HELD_OUT:
            break
    return folds


def _held_out_scores(
    folds: list[_Fold], settings: GaussianSettings, fit: SampleFit
) -> Generator[Step, None, FloatArray]:
    """Return log-likelihoods of rows under mixtures of the other rows."""
    scores: list[FloatArray] = []
    for fold in folds:
        components = yield from fit(fold.train, settings)
        scores.append(
            np.logaddexp(
                np.log1p(-BROAD_WEIGHT) + log_densities(components, fold.test),
                np.log(BROAD_WEIGHT) + fold.broad,
            )
        )
    return np.concatenate(scores)


def _information_scores(
    sample: SampleRows, settings: GaussianSettings, fit: SampleFit
) -> Generator[Step, None, FloatArray]:
    """Return the BIC of components that are fitted to the sample, as an array of one number."""
    components = yield from fit(sample, settings)
    return np.array([information_score(components, sample, settings)])


def information_score(
    components: Components, sample: SampleRows, settings: GaussianSettings
) -> float:
    """Return the BIC of the sample, in nats a row and with the sign of a likelihood.

    Schwarz (1978), "Estimating the dimension of a model", Annals of Statistics 6.
    """
    density = log_densities(components, sample.block)
    mean = float(np.average(density, weights=sample.block.row_weights()))
    return mean - _penalty(components.n_components, sample, settings)


def information_score_of_one(sample: SampleRows, settings: GaussianSettings) -> float:
    """Return `information_score` of the Gaussian of all rows, which have no missing entries."""
    total, d = sample.total, settings.n_features
    covariance = total.covariance + CANDIDATES[0] * np.diag(positive(total.variances))
    if settings.covariance_type == "diag":
        covariance = np.diag(np.diag(covariance))
    elif settings.covariance_type in ("spherical", "shared_spherical"):
        covariance = np.eye(d) * np.trace(covariance) / d
    distance = np.trace(np.linalg.solve(covariance, total.covariance))
    log_volume = np.linalg.slogdet(covariance)[1] + d * np.log(2 * np.pi)
    return float(-0.5 * (log_volume + distance)) - _penalty(1, sample, settings)


def _penalty(n_components: int, sample: SampleRows, settings: GaussianSettings) -> float:
    """Return what BIC takes for the parameters of components, in nats a row."""
    numbers = free_parameters(settings.covariance_type, n_components, settings.n_features)
    rows = sample.block.total_weight()
    return numbers * float(np.log(rows)) / (2 * rows)


def log_joint_densities(components: Components, block: Block) -> FloatArray:
    """Return ``log w_h + log p(x | h)`` for rows and components, up to the volume: ``(n, k)``."""
    return _log_joint(components.mixture(), block)


def log_densities(components: Components, block: Block) -> FloatArray:
    """Return the log density of every row of a block, in nats: ``(n,)``."""
    mixture = components.mixture()
    return np.asarray(logsumexp(_log_joint(mixture, block), axis=1) - mixture.log_volume)


def lowest_log_density(components: Components, block: Block) -> float:
    """Return the smallest log density of a component, in nats.

    The log density of a component is the mean minus the standard deviation of the log densities of
    its rows: those whose most probable component it is. Components with fewer than two rows are
    left out. A mean of rows of the same components in other proportions is larger.

    Parameters
    ----------
    components : GaussianComponents or OwnCovarianceComponents
        The mixture.
    block : Block
        Rows.
    """
    mixture, weights = components.mixture(), block.row_weights()
    joint = _log_joint(mixture, block)
    densities = logsumexp(joint, axis=1) - mixture.log_volume
    most_probable = joint.argmax(axis=1)
    lowest: list[float] = []
    for component in range(components.n_components):
        own = most_probable == component
        if own.sum() < 2:
            continue
        mean = np.average(densities[own], weights=weights[own])
        squares = np.average(np.square(densities[own] - mean), weights=weights[own])
        lowest.append(float(mean - np.sqrt(squares)))
    return min(lowest, default=float(densities.min()))


def _log_joint(mixture: GaussianDensities | OwnCovarianceDensities, block: Block) -> FloatArray:
    """Return the log joint densities of rows, up to the volume: ``(n, k)``."""
    joint = np.empty((block.rows, mixture.width), mixture.dtype)
    mixture.log_joint(block.without_halo(), joint, Workspace())
    return joint[:, : mixture.n_components].astype(np.float64)
