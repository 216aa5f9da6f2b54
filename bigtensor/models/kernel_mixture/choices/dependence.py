"""Dependence of features within components, and populations where features depend."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from bigtensor.array_types import FloatArray
from bigtensor.errors import Setting
from bigtensor.models.kernel_mixture.choices.held_out_densities import (
    fitted_and_held,
    held_out_log_densities,
)
from bigtensor.models.kernel_mixture.choices.replicates import ITERATIONS
from bigtensor.models.kernel_mixture.pilot_scores import mean_difference
from bigtensor.models.kernel_mixture.preparation import KernelMixturePreparation, prepare_from
from bigtensor.models.kernel_mixture.settings import ROWS_OF_A_COMPONENT, KernelMixtureSettings
from bigtensor.models.kernel_mixture.solution import responsibilities_of
from bigtensor.models.kernel_mixture.solve import fitted_in_memory
from bigtensor.statistics.row_sample import Sample

FEWEST_TO_MERGE = 10
"""Fewest components that a choice by the data merges.

They may be fewer than were counted: dependence within components raises the count. Of 569 rows of
breast cancers 16 to 18 components were counted, with an adjusted Rand index of 0.12; 11 components
merged into 4 to 11 populations have one of 0.23 to 0.64.
"""

DEPENDENT_FROM = 0.085
"""Root mean square correlation of features of different views within components.

It was 0.09 to 0.2 on gated cells, 0.15 to 0.2 on cells with correlations of 0.3 to 0.7, and at most
0.06 on 28 simulated mixtures of products. On skewed cells it lies about the threshold (0.08 to
0.12), because too few components are counted. Chosen on these sets.
"""

DEPENDENT_IN_ONE_FROM = 0.15
"""Root mean square correlation within one component, beyond chance, that counts as well.

Small components that were counted as one hardly change the mean of all: where 6 % and 4 % of the
rows were one component of two, the mean was 0.06 and that of the component 0.19. In components
that were counted right it was at most 0.10 (30 of 1,400 rows; elsewhere 0.08). Four sets of 20,000
cells with three kinds then have a Rand index of 1.00 (0.98 to 1.00 with two components). No table
of scikit-learn and KEEL with enough rows is fitted otherwise (28 tables).
"""

BY_CHANCE = 0.01
"""Probability with which a component of independent features has a correlation beyond chance."""

MORE_LIKELY = 2.0
"""Standard errors by which many components have to make held-out rows more likely.

