"""Trains of a pilot sample, by expectation maximisation in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.tensor_train.cores import (
    NonnegativeTrain,
    branch_tables,
    node_tables,
    updated,
)
from bigtensor.decomposition.tensor_train.initialisation import (
    background_weights,
    train_of_clusters,
)
from bigtensor.decomposition.tensor_train.structure import balanced, chain, with_independent
from bigtensor.decomposition.tensor_train.variable_order import chain_order, dependence
from bigtensor.features.bumps import bumps_on, nodes_of
from bigtensor.features.category_order import category_places, recoded
from bigtensor.features.clustering import kmeans
from bigtensor.features.coordinates import Coordinates
from bigtensor.features.modes import Mode, Modes
from bigtensor.models.tensor_train_density.sample.coordinate_systems import coordinates_in_memory
from bigtensor.models.tensor_train_density.sample.pilot import PilotRows, tie_width
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.tensor_train.located_rows import LocatedRows
from bigtensor.statistics.tensor_train.tabulated_train import TabulatedTrain

PRIOR_WEIGHT = 1.0
"""Rows that the background adds to every state."""

STRUCTURES = {"chain": chain, "balanced": balanced}
"""What the latent states run along."""

REACH = 8.0
"""Largest distance of a node from the median, in standard deviations; tails begin there."""

ROWS_OF_ORDER = 3000
"""Rows in which the dependence of variables is measured."""

_ROWS_OF_CLUSTERS = 5000
"""Rows whose clusters are the states of the initialisation."""

_OUTSIDE = 0.5
"""Rows that all bumps of a variable together have beside those of the sample."""


@dataclass(frozen=True, eq=False)
class SampleProblem:
    """Rows of a sample at the points of their modes, and the bumps there.

    Attributes
    ----------
    coordinates : Coordinates
        Coordinates in which the bumps lie.
    modes : Modes
        Points of every variable.
    bumps : tuple of (p, points) float64 arrays
        Values of every bump at the points of its variable.
    located : LocatedRows
        Points and interpolation weights of the rows.
    values : (n, d) float64 array
        Coordinates of the rows.
    weight : (n,) float64 array
        Sample weights of the rows.
    structure : {"chain", "balanced"}
        Arrangement of the latent states.
    categorical : bool, default False
        True if all values are codes of categories, whose order says nothing.
    """

    coordinates: Coordinates
    modes: Modes
    bumps: tuple[FloatArray, ...]
    located: LocatedRows
    values: FloatArray
    weight: FloatArray
    structure: str
    categorical: bool = False

    @classmethod
    def of_rows(
        cls, rows: PilotRows, coordinates: Coordinates, widths: tuple[float, ...], structure: str
    ) -> SampleProblem:
        """Return the problem of some rows.

        Parameters
        ----------
        rows : PilotRows
            Rows of the sample, in the units of the data.
        coordinates : Coordinates
            Coordinates in which the bumps lie.
        widths : tuple of float
            Standard deviations of bumps, ascending.
        structure : {"chain", "balanced"}
            Arrangement of the latent states.
        """
        values, _ = coordinates_in_memory(coordinates, rows.values)
        continuous, log_slope = coordinates_in_memory(coordinates, rows.continuous)
        modes: list[Mode] = []
        bumps: list[FloatArray] = []
        for j, (column, symbols) in enumerate(zip(continuous.T, rows.symbols, strict=True)):
            if symbols is None:
                present = column[~np.isnan(column)]
                least = max(rows.least_width or 0.0, tie_width(present))
                own = tuple(dict.fromkeys(max(width, least) for width in widths))
                mode = nodes_of(present, own, REACH)
                mode = replace(mode, atoms=rows.atoms[j], places=_places(coordinates, rows, j))
                modes.append(mode)
                bumps.append(bumps_on(mode, own))
            else:
                modes.append(symbols)
                bumps.append(bumps_on(symbols, ()))
        all_modes = Modes(tuple(modes))
        located = located_at(all_modes, continuous, rows.values, log_slope)
        return cls(
            *(coordinates, all_modes, tuple(bumps), located),
            *(values, rows.weight, structure, rows.categorical),
        )

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """First point of every variable."""
        return self.modes.first

    @cached_property
    def background(self) -> tuple[FloatArray, ...]:
        """Distribution of the bumps of every variable."""
        return tuple(
            background_weights(bumps, of_points[:, 0], _OUTSIDE / len(bumps))
            for bumps, of_points in zip(self.bumps, self._binned_rows, strict=True)
        )

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Order of the variables, those without an entry last."""
        dependences = dependence(self._features(), self.weight[:ROWS_OF_ORDER])
        present = np.flatnonzero(self._has_entries)
        order = present[chain_order(dependences[np.ix_(present, present)])]
        return np.concatenate([order, np.flatnonzero(~self._has_entries)])

    @cached_property
    def nodes(self) -> NDArray[np.int64]:
        """Nodes of the chain or tree along the order of the variables."""
        order, count = self.order.tolist(), int(self._has_entries.sum())
        return with_independent(STRUCTURES[self.structure](order[:count]), order[count:])

    @cached_property
    def _has_entries(self) -> NDArray[np.bool_]:
        """True for variables with entries, (d,), and for all of them if none has any."""
        has_entries = np.array([of_points.any() for of_points in self._binned_rows])
        return has_entries if has_entries.any() else ~has_entries

    @cached_property
    def _binned_rows(self) -> list[FloatArray]:
        """Weight of all rows at every point of every variable, (points, 1)."""
        return self._binned(np.zeros(len(self.weight), np.intp), 1)

    def _features(self) -> Iterator[FloatArray]:
        """Yield the bumps of every variable at some rows, (n, p)."""
        leading = self.located.take(slice(ROWS_OF_ORDER))
        for j, bumps in enumerate(self.bumps):
            point = leading.point[:, j] - self.first[j]
            above = np.minimum(point + 1, bumps.shape[1] - 1)
            values = bumps[:, point] * leading.left[:, j] + bumps[:, above] * leading.right[:, j]
            # a missing entry says nothing
            present = point < bumps.shape[1] - 1
            centre = values[:, present].mean(axis=1) if present.any() else np.zeros(len(bumps))
            yield np.where(present, values, centre[:, None]).T

    def locate(self, rows: PilotRows) -> LocatedRows:
        """Return other rows at the points of the modes."""
        values, log_slope = coordinates_in_memory(self.coordinates, rows.continuous)
        return located_at(self.modes, values, rows.values, log_slope)

    def clusters(self, rank: int, random_state: int) -> NDArray[np.intp]:
        """Return the cluster of every row, (n,), and -1 for rows that were not clustered.

        Clusters do not depend on the bumps.
        """
        labels = np.full(len(self.values), -1, np.intp)
        clustered = slice(_ROWS_OF_CLUSTERS)
        weight = self.weight[clustered]
        rank = min(rank, int(np.count_nonzero(weight > 0)))
        labels[clustered] = 0
        if rank > 1:
            # codes are often as near to one centre as to another, where rounding of sums over
            # columns decides: columns are in the order of the chain, not in that of the data
            rows = _standardised(self._comparable[clustered][:, self.order])
            labels[clustered] = kmeans(rows, rank, random_state, weight=weight).labels
        return labels

    @cached_property
    def _comparable(self) -> FloatArray:
        """Coordinates of the rows; places of categories, which no names and codes change."""
        if not self.categorical:
            return self.values
        codes = np.nan_to_num(self.values, nan=-1).astype(np.int64)
        sizes = [bumps.shape[0] for bumps in self.bumps]
        places = recoded(codes, category_places(codes, sizes, self.weight)).astype(np.float64)
        return np.where(codes < 0, np.nan, places)

    def start(self, labels: NDArray[np.intp]) -> NonnegativeTrain:
        """Return a train whose states are clusters of the rows."""
        rank = int(labels.max()) + 1
        used = labels >= 0
        binned = self._binned(labels, rank)
        shares = np.bincount(labels[used], self.weight[used], minlength=rank) + _OUTSIDE
        return train_of_clusters(
            *(self.nodes, self.bumps, self.background, binned, shares / shares.sum()),
            independent=~self._has_entries,
        )

    def steps(self, train: NonnegativeTrain) -> Iterator[tuple[NonnegativeTrain, TabulatedTrain]]:
        """Yield the train and its tables, and then after every expectation maximisation step."""
        log_density, work = np.empty(len(self.weight)), Workspace()
        while True:
            tables = tabulated(train, self.bumps, self.first)
            yield train, tables
            sums = np.zeros_like(tables.points), np.zeros_like(tables.branches)
            tables.add_counts(self.located, self.weight, sums, log_density, work)
            train = updated(train, self.bumps, self.first, sums, self.background, PRIOR_WEIGHT)

    def fitted(self, rank: int, random_state: int, steps: int) -> tuple[NonnegativeTrain, float]:
        """Return a train after some steps from an initialisation, and its log-likelihood.

        Parameters
        ----------
        rank : int
            Number of values of the latent states.
        random_state : int
            Of the initialisation.
        steps : int
            Number of steps of expectation maximisation.
        """
        start = self.start(self.clusters(rank, random_state))
        train, tables = next(islice(self.steps(start), steps, None))
        log_density = np.empty(len(self.weight))
        tables.write_log_densities(self.located, log_density, Workspace())
        return train, float(self.weight @ log_density)

    def _binned(self, labels: NDArray[np.intp], count: int) -> list[FloatArray]:
        """Return the weight of the rows of every label at every point, by variable."""
        used = labels >= 0
        binned = []
        for j, bumps in enumerate(self.bumps):
            size = bumps.shape[1]
            point = self.located.point[used, j] - self.first[j]
            above = np.minimum(point + 1, size - 1)
            summed = np.zeros(size * count)
            for at, share in ((point, self.located.left), (above, self.located.right)):
                weight = self.weight[used] * share[used, j]
                summed += np.bincount(at * count + labels[used], weight, minlength=size * count)
            of_points = summed.reshape(size, count)
            # a missing entry says nothing about bumps
            of_points[-1] = 0
            binned.append(of_points)
        return binned


