"""Populations made of components: pairs are merged one after the other, down to one population."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.merging.levels import places_in_levels
from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.errors import ParameterError

__all__ = [
    "CRITERIA",
    "CRITERIA_OF_PRODUCTS",
    "LEVELS",
    "SEPARATION",
    "CoPosterior",
    "MergeTree",
    "merge_components",
]

SEPARATION = "separation"
"""Name of the criterion that weighs misclassification by mass."""

LEVELS = "levels"
"""Name of the criterion that also weighs distances in levels of features."""

MASS_POWER = 0.2
"""Power of the mass of a pair.

Between 0.1 and 0.4 the F1 of gated cells changed by at most 0.02 from 10 populations on. Powers
of 0.05 and 0.1 can do worse for fewer (spleen cells, 6: 0.66 in place of 0.80).
"""

EQUALLY_SEPARATE = 0.01
"""Misclassification probability below which populations are about equally separate.

With 0.001 the last merges depended on chance overlaps of well separated populations. Over twelve
seeds the F1 of spleen cells in 6 and 8 populations was 0.79 and 0.92 in place of 0.87 and 0.95, and
that of blood cells 0.44 and 0.56 in place of 0.46 and 0.57. From 10 to 20 populations it changed by
at most 0.01. Chosen with these gates in sight.
"""

MASS_POWER_IN_LEVELS = 0.65
"""Power of the mass of a pair in levels of features.

The mean F1 of eleven labelled sets was 0.743 with 0.55, 0.745 with 0.65 and 0.747 with 0.75, which
is worse for T-cell activation; it was 0.722 by the consensus of trees by separation that came
before. Over 400 random halves of these sets, the best of 150 choices of the constants of levels for
one half gained 0.015 on the other, on average (without `SHARING_NO_ROW` and `LEAST_COMMON_WEIGHT`).
"""

LEAST_COMMON_WEIGHT = 5e-4
"""Share of all mass below which a lighter pair is no cheaper to merge in levels of features.

The share of the rarest population that the library sets out to find. With it the F1 of ten
simulated populations of 200,000 cells was 0.87 in place of 0.84, and the F1 of other labelled sets
did not change. With 0.001 the F1 of spleen cells was 0.89 in place of 0.92.
"""

NORM_IN_LEVELS = 6
"""Norm of the difference of two places.

The mean F1 was 0.740 with 2 and with 4, and 0.742 with the largest difference alone.
"""

HALVES_OF_ONE = 0.16
"""Misclassification probability from which on two populations are halves of one.

A cut through one normal population gives 0.12 to 0.23 on simulated cells. Without this limit the
mean F1 was 0.732, and that of ten simulated populations 0.78 in place of 0.84: halves of large ones
took the places of rare ones. With 0.14 one more rare population in fifty was found, and the F1 of
one centre's blood cells was 0.585 in place of 0.642.
"""

SHARING_NO_ROW = 0.01
"""How much it counts that two populations share no row, beside their distance in levels.

Three arcs in a line without a common row have no two levels: without this term the F1 of their
populations was 0.63, with 0.005 it was 0.98, in place of 1. With 0.02 the mean F1 was 0.743.
"""

NEXT_TO_NO_ROW = 1e-4
"""Misclassification probability below which populations about equally share no row."""

NEVER_TAKEN = 1e-3
"""Misclassification probability below which rows of a population are taken for no other one."""


class CoPosterior(Protocol):
    """Sums over rows i with weight w_i and posterior probabilities r_i of k components."""

    @property
    def products(self) -> FloatArray | None:
        """``sum w r r'``: (k, k). Only `CRITERIA_OF_PRODUCTS` need it."""

    @property
    def assigned(self) -> FloatArray:
        """``sum w r_a 1[b is the most probable component]``: (k, k)."""

    @property
    def mass(self) -> FloatArray:
        """``sum w r``: (k,)."""