Correlation does not see that rows lie on circles. On circles, rings and arcs the difference was 16
to 56 standard errors, on simulated mixtures of products -3 or less. Chosen on these sets.
"""

DEPENDENCE_ITERATIONS = 20
"""EM iterations on the pilot sample, from the clusters of k-means."""

FEWEST_ROWS_CORRELATED = 30
"""Rows of a component from which on its correlations count."""

_PRODUCTS, _ROUNDING = 2**22, 1e-10
"""Products of features that are held at a time; variance relative to the mean square that is none.
"""


def with_populations_if_dependent(
    sample: Sample, settings: KernelMixtureSettings
) -> tuple[KernelMixtureSettings, float | None]:
    """Choose populations in place of components where features depend on each other within them.

    Features depend on each other if they are correlated within components, or if held-out rows are
    more likely under the many components that would be merged. Too few rows for populations get
    more components instead.

    Parameters
    ----------
    sample : Sample
        Pilot sample in which the dependence is measured.
    settings : KernelMixtureSettings
        With the number of components that was counted.

    Returns
    -------
    settings : KernelMixtureSettings
        Settings of populations, or with more components, if features are dependent.
    dependence : float or None
        Root mean square correlation within components, if it was looked for.
    """
    merged = settings.if_dependent
    if merged is None:
        return settings, None
    enough = int(_independent_rows(sample, settings)) // ROWS_OF_A_COMPONENT
    most = max(1, min(merged.n_components, enough, sample.n_distinct))
    merged = replace(merged, n_components=most)
    if merged.n_components < FEWEST_TO_MERGE:
        return _with_components_until_independent(sample, settings)
    correlations = correlations_within_components(sample, settings)
    dependence = correlations.root_mean_square
    if dependence >= DEPENDENT_FROM:
        reason = f"root mean square correlation {dependence:.2f}"
    elif (highest := highest_beyond_chance(correlations)) >= DEPENDENT_IN_ONE_FROM:
        reason = f"root mean square correlation {highest:.2f} within one of them"
    elif are_more_likely(sample, settings, merged):
        reason = (
            f"{merged.n_components} make held-out rows more likely than {settings.n_components}"
        )
    else:
        return settings, dependence
    note = (
        f"Features depend on each other within components ({reason}), so "
        f"{merged.n_components} components are merged into populations. Give "
        + Setting("n_populations")
        + " for another number of them, or "
        + Setting("n_components")
        + " for components"
    )
    return replace(merged, notes=(*merged.notes, note)), dependence


def are_more_likely(
    sample: Sample, settings: KernelMixtureSettings, merged: KernelMixtureSettings
) -> bool:
    """Return True if held-out rows are more likely under many components than under few.

    Parameters
    ----------
    sample : Sample
        Pilot sample. Components are fitted to half of it, with fine densities.
    settings : KernelMixtureSettings
        With the number of components that was counted.
    merged : KernelMixtureSettings
        With the many components that are merged into populations.
    """
    rows = fitted_and_held(sample, settings, "dependence")
    if rows is None:
        return False
    few = replace(settings, wanted_posterior_width=None)
    of_few = held_out_log_densities(*rows, few, DEPENDENCE_ITERATIONS)
    many = replace(merged, wanted_posterior_width=None)
    of_many = held_out_log_densities(*rows, many, ITERATIONS)
    gain = mean_difference(of_many - of_few, rows[1].row_weights())
    return gain.mean > MORE_LIKELY * gain.error


def _with_components_until_independent(
    sample: Sample, settings: KernelMixtureSettings
) -> tuple[KernelMixtureSettings, float | None]:
    """Add components until features are independent within them.

    The count has no component that only shares densities with others, as where each of several
    groups is high in one feature. If features never are independent, the counted components stay.

    On such groups in 3 to 6 features, 60 to 450 rows, fits had a mean Rand index of 0.29 without
    added components and 0.64 with them. Of tables of KEEL with fewer than 500 rows, one of 11 had
    another index (heart, 0.38 before and 0.10 after).
    """
    counted = settings.n_components
    independent = _independent_rows(sample, settings)
    enough = int(independent) // FEWEST_ROWS_CORRELATED
    of_counted: float | None = None
    for count in range(counted, min(FEWEST_TO_MERGE, enough, sample.n_distinct) + 1):
        correlations = correlations_within_components(sample, replace(settings, n_components=count))
        dependence = correlations.root_mean_square
        of_counted = dependence if of_counted is None else of_counted
        noise = _noise_of_square(settings, count, independent)
        if dependence**2 < DEPENDENT_FROM**2 + 2 * noise:
            return _with_added_components(settings, count), dependence
    return settings, of_counted


def _independent_rows(sample: Sample, settings: KernelMixtureSettings) -> float:
    """Return the number of rows of the data, of which copies in the sample count less."""
    return settings.shape.effective_rows * sample.independent_share


def _noise_of_square(settings: KernelMixtureSettings, count: int, rows: float) -> float:
    """Return the standard error of the mean squared correlation of independent normal features.

    A squared correlation within n rows has a standard deviation of ``sqrt(2) / n``. Squares are
    averaged over pairs of features, and over components by their rows.
    """
    widths = np.array([len(members) for _, members in settings.shape.views])
    pairs = max(1, (widths.sum() ** 2 - (widths**2).sum()) // 2)
    return float(np.sqrt(2 * count / pairs) / rows)


def _with_added_components(settings: KernelMixtureSettings, count: int) -> KernelMixtureSettings:
    """Return settings with this number of components, and a note if it is not the counted one."""
    counted = settings.n_components
    if count == counted:
        return settings
    note = (
        f"{counted} components were counted, but features depend on each other within components "
        f"until there are {count}. Give " + Setting("n_components") + " for another number"
    )
    return replace(settings, n_components=count, notes=(*settings.notes, note))


def highest_beyond_chance(correlations: Correlations) -> float:
    """Return the largest root mean square correlation within a component, beyond chance.

    Squared correlations of independent features, times the rows, are about chi-square distributed
    with one degree of freedom for every pair.
    """
    chance = chdtri(correlations.pairs, BY_CHANCE / max(1, len(correlations.pairs)))
    noise = (chance / correlations.pairs - 1) / correlations.rows
    return float(np.sqrt(np.max(correlations.squares - noise, initial=0.0)))


@dataclass(frozen=True, eq=False)
class Correlations:
    """Squared correlations of features within components, less what sampling noise gives.

    Attributes
    ----------
    squares : (components,) float64 array
        Means over pairs of features, of the components with enough rows.
    rows : (components,) float64 array
        Independent rows of these components.
    pairs : (components,) float64 array
        Pairs of features that vary within these components.
    """

    squares: FloatArray
    rows: FloatArray
    pairs: FloatArray

    @property
    def root_mean_square(self) -> float:
        """Root of the mean over the rows; zero without a component of enough rows."""
        if not self.squares.size:
            return 0.0
        return float(np.sqrt(max(np.average(self.squares, weights=self.rows), 0.0)))


def correlations_within_components(sample: Sample, settings: KernelMixtureSettings) -> Correlations:
    """Return the correlations of features of different views within components.

    Components are fitted to the sample alone.

    Parameters
    ----------
    sample : Sample
        Pilot sample to which components are fitted.
    settings : KernelMixtureSettings
        With the number of components.
    """
    shape = replace(settings.shape, rows=len(sample.values))
    alone = replace(settings, shape=shape, init="kmeans", wanted_posterior_width=None)
    preparation = prepare_from(sample, alone)
    mixture = fitted_in_memory(preparation, DEPENDENCE_ITERATIONS).solution.mixture()
    posterior = responsibilities_of(mixture, sample, preparation.slices)
    pairs = _pairs_of_views(preparation, settings)
    values = np.asarray(sample.values, np.float64)
    return correlations_within(values, posterior, pairs, sample.independent_share)


def _pairs_of_views(
    preparation: KernelMixturePreparation, settings: KernelMixtureSettings
) -> NDArray[np.bool_]:
    """Return a mask of the pairs of measured features of different views: ``(d, d)``."""
    view = np.concatenate(
        [np.full(len(members), place) for place, (_, members) in enumerate(preparation.views)]
    )
    measured = np.ones(len(view), bool)
    measured[settings.categorical_columns] = False
    pairs = (view[:, None] < view) & measured[:, None] & measured
    return np.asarray(pairs)


def correlations_within(
    values: FloatArray,
    posterior: FloatArray,
    pairs: NDArray[np.bool_],
    independent_share: float = 1.0,
) -> Correlations:
    """Return the mean squared correlation of pairs within every component.

    Parameters
    ----------
    values : (n, d) float64 array
        Rows.
    posterior : (n, components) float64 array
        Their posterior probabilities, times their weights.
    pairs : (d, d) bool array
        The pairs of features to correlate.
    independent_share : float, default 1.0
        Independent rows per unit of weight, 1 without copies and weights.
    """
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    masses, d = posterior.sum(axis=0), scaled.shape[1]
    # sums of all components in two matrix products, a few rows at a time
    first, second = posterior.T @ scaled, np.zeros((len(masses), d * d))
    step = max(1, _PRODUCTS // (d * d))
    for start in range(0, len(scaled), step):
        rows = scaled[start : start + step]
        products = (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
        second += posterior[start : start + step].T @ products
    squares_of, rows_of, pairs_of = list[float](), list[float](), list[float]()
    for mass, of_first, of_second in zip(masses.tolist(), first, second, strict=True):
        independent = mass * independent_share
        if independent < FEWEST_ROWS_CORRELATED:
            continue
        square, mean = of_second.reshape(d, d) / mass, of_first / mass
        covariance = square - np.multiply.outer(mean, mean)
        variance = np.diag(covariance)
        # what is left of equal values is the rounding of their squares
        varies = variance > _ROUNDING * np.diag(square)
        usable = pairs & varies[:, None] & varies
        if usable.any():
            squares = covariance[usable] ** 2 / np.multiply.outer(variance, variance)[usable]
            squares_of.append(float(squares.mean()) - 1 / independent)
            rows_of.append(independent)
            pairs_of.append(float(squares.size))
    return Correlations(np.array(squares_of), np.array(rows_of), np.array(pairs_of))
