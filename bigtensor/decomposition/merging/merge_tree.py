"""The tree that merging components leaves behind, and where to cut it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.errors import ParameterError, Setting

SEPARATE_PAIR_BELOW = 0.025
"""Misclassification probability below which two populations are two.

The value that Hennig (2010, eq. 9) recommends for directly estimated probabilities.
"""

SEPARATE_PAIR_BELOW_ON_AVERAGE = 0.05
"""`SEPARATE_PAIR_BELOW` for the mean of the two probabilities of a pair.

Chosen on gated cells, with their gates in sight: 7 to 10 populations where 10 were gated, 11 or 12
where 6 were, 5 to 10 where 3 to 5 were.
"""


@dataclass(frozen=True, eq=False)
class MergeTree:
    """Tree of merges from k components to one population.

    Attributes
    ----------
    merges : ndarray of shape (k - 1, 2), int64
        The two populations of every merge, smaller number first: numbers below k are components,
        and merge i makes the population k + i.
    heights : ndarray of shape (k - 1,)
        The criterion of the merged pair, between 0 and 1; large values say that two belong
        together. It need not fall from one merge to the next.
    weights : ndarray of shape (k,)
        Shares of the components in all rows; they sum to one.
    criterion : str
        What the heights are.
    automatic_count : int, optional
        Number of populations that was chosen by other means than the heights.
    stability : ndarray of shape (2 k - 1,), optional
        Stability of every population of the tree, numbered as in ``merges``, between 0 and 1. NaN
        where it is not known.

    Raises
    ------
    ParameterError
        When the shapes do not belong together or the merges are not those of a tree.
    """

    merges: IntArray
    heights: FloatArray
    weights: FloatArray
    criterion: str
    automatic_count: int | None = None
    stability: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "merges", np.asarray(self.merges, np.int64))
        for name in ("heights", "weights", "stability"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
        k = self.weights.size
        if (
            k < 1
            or self.weights.shape != (k,)
            or self.merges.shape != (k - 1, 2)
            or self.heights.shape != (k - 1,)
            or (self.stability is not None and self.stability.shape != (2 * k - 1,))
        ):
            raise ParameterError(
                f"merges {self.merges.shape}, heights {self.heights.shape} and weights "
                f"{self.weights.shape} do not belong together: (k - 1, 2), (k - 1,) and (k,) with "
                "at least one component are needed, and 2 k - 1 numbers of stability if there are "
                "any"
            )
        new_nodes = np.arange(k, 2 * k - 1)
        if not (
            np.array_equal(np.sort(self.merges, axis=None), np.arange(2 * k - 2))
            and (self.merges.max(axis=1, initial=-1) < new_nodes).all()
        ):
            raise ParameterError(
                "merges must use every component and every earlier merge exactly once; use the "
                "arrays of a tree unchanged"
            )

    @property
    def n_components(self) -> int:
        """The number of components, k."""
        return int(self.weights.size)

    def summed(self, values: FloatArray) -> FloatArray:
        """Return the sums over the components of every population of the tree.

        Parameters
        ----------
        values : (k, ...) float64 array
            A row for every component.

        Returns
        -------
        (2 k - 1, ...) float64 array
            A row for every population, numbered as in ``merges``.
        """
        k = self.n_components
        sums = np.empty((2 * k - 1, *values.shape[1:]))
        sums[:k] = values
        for step, (first, second) in enumerate(self.merges):
            sums[k + step] = sums[first] + sums[second]
        return sums

    def nodes_of(self, of_component: IntArray) -> IntArray:
        """Return the numbers that populations have in ``merges``, -1 for one that is not there.

        Parameters
        ----------
        of_component : (k,) integer array
            The population of every component.
        """
        node_of_members = {
            members.tobytes(): node
            for node, members in enumerate(self.summed(np.eye(self.n_components)))
        }
        populations = np.arange(of_component.max() + 1)
        members = (populations[:, None] == of_component).astype(np.float64)
        return np.array([node_of_members.get(one.tobytes(), -1) for one in members], np.int64)

    def cut(self, n_populations: int) -> IntArray:
        """Return the population of every component after the first k - n_populations merges.

        Parameters
        ----------
        n_populations : int
            Between 1 and the number of components.

        Returns
        -------
        ndarray of shape (k,), int64
            Numbers from 0, heaviest population first; of equally heavy ones that which has the
            first component.

        Raises
        ------
        ParameterError
            When ``n_populations`` is out of range.
        """
        k = self.n_components
        if not 1 <= n_populations <= k:
            raise ParameterError(
                Setting("n_populations")
                + f" must be between 1 and the {k} components, got {n_populations}; fit more "
                "components for more populations"
            )
        # from the last merge that is made to the first: both halves belong where the whole does
        top = np.arange(2 * k - 1)
        for step in range(k - n_populations - 1, -1, -1):
            top[self.merges[step]] = top[k + step]
        node = top[:k]
        # numbered by their first components, so that a stable sort settles equal weights
        _, first, population = np.unique(node, return_index=True, return_inverse=True)
        weight = np.bincount(population, self.weights)
        rank = np.empty(n_populations, np.int64)
        rank[np.lexsort((first, -weight))] = np.arange(n_populations)
        return np.asarray(rank[population])

    def cut_automatically(self) -> int:
        """Return a number of populations by a rule that suits the criterion.

        If the tree has an `automatic_count`, this is the answer. For the quadratic entropy, it is
        `count_at_bend` (Baudry et al. 2010). All other criteria are relative to the size of the
        pair, and the answer is `count_above` a threshold: 0.05 for the mean misclassification, and
        0.025 for the others (Hennig 2010).
        """
        if self.automatic_count is not None:
            return self.automatic_count
        if self.criterion == "quadratic_entropy":
            return self.count_at_bend()
        mean = self.criterion == "mean_misclassification"
        return self.count_above(SEPARATE_PAIR_BELOW_ON_AVERAGE if mean else SEPARATE_PAIR_BELOW)

    def count_above(self, threshold: float) -> int:
        """Return the number of populations when the criterion first falls below a threshold.

        Parameters
        ----------
        threshold : float
            Pairs are merged while their criterion is at least this.
        """
        below = np.flatnonzero(self.heights < threshold)
        merged = int(below[0]) if below.size else len(self.heights)
        return self.n_components - merged

    def count_at_bend(self) -> int:
        """Return the number of populations at the bend of the entropy plot.

        The plot shows, for every number of populations K, the sum of the heights of the merges
        from K populations down to one, which for the quadratic entropy is the entropy that is left.
        Two straight lines are fitted by least squares, one to the points up to a K and one to the
        points from it, and the best K is returned (Baudry et al. 2010, entropy plots). It is
        never 1; up to two components are left as they are.
        """
        k = self.n_components
        if k <= 2:
            return k
        left = np.concatenate([[0.0], np.cumsum(self.heights[::-1])])
        number = np.arange(1.0, k + 1)
        errors = [
            _line_error(number[:bend], left[:bend])
            + _line_error(number[bend - 1 :], left[bend - 1 :])
            for bend in range(2, k)
        ]
        return 2 + int(np.argmin(errors))

    def divided(self, components: IntArray, shares: FloatArray) -> MergeTree:
        """Return the tree in which some components have a second part.

        The second parts are leaves after the components, in the order of the list. They are merged
        with each other first, and with everything else in the last merge.

        Parameters
        ----------
        components : (m,) integer array
            Components that are divided, each once.
        shares : (m,) float64 array
            Share of the second part in its component.
        """
        k, m = self.n_components, len(components)
        second = k + np.arange(m)
        merges = [
            (second[place], second[0] if place == 1 else k + m + place - 2) for place in range(1, m)
        ]
        # merges of earlier merges move by the new leaves and the new merges before them
        kept = np.where(self.merges < k, self.merges, self.merges + 2 * m - 1)
        roots = second[0] if m == 1 else k + 2 * m - 2, 0 if k == 1 else 2 * k + 2 * m - 3
        weights = np.concatenate([self.weights, self.weights[components] * shares])
        weights[components] *= 1 - shares
        return replace(
            self,
            merges=np.sort(np.array([*merges, *kept, roots]), axis=1),
            heights=np.concatenate([np.ones(m - 1), self.heights, [0.0]]),
            weights=weights,
            automatic_count=self.automatic_count and self.automatic_count + 1,
            stability=self._stability_after_division(components),
        )

    def _stability_after_division(self, components: IntArray) -> FloatArray | None:
        """Return the stability of populations without a divided component, and of all rows."""
        if self.stability is None:
            return None
        k, m = self.n_components, len(components)
        divided = self.summed(np.isin(np.arange(k), components).astype(np.float64)) > 0
        left = np.where(divided, np.nan, self.stability)
        new_leaves, new_merges = np.full(m, np.nan), np.full(m - 1, np.nan)
        return np.concatenate([left[:k], new_leaves, new_merges, left[k:], [1.0]])

    def reordered(self, order: IntArray) -> MergeTree:
        """Return the tree of the components in another order.

        Parameters
        ----------
        order : (k,) integer array
            Present numbers of the components, in the new order.
        """
        k = self.n_components
        new = np.arange(2 * k - 1)
        new[order] = np.arange(k)
        stability = self.stability
        if stability is not None:
            stability = np.concatenate([stability[order], stability[k:]])
        return replace(
            self,
            merges=np.sort(new[self.merges], axis=1),
            weights=self.weights[order],
            stability=stability,
        )

    def linkage(self) -> FloatArray:
        """Return the tree as `scipy.cluster.hierarchy` wants it, for its dendrogram.

        Returns
        -------
        ndarray of shape (k - 1, 4)
            Both populations, their distance and the number of components. The distance is one
            minus the height, and at least that of all earlier merges, so that no line of the
            drawing goes down.
        """
        k = self.n_components
        sizes = np.ones(2 * k - 1)
        for step, pair in enumerate(self.merges):
            sizes[k + step] = sizes[pair].sum()
        distance = np.maximum.accumulate(np.maximum(1 - self.heights, 0.0))
        return np.column_stack([self.merges, distance, sizes[k:]])


def _line_error(x: FloatArray, y: FloatArray) -> float:
    """Return the sum of squares that the best straight line leaves of at least two points."""
    x, y = x - x.mean(), y - y.mean()
    return float(np.sum((y - x * (x @ y) / (x @ x)) ** 2))