def merge_components(
    sums: CoPosterior,
    *,
    criterion: str = "misclassification",
    means: FloatArray | None = None,
    least_mass: float = 0.0,
) -> MergeTree:
    r"""Merge the pair of populations with the largest value of a criterion, until one is left.

    Write A and B for two populations (sets of components), :math:`r_A` for the sum of their
    posterior probabilities, and S, Q and m for ``products``, ``assigned`` and ``mass``, summed
    over the components of both. The criteria, all between 0 and 1, are

    ``misclassification``
        :math:`\max(Q_{AB} / m_A,\; Q_{BA} / m_B)`, the probability that a row of one is labelled
        as the other (Hennig 2010, directly estimated misclassification probabilities). A row is
        labelled with the population of its most probable *component*: sums can be merged then,
        as Hennig's own program does with labels. The most probable population of a row, which a
        model predicts, can be another one.
    ``mean_misclassification``
        The mean of the two probabilities instead of the larger one.
    ``quadratic_entropy``
        :math:`2 S_{AB} / \sum m`, the fall of the Gini impurity :math:`\sum w (1 - r'r)`: the
        entropy criterion of Baudry et al. (2010) with a quadratic entropy, which follows from
        sums over all rows.
    ``overlap``
        :math:`S_{AB} / \sqrt{S_{AA} S_{BB}}`, the cosine of the posterior probabilities.
    ``separation``
        :math:`1 / (1 + c)` with :math:`c = w_{AB}^{1/5} / (q_{AB} + 0.01)`, where
        :math:`w_{AB} = w_A w_B / (w_A + w_B)` for the shares w of all mass and q is the mean
        misclassification: of equally separate pairs the lighter one is merged first.
    ``levels``
        :math:`1 / (1 + c)` with

        .. math:: c = \Bigl(1 - \frac{q_{AB}}{0.16}\Bigr)_+ \Bigl(
            \frac{\max(w_{AB}, 0.0005)^{0.65}\, d_{AB}^2}{q_{AB} + 0.01}
            + \frac{0.01\, w_{AB}}{q_{AB} + 0.0001} \Bigr)

        where d is the distance of A and B in levels of features
        (`bigtensor.decomposition.merging.levels`), in the norm of sixth powers: a large difference
        in one feature counts more than small ones in several. The second term keeps heavy
        populations apart that share no row. Two populations that take 16 per cent of their rows
        for each other are halves of one.

    A handful of outliers is never taken for another population, so that it would not be merged
    before real populations are. While a population is lighter than ``least_mass``, the lightest
    one is therefore merged first, with the population that its rows are most often taken for, or
    with the heaviest one if they are taken for none.

    Of equal pairs the lightest is merged first, of equally light ones that whose components come
    first. Where a criterion has nothing to divide by, because a component has no mass, it is one.

    Parameters
    ----------
    sums : CoPosterior
        Such as a `CoPosteriorSumsResult`, of k components.
    criterion : str
        One of `CRITERIA`.
    means : (k, d) float64 array, optional
        Of the components, by feature. Only ``levels`` needs them.
    least_mass : float, default 0.0
        Mass below which a population is merged before all others.

    Raises
    ------
    ParameterError
        When the criterion is unknown, its sums or means are missing, or sums are not finite and
        nonnegative matrices of one size.

    References
    ----------
    Hennig (2010), "Methods for merging Gaussian mixture components", Advances in Data Analysis
    and Classification 4. Baudry, Raftery, Celeux, Lo and Gottardo (2010), "Combining mixture
    components for clustering", Journal of Computational and Graphical Statistics 19.
    """
    if criterion not in CRITERIA:
        raise ParameterError(f"criterion must be one of {', '.join(CRITERIA)}, got {criterion!r}")
    _check_sums(sums, criterion)
    mass = np.array(sums.mass, np.float64)
    if criterion != LEVELS:
        return _merge_all(mass, _SharedRows(sums, criterion), criterion, least_mass)
    if means is None or len(means) != mass.size:
        raise ParameterError(f"criterion {LEVELS!r} needs means, one row for each component")
    return _merge_all(mass, _InLevels(sums, means), criterion, least_mass)


class _Populations(Protocol):
    """Populations that are left, with what the criterion is computed from."""

    def values(self) -> FloatArray:
        """Return the criterion of every pair: symmetric; the diagonal means nothing."""

    def merge(self, first: int, second: int) -> None:
        """Put the second population into the first, which keeps its position."""

    def host(self, position: int, mass: FloatArray) -> int:
        """Return the population that a light one belongs to."""