def tabulated(
    train: NonnegativeTrain, bumps: Sequence[FloatArray], first: NDArray[np.int64]
) -> TabulatedTrain:
    """Return a train by its matrices at all points.

    Parameters
    ----------
    train : NonnegativeTrain
        Nonnegative train over bumps.
    bumps : sequence of (p, points) float64 arrays
        Of every variable.
    first : (d + 1,) int64 array
        First point of every variable.
    """
    return TabulatedTrain(train.nodes, node_tables(train, bumps, first), branch_tables(train))


def located_at(
    modes: Modes, values: FloatArray, entries: FloatArray, log_slope: FloatArray
) -> LocatedRows:
    """Return coordinates, and the same entries in the units of the data, at the points of modes."""
    point = np.empty(values.shape, np.int32)
    left, right = np.empty(values.shape), np.empty(values.shape)
    modes.locator().locate(values, entries, point, left, right)
    return LocatedRows(point, left, right, log_slope, values)


def _places(coordinates: Coordinates, rows: PilotRows, variable: int) -> FloatArray:
    """Return the coordinates of the atoms of one variable, which is not rotated."""
    atoms = rows.atoms[variable]
    alone = np.full((len(atoms), len(rows.symbols)), np.nan)
    alone[:, variable] = atoms
    return coordinates_in_memory(coordinates, alone)[0][:, variable].copy()


def _standardised(values: FloatArray) -> FloatArray:
    """Return columns of mean zero and variance one, with missing entries at the mean."""
    present = ~np.isnan(values)
    counts = np.maximum(present.sum(axis=0), 1)
    centred = np.where(present, values - np.where(present, values, 0).sum(axis=0) / counts, 0)
    variances = np.square(centred).sum(axis=0) / counts
    return centred / np.sqrt(np.where(variances > 0, variances, 1))
