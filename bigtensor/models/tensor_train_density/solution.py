"""Fitted density: trains in common coordinates, and the functions of rows that they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.tensor_train.contraction import contracted, drawn_points
from bigtensor.decomposition.tensor_train.cores import NonnegativeTrain, updated
from bigtensor.errors import ParameterError
from bigtensor.features.coordinates import Coordinates
from bigtensor.features.modes import TAIL_MOMENTS, Mode, Modes, Nodes
from bigtensor.models.contract.data_shape import NamedViews
from bigtensor.models.tensor_train_density.sample_fit import tabulated
from bigtensor.statistics.base import RowFunction, Workspace
from bigtensor.statistics.sub_blocks import sub_blocks
from bigtensor.statistics.tensor_train.contributions import Contributions
from bigtensor.statistics.tensor_train.gaussian_part import GaussianPart
from bigtensor.statistics.tensor_train.imputation import ImputedRows
from bigtensor.statistics.tensor_train.located_rows import RowLocator
from bigtensor.statistics.tensor_train.log_densities import LogDensities, TrainTables
from bigtensor.statistics.tensor_train.state_posteriors import StatePosteriors
from bigtensor.statistics.tensor_train.surprises import Surprises
from bigtensor.statistics.tensor_train.tabulated_train import TabulatedTrain
from bigtensor.statistics.tensor_train.train_counts import TrainCounts, TrainCountsResult

_LEAST_SHARE = float(np.finfo(np.float64).tiny)
"""Least weight of a part of a mixture, of which the logarithm is taken."""

_ROUNDING = float(np.finfo(np.float64).epsneg)
"""Distance of one from the next number below."""


@dataclass(frozen=True, eq=False)
class TrainDensity:
    """A mixture of nonnegative tensor trains in common coordinates.

    Attributes
    ----------
    coordinates : Coordinates
        Coordinates in which the bumps lie.
    modes : Modes
        Points of every variable.
    bumps : tuple of (p, points) float64 arrays
        Of every variable.
    background : tuple of (p,) float64 arrays
        Distribution of the bumps of every variable, the prior of all states.
    trains : tuple of NonnegativeTrain
        Trains of the mixture, over the bumps.
    shares : (trains,) float64 array
        Of the trains in the mixture.
    views : tuple of (name, features)
        Names of the views and of their features.
    gaussian : GaussianPart, optional
        Gaussian components beside the trains.
    gaussian_share : float
        Weight of the Gaussian components, beside the one of the trains.
    """

    coordinates: Coordinates
    modes: Modes
    bumps: tuple[FloatArray, ...]
    background: tuple[FloatArray, ...]
    trains: tuple[NonnegativeTrain, ...]
    shares: FloatArray
    views: NamedViews
    gaussian: GaussianPart | None = None
    gaussian_share: float = 0.0

    @property
    def n_components(self) -> int:
        """Largest number of values of a latent state."""
        return max(train.rank for train in self.trains)

    @property
    def n_trains(self) -> int:
        """Number of trains."""
        return len(self.trains)

    @property
    def order(self) -> NDArray[np.int64]:
        """Variables in the order of the trains, (d,)."""
        return self.trains[0].order

    @property
    def atoms(self) -> dict[str, FloatArray]:
        """Values with a probability of their own, of the variables that have some."""
        return {
            name: mode.atoms
            for name, mode in zip(self.features, self.modes.modes, strict=True)
            if isinstance(mode, Nodes) and len(mode.atoms)
        }

    @cached_property
    def rows(self) -> RowLocator:
        """Function of rows that the tables are looked up with."""
        return RowLocator(self.coordinates, self.modes.locator())

    @cached_property
    def tabulated(self) -> tuple[TabulatedTrain, ...]:
        """The trains by their matrices at all points."""
        first = self.modes.first
        return tuple(tabulated(train, self.bumps, first) for train in self.trains)

    @cached_property
    def tables_of_rows(self) -> TrainTables:
        """The mixture of trains, for functions of rows."""
        return TrainTables(
            self.rows, self.tabulated, self.shares, self.gaussian, self.gaussian_share
        )

    @property
    def answers_queries(self) -> bool:
        """True if coordinates do not mix variables, so that some can be given or summed over."""
        return self.coordinates.axes is None

    def log_densities(self) -> LogDensities:
        """Return the function that gives the log-density of every row."""
        d = len(self.modes.modes)
        return LogDensities(self.tables_of_rows, np.ones(d, np.bool_), np.zeros(d, np.bool_))

    def log_densities_of(self, rows: FloatArray) -> FloatArray:
        """Return the log-densities of rows in memory, (n,)."""
        return np.asarray(_evaluated(self.log_densities(), rows))

    def surprises(self) -> Surprises:
        """Return the function that tells how unusual every entry is given the others."""
        return Surprises(self.tables_of_rows, self.modes.modes)

    def surprises_of(self, rows: FloatArray) -> FloatArray:
        """Return how unusual every entry of rows in memory is given the others, (n, d)."""
        return np.asarray(_evaluated(self.surprises(), rows))

    def contributions(self) -> Contributions:
        """Return the function that gives what every variable adds to the log-density."""
        return Contributions(self.tables_of_rows, self.order)

    def imputed(self, method: str, random_state: int) -> ImputedRows:
        """Return the function that replaces missing entries."""
        return ImputedRows(self.tables_of_rows, self.modes.modes, method, random_state)

    def posteriors(self) -> StatePosteriors:
        """Return the function that gives the posteriors of the latent states.

        Raises
        ------
        ParameterError
            When there is one variable, which has no link.
        """
        if len(self.modes.modes) == 1:
            raise ParameterError("a density of one variable has no latent states")
        return StatePosteriors(self.tables_of_rows)

    def draw(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Draw rows, features beside each other in the order of the views."""
        shares = np.append(self.shares * (1 - self.gaussian_share), self.gaussian_share)
        which = rng.choice(len(shares), n_samples, p=shares / shares.sum())
        coordinates = np.empty((n_samples, len(self.modes.modes)))
        points = np.empty((n_samples, len(self.modes.modes)), np.int64)
        masses = [masses_of(mode) for mode in self.modes.modes]
        for k, (train, tables) in enumerate(zip(self.trains, self.tabulated, strict=True)):
            rows = np.flatnonzero(which == k)
            drawn = drawn_points(train, tables.points, self.modes.first, masses, len(rows), rng)
            points[rows] = drawn
            for j, mode in enumerate(self.modes.modes):
                coordinates[rows, j] = drawn_values(mode, drawn[:, j], rng)
        self._draw_gaussian(np.flatnonzero(which == len(self.trains)), coordinates, points, rng)
        values = self.coordinates.inverse(coordinates)
        for j, mode in enumerate(self.modes.modes):
            if isinstance(mode, Nodes):
                on_atom = points[:, j] >= mode.count
                values[on_atom, j] = mode.atoms[points[on_atom, j] - mode.count]
        return values

    def _draw_gaussian(
        self,
        rows: NDArray[np.intp],
        coordinates: FloatArray,
        points: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> None:
        """Write coordinates and points of some rows, drawn from the Gaussian components."""
        if self.gaussian is None or not len(rows):
            return
        modes = self.modes.modes
        counts = np.array([mode.count if isinstance(mode, Nodes) else 0 for mode in modes])
        coordinates[rows], points[rows] = self.gaussian.draw(
            self.modes.first, counts, len(rows), rng
        )
        for j, mode in enumerate(modes):
            if not isinstance(mode, Nodes):
                coordinates[rows, j] = drawn_values(mode, points[rows, j], rng)

    def without(self, values: Mapping[int, float | None]) -> TrainDensity:
        """Return the density of the other variables.

        Parameters
        ----------
        values : mapping of int to float or None
            Variables to take out: given at a value, or summed over. Coordinates have no axes.
        """
        d = len(self.modes.modes)
        rows = np.full((1, d), np.nan)
        for j, value in values.items():
            rows[0, j] = np.nan if value is None else value
        located = self.rows.located(Block(rows, {}, 0, 1), Workspace())
        point, left, right = located.point, located.left, located.right
        trains, logs = [], []
        for train, tables in zip(self.trains, self.tabulated, strict=True):
            at = {
                j: left[0, j] * tables.points[point[0, j]]
                + right[0, j] * tables.points[point[0, j] + 1]
                for j in values
            }
            contraction, log_mass = contracted(train, at)
            trains.append(contraction)
            logs.append(log_mass)
        kept = np.array([j for j in range(d) if j not in values], np.int64)
        names = [self.features[j] for j in kept]
        log_shares = np.log(self.shares) + np.array(logs)
        gaussian, gaussian_share = None, 0.0
        if self.gaussian is not None:
            removed = np.array(sorted(values), np.int64)
            gaussian = self.gaussian.conditional_on(located, removed, self._points_of(kept))
            evidence = float(self.gaussian.log_densities(located)[0])
            odds = evidence - float(logsumexp(log_shares))
            share = self.gaussian_share
            odds += float(np.log(share) - np.log1p(-share))
            # a part without any weight has no logarithm
            gaussian_share = float(np.clip(expit(odds), _LEAST_SHARE, 1 - _ROUNDING))
        return TrainDensity(
            coordinates=self.coordinates.select(kept),
            modes=self.modes.select(kept.tolist()),
            bumps=tuple(self.bumps[j] for j in kept),
            background=tuple(self.background[j] for j in kept),
            trains=tuple(trains),
            shares=np.maximum(softmax(log_shares), _LEAST_SHARE),
            views=tuple((name, (name,)) for name in names),
            gaussian=gaussian,
            gaussian_share=gaussian_share,
        )

    def in_order(self, order: Sequence[int]) -> TrainDensity:
        """Return the density with its variables in another order.

        Parameters
        ----------
        order : sequence of int
            Position of every variable in the present order. Coordinates have no axes.
        """
        variables = np.array(order, np.int64)
        # branchings of a tree have negative numbers
        place = np.argsort(variables)
        trains = []
        for train in self.trains:
            nodes = train.nodes.copy()
            of_variable = nodes[:, 0] >= 0
            nodes[of_variable, 0] = place[nodes[of_variable, 0]]
            trains.append(replace(train, nodes=nodes))
        gaussian = self.gaussian
        if gaussian is not None:
            gaussian = gaussian.in_order(variables, self._points_of(variables))
        return replace(
            self,
            coordinates=self.coordinates.select(variables),
            modes=self.modes.select(order),
            bumps=tuple(self.bumps[j] for j in order),
            background=tuple(self.background[j] for j in order),
            trains=tuple(trains),
            views=tuple((self.features[j], (self.features[j],)) for j in order),
            gaussian=gaussian,
        )

    def _points_of(self, variables: IntArray) -> IntArray:
        """Return the points of some variables, and the last one of all."""
        first = self.modes.first
        points = [np.arange(first[j], first[j + 1]) for j in variables]
        return np.concatenate([*points, first[-1:]])

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(name for _, members in self.views for name in members)

    def counts(self, hold_out: int, random_state: int) -> TrainCounts:
        """Return the sums over rows that one step of expectation maximisation needs."""
        return TrainCounts(self.rows, self.tabulated, self.shares, hold_out, random_state)

    def updated(self, counts: TrainCountsResult, prior_weight: float) -> TrainDensity:
        """Return the density after a step of expectation maximisation.

        Parameters
        ----------
        counts : TrainCountsResult
            Expected counts of the states, summed over the rows.
        prior_weight : float
            Rows that the background adds to every state.
        """
        first = self.modes.first
        trains = tuple(
            updated(train, self.bumps, first, sums, self.background, prior_weight)
            for train, sums in zip(self.trains, counts.sums, strict=True)
        )
        return replace(self, trains=trains)


def _evaluated(function: RowFunction, rows: FloatArray) -> NDArray[Any]:
    """Return the output of a function of rows."""
    (output,) = function.outputs
    values = np.empty((len(rows), *output.dims.values()), output.dtype)
    work = Workspace()
    for window, block in sub_blocks(Block(rows, {}, 0, len(rows)), function.block_rows):
        function.evaluate(block, {output.name: values[window]}, work)
    return values


def masses_of(mode: Mode) -> FloatArray:
    """Return the integrals of the functions that are one at a point of a mode alone."""
    return mode.masses if isinstance(mode, Nodes) else np.ones(mode.count)


def drawn_values(mode: Mode, points: NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
    """Draw values from the functions that are one at a point alone, and linear beside it.

    Parameters
    ----------
    mode : Nodes or Symbols
        Points of the variable.
    points : (n,) int64 array
        Counted from the first of the mode.
    rng : Generator
        Source of random numbers.
    """
    if not isinstance(mode, Nodes):
        # another symbol has no value
        return np.append(mode.values, np.nan)[points]
    # a triangle about the point; at the ends half of one, and a tail
    offset = mode.step * (rng.random(len(points)) + rng.random(len(points)) - 1)
    of_tail = mode.tail / TAIL_MOMENTS
    in_tail = rng.random(len(points)) < of_tail / (of_tail + mode.step / 2)
    tail = mode.tail * (rng.random(len(points)) ** (-1 / TAIL_MOMENTS) - 1)
    for end, sign in ((0, 1.0), (mode.count - 1, -1.0)):
        at = points == end
        offset[at] = sign * np.where(in_tail[at], -tail[at], np.abs(offset[at]))
    # an atom has no coordinate
    nodes = np.append(mode.points, np.full(len(mode.atoms), np.nan))
    return np.asarray(nodes[points] + offset)