def _merge_all(
    mass: FloatArray, populations: _Populations, criterion: str, least_mass: float
) -> MergeTree:
    """Merge until one population is left."""
    k = mass.size
    weights = mass / mass.sum()
    nodes = np.arange(k)
    merges = np.empty((k - 1, 2), np.int64)
    heights = np.empty(k - 1)
    for step in range(k - 1):
        values = populations.values()
        lightest = int(np.argmin(mass))
        if mass[lightest] < least_mass:
            first, second = sorted((lightest, populations.host(lightest, mass)))
        else:
            first, second = _best_pair(values, mass)
        merges[step] = np.sort(nodes[[first, second]])
        heights[step] = values[first, second]
        populations.merge(first, second)
        mass[first] += mass[second]
        mass = np.delete(mass, second)
        nodes[first] = k + step
        nodes = np.delete(nodes, second)
    return MergeTree(merges, heights, weights, criterion)


def _best_pair(values: FloatArray, mass: FloatArray) -> tuple[int, int]:
    """Return the positions of the pair to merge, the smaller one first."""
    rows, columns = np.triu_indices(mass.size, 1)
    of_pair = values[rows, columns]
    ties = np.flatnonzero(of_pair == of_pair.max())
    best = ties[np.argmin(mass[rows[ties]] + mass[columns[ties]])]
    return int(rows[best]), int(columns[best])


class _SharedRows:
    """Populations that are compared by the rows that they share."""

    def __init__(self, sums: CoPosterior, criterion: str) -> None:
        self._assigned = np.array(sums.assigned, np.float64)
        self._products: FloatArray | None = None
        if criterion in CRITERIA_OF_PRODUCTS:
            self._products = np.array(sums.products, np.float64)
        self._formula = _FORMULAS[criterion]

    def values(self) -> FloatArray:
        """Return the criterion of every pair: symmetric; the diagonal means nothing."""
        return self._formula(self._assigned if self._products is None else self._products)

    def merge(self, first: int, second: int) -> None:
        """Put the second population into the first, which keeps its position."""
        if self._products is not None:
            self._products = _fold(self._products, first, second)
        self._assigned = _fold(self._assigned, first, second)

    def host(self, position: int, mass: FloatArray) -> int:
        """Return the population that rows are most often taken for, or the heaviest one.

        Outliers are taken for nothing. United with each other they would pass for a population,
        so that rows of other light populations that are taken for this one do not count.
        """
        taken = _labelled_as(self._assigned)[position]
        taken[position] = -1.0
        if taken.max() >= NEVER_TAKEN:
            return int(np.argmax(taken))
        others = np.array(mass)
        others[position] = -1.0
        return int(np.argmax(others))


class _InLevels:
    """Populations that are compared by the rows that they share, and by levels of features."""

    def __init__(self, sums: CoPosterior, means: FloatArray) -> None:
        self._rows = _SharedRows(sums, "mean_misclassification")
        self._weights = sums.mass / sums.mass.sum()
        self._places = places_in_levels(np.asarray(means, np.float64), self._weights)
        self._apart = np.stack([self._distances(place) for place in self._places])

    def values(self) -> FloatArray:
        """Return the criterion of every pair: symmetric; the diagonal means nothing."""
        confused = self._rows.values()
        common = _common_weights(self._weights)
        mass = np.maximum(common, LEAST_COMMON_WEIGHT) ** MASS_POWER_IN_LEVELS
        cost = mass * self._apart / (confused + EQUALLY_SEPARATE)
        cost += SHARING_NO_ROW * common / (confused + NEXT_TO_NO_ROW)
        return np.asarray(1 / (1 + cost * np.maximum(1 - confused / HALVES_OF_ONE, 0.0)))

    def merge(self, first: int, second: int) -> None:
        """Put the second population into the first, which keeps its position."""
        self._rows.merge(first, second)
        pair, total = [first, second], self._weights[first] + self._weights[second]
        if total > 0:
            self._places[first] = self._weights[pair] @ self._places[pair] / total
        self._weights[first] = total
        self._weights = np.delete(self._weights, second)
        self._places = np.delete(self._places, second, axis=0)
        self._apart = np.delete(np.delete(self._apart, second, axis=0), second, axis=1)
        self._apart[first] = self._apart[:, first] = self._distances(self._places[first])

    def host(self, position: int, mass: FloatArray) -> int:
        """Return the population that rows are most often taken for, or the heaviest one."""
        return self._rows.host(position, mass)

    def _distances(self, place: FloatArray) -> FloatArray:
        """Return the squared distances of all populations from a place."""
        return np.asarray(np.linalg.norm(self._places - place, NORM_IN_LEVELS, axis=1) ** 2)


Formula: TypeAlias = Callable[[FloatArray], FloatArray]
"""From the products or the assigned of populations to the symmetric criterion of every pair."""


def _misclassification(assigned: FloatArray) -> FloatArray:
    """Return the larger of the two probabilities of being labelled as the other."""
    probability = _labelled_as(assigned)
    return np.asarray(np.maximum(probability, probability.T))


def _quadratic_entropy(products: FloatArray) -> FloatArray:
    """Return twice the mean product of the posterior probabilities."""
    return np.asarray(2 * products / products.sum())


def _overlap(products: FloatArray) -> FloatArray:
    """Return the cosine of the posterior probabilities."""
    root = np.sqrt(np.diag(products))
    return _ratio(products, np.outer(root, root))


def _separation(assigned: FloatArray) -> FloatArray:
    """Return one over one plus the mass of a pair over its misclassification."""
    common = _common_weights(assigned.sum(axis=1) / assigned.sum())
    cost = common**MASS_POWER / (mean_misclassification(assigned) + EQUALLY_SEPARATE)
    return np.asarray(1 / (1 + cost))


def _common_weights(weights: FloatArray) -> FloatArray:
    """Return the product of the weights over their sum, for every pair."""
    total = np.add.outer(weights, weights)
    return _ratio(np.multiply.outer(weights, weights), total, otherwise=0.0)


def mean_misclassification(assigned: FloatArray) -> FloatArray:
    """Return the mean probability that rows of one of two populations are labelled as the other.

    Parameters
    ----------
    assigned : (k, k) float64 array
        See `CoPosterior`.

    Returns
    -------
    (k, k) float64 array
        Symmetric.
    """
    probability = _labelled_as(assigned)
    return np.asarray((probability + probability.T) / 2)


_FORMULAS: dict[str, Formula] = {
    SEPARATION: _separation,
    "misclassification": _misclassification,
    "mean_misclassification": mean_misclassification,
    "quadratic_entropy": _quadratic_entropy,
    "overlap": _overlap,
}

CRITERIA = (LEVELS, *_FORMULAS)
"""The criteria by name."""

CRITERIA_OF_PRODUCTS = ("quadratic_entropy", "overlap")
"""Criteria of products of posterior probabilities. All others compare labels."""


def _labelled_as(assigned: FloatArray) -> FloatArray:
    """Return the probability that a row of one population is labelled as another."""
    return _ratio(assigned, assigned.sum(axis=1)[:, None])


def _ratio(numerator: FloatArray, denominator: FloatArray, otherwise: float = 1.0) -> FloatArray:
    """Return the quotient, and another number where there is nothing to divide by."""
    whole = np.broadcast_to(denominator, numerator.shape)
    out = np.full(numerator.shape, otherwise)
    return np.asarray(np.divide(numerator, whole, out=out, where=whole > 0))


def _fold(matrix: FloatArray, first: int, second: int) -> FloatArray:
    """Add one row and column to another and leave it out."""
    matrix[first] += matrix[second]
    matrix[:, first] += matrix[:, second]
    return np.delete(np.delete(matrix, second, axis=0), second, axis=1)


def _check_sums(sums: CoPosterior, criterion: str) -> None:
    """Refuse sums that no posterior probabilities can have."""
    k = np.size(sums.mass)
    needed = {"assigned": sums.assigned}
    if criterion in CRITERIA_OF_PRODUCTS:
        if sums.products is None:
            raise ParameterError(
                f"criterion {criterion!r} needs products of posterior probabilities, and none were "
                "summed; sum them too, or merge by labels with 'misclassification'"
            )
        needed["products"] = sums.products
    for name, matrix in needed.items():
        if k < 1 or np.shape(matrix) != (k, k):
            raise ParameterError(
                f"{name} {np.shape(matrix)} does not belong to {k} components: ({k}, {k}) with at "
                "least one component is needed"
            )
        if not (np.isfinite(matrix).all() and np.min(matrix) >= 0 and np.sum(matrix) > 0):
            raise ParameterError(
                f"{name} must be finite, nonnegative and not all zero; sum it over rows without "
                "missing values and with weight"
            )
