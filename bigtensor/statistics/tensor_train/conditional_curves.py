"""Density of one variable given the others, row by row, with its mean and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logsumexp, softmax

from bigtensor.array_types import FloatArray
from bigtensor.features.buffers import Buffers
from bigtensor.features.coordinates import Coordinates
from bigtensor.features.modes import TAIL_MOMENTS, Mode, Nodes
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.tensor_train.gaussian_part import ConditionalNormals
from bigtensor.statistics.tensor_train.located_rows import LocatedRows
from bigtensor.statistics.tensor_train.log_densities import TrainTables
from bigtensor.statistics.tensor_train.messages import TrainMessages

_CELL_POINTS = 64
"""Points of a Gauss-Legendre rule between two nodes."""

_TABLE_POINTS = 1025
"""Points of the table between which a variable is linear, for means over normal distributions."""

_FARTHEST = 1e4
"""Lengths of a tail within which quantiles are looked for."""

_HALVINGS = 60
"""Steps of a bisection."""


@dataclass(frozen=True, eq=False)
class ConditionalDensity:
    """Density of one variable given the others, row by row.

    Attributes
    ----------
    curves : (n, points) float64 array
        Density at the nodes, and probabilities of atoms or symbols. With Gaussian components,
        the density at nodes is the part that the trains have.
    normals : ConditionalNormals, optional
        Part that the Gaussian components have beside atoms.
    """

    curves: FloatArray
    normals: ConditionalNormals | None

    def mass_below(self, mode: Nodes, places: FloatArray | float) -> FloatArray:
        """Return the probability of coordinates below a place that are on no atom, (n,).

        Parameters
        ----------
        mode : Nodes
            Mode of the variable.
        places : float or (n,) float64 array
            Coordinates.
        """
        mass = mode.mass_below_place(self.curves[:, : mode.count], places)
        return mass if self.normals is None else mass + self.normals.mass_below(places)

    def place_of(self, mode: Nodes, levels: FloatArray, totals: FloatArray) -> FloatArray:
        """Return where the probability of coordinates on no atom has a level, (n,).

        Parameters
        ----------
        mode : Nodes
            Mode of the variable.
        levels, totals : (n,) float64 arrays
            Levels, and probabilities of all coordinates on no atom.
        """
        low = np.full(len(levels), mode.start - _FARTHEST * mode.tail)
        high = np.full(len(levels), mode.points[-1] + _FARTHEST * mode.tail)
        levels = np.minimum(levels, totals)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_below = self.mass_below(mode, middle) < levels
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        return np.asarray((low + high) / 2)


@dataclass(frozen=True, eq=False)
class ConditionalCurves:
    """Density of one variable at the points of its mode, given the other entries of a row.

    Parameters
    ----------
    trains : TrainTables
        In coordinates without axes.
    variable : int
        Position of the variable.
    mode : Nodes or Symbols
        Of the variable.
    """

    trains: TrainTables
    variable: int
    mode: Mode

    @cached_property
    def coordinates(self) -> Coordinates:
        """Coordinates of the variable alone."""
        return self.trains.rows.coordinates.select(np.array([self.variable]))

    @cached_property
    def moments(self) -> FloatArray:
        """Integrals of the variable times the functions that are one at a point alone."""
        if not isinstance(self.mode, Nodes):
            raise TypeError("a categorical variable has no mean")
        return np.append(_moments(self.mode, self.coordinates), self.mode.atoms)

    @cached_property
    def table(self) -> tuple[FloatArray, FloatArray]:
        """Coordinates, and values of the variable there, which is linear outside them."""
        scores = self.coordinates.scores
        low, high = (-1.0, 1.0) if scores is None else scores.scores[0, [0, -1]]
        # a hundredth beyond the knots the variable is linear
        margin = 0.01 * (high - low)
        places = np.linspace(low - margin, high + margin, _TABLE_POINTS)
        return places, self.coordinates.inverse(places[:, None])[:, 0]

    def write(
        self, messages: Sequence[TrainMessages], located: LocatedRows, work: Workspace
    ) -> ConditionalDensity:
        """Return the density of the variable, in a buffer of the workspace.

        Parameters
        ----------
        messages : sequence of TrainMessages
            Of every train; entries of the variable are not looked at.
        located : LocatedRows
            The rows that the messages are of.
        work : Workspace
            Buffers that are reused from block to block.
        """
        curves, log_evidence = self._of_trains(messages, work)
        gaussian = self.trains.gaussian
        if gaussian is None:
            return ConditionalDensity(curves, None)
        first = int(self.trains.rows.locator.first[self.variable])
        normals = gaussian.conditional(located, self.variable, first + self.mode.size)
        share = self.trains.gaussian_share
        odds = normals.log_evidence - log_evidence + np.log(share) - np.log1p(-share)
        of_gaussian = expit(odds)[:, None]
        curves *= 1 - of_gaussian
        tables = np.exp(gaussian.log_tables[first : first + self.mode.size])
        weights = normals.weights * of_gaussian
        if not isinstance(self.mode, Nodes):
            curves += weights @ tables.T
            return ConditionalDensity(curves, None)
        curves[:, self.mode.count :] += weights @ tables[self.mode.count :].T
        return ConditionalDensity(curves, normals.scaled(of_gaussian * tables[0]))

    def _of_trains(
        self, messages: Sequence[TrainMessages], work: Workspace
    ) -> tuple[FloatArray, FloatArray]:
        """Return the density under the trains, and the log-density of the other entries."""
        n, size = len(messages[0].logs), self.mode.size + 1
        first = int(self.trains.rows.locator.first[self.variable])
        count = len(messages)
        curves = work.take("curves.of_trains", (count, n, size), "float64")
        weights = work.take("curves.log_density", (count, n), "float64")
        for k, of_train in enumerate(messages):
            table = of_train.train.points[first : first + size]
            r = table.shape[1]
            states = work.take(f"curves.states{k}", (n, r, r), "float64")
            weights[k] = of_train.around(of_train.train.node_of(self.variable), states)
            np.matmul(states.reshape(n, r * r), table.reshape(size, r * r).T, out=curves[k])
        # the last point of a variable is its missing entry: the density of the others
        rest = curves[:, :, -1:].copy()
        curves /= rest
        weights += np.log(rest[:, :, 0])
        density = work.take("curves.curves", (n, size), "float64")
        np.einsum("kn,knt->nt", softmax(weights, axis=0), curves, out=density)
        return density[:, :-1], logsumexp(weights, axis=0)

    def means(self, density: ConditionalDensity) -> FloatArray:
        """Return the mean of a measured variable, (n,)."""
        means = density.curves @ self.moments
        normals = density.normals
        if normals is not None:
            means = means + normals.means_of(*self.table)
        return np.asarray(means)

    def quantiles(self, density: ConditionalDensity, levels: FloatArray) -> FloatArray:
        """Return quantiles of the variable, (n,).

        Parameters
        ----------
        density : ConditionalDensity
            Of the variable, as `write` returns it.
        levels : (n,) float64 array
            Between zero and one.

        Returns
        -------
        (n,) float64 array
            NaN for a categorical variable without symbols.
        """
        if isinstance(self.mode, Nodes):
            return self._measured_quantiles(self.mode, density, levels)
        if not len(self.mode.values):
            return np.full(len(levels), np.nan)
        curves = density.curves
        cumulative = np.cumsum(curves[:, : len(self.mode.values)], axis=1)
        reached = cumulative < (levels * cumulative[:, -1])[:, None]
        places = np.minimum(reached.sum(axis=1), len(self.mode.values) - 1)
        return np.asarray(self.mode.values[places])

    def _measured_quantiles(
        self, mode: Nodes, density: ConditionalDensity, levels: FloatArray
    ) -> FloatArray:
        """Return quantiles of a measured variable, which may have atoms."""
        curves = density.curves
        continuous, atoms = curves[:, : mode.count], curves[:, mode.count :]
        total = np.maximum(1 - atoms.sum(axis=1), 0)
        rest, on_atom = levels.copy(), np.full(len(curves), np.nan)
        for k, (atom, place) in enumerate(zip(mode.atoms, mode.places, strict=True)):
            # of `rest`, earlier atoms are taken out already
            below = density.mass_below(mode, place)
            reached = rest >= below
            beyond = reached & (rest > below + atoms[:, k])
            on_atom[reached & ~beyond & np.isnan(on_atom)] = atom
            rest[beyond] -= atoms[beyond, k]
        coordinate = np.empty((len(curves), 1))
        if density.normals is None:
            heights = np.ascontiguousarray(continuous)
            start, step, tail = mode.start, mode.step, mode.tail
            _write_quantiles(heights, rest, total, start, step, tail, coordinate)
        else:
            coordinate[:, 0] = density.place_of(mode, rest, total)
        values = self.coordinates.inverse(coordinate)[:, 0]
        return np.asarray(np.where(np.isnan(on_atom), values, on_atom))

    def most_probable(self, density: ConditionalDensity) -> FloatArray:
        """Return the most probable symbol of a categorical variable, (n,); NaN if it has none."""
        assert not isinstance(self.mode, Nodes)
        if not len(self.mode.values):
            return np.full(len(density.curves), np.nan)
        places = np.argmax(density.curves[:, : len(self.mode.values)], axis=1)
        return np.asarray(self.mode.values[places])

    def buffers(self, rows: int) -> Buffers:
        """Return the buffers of ``rows`` rows."""
        size, count = self.mode.size + 1, len(self.trains.trains)
        ranks = [train.points.shape[1] for train in self.trains.trains]
        return {
            **{f"curves.states{k}": ((rows, r, r), "float64") for k, r in enumerate(ranks)},
            "curves.of_trains": ((count, rows, size), "float64"),
            "curves.log_density": ((count, rows), "float64"),
            "curves.curves": ((rows, size), "float64"),
        }


def _moments(nodes: Nodes, coordinates: Coordinates) -> FloatArray:
    """Return the integrals of a variable times the functions of its nodes, (points,)."""
    points, weights = np.polynomial.legendre.leggauss(_CELL_POINTS)
    parts, weights = (points + 1) / 2, weights / 2 * nodes.step
    left, right = 1 - parts, parts
    at = nodes.points[:-1, None] + nodes.step * parts
    values = coordinates.inverse(at.reshape(-1, 1)).reshape(at.shape)
    moments = np.zeros(nodes.count)
    moments[:-1] += values @ (weights * left)
    moments[1:] += values @ (weights * right)
    # tails begin beyond the sample, where the variable is linear in its coordinate
    for end, sign in ((0, -1), (-1, 1)):
        at = nodes.points[end] + sign * np.array([0, nodes.tail])
        value, beyond = coordinates.inverse(at[:, None])[:, 0]
        mass = nodes.tail / TAIL_MOMENTS
        moments[end] += value * mass + (beyond - value) / nodes.tail * nodes.tail_moment
    return moments


@row_loop
def _write_quantiles(
    curves: FloatArray,
    levels: FloatArray,
    totals: FloatArray,
    start: float,
    step: float,
    tail: float,
    quantiles: FloatArray,
) -> None:
    """Write where the integral of a piecewise linear density of some total has a level."""
    last = curves.shape[1] - 1
    for row in range(curves.shape[0]):
        level = max(levels[row], 1e-300)
        mass = curves[row, 0] * tail / TAIL_MOMENTS
        if level <= mass:
            quantiles[row, 0] = start - tail * ((mass / level) ** (1 / TAIL_MOMENTS) - 1)
            continue
        t = 0
        cell = 0.0
        while t < last:
            cell = step * (curves[row, t] + curves[row, t + 1]) / 2
            if mass + cell >= level:
                break
            mass += cell
            t += 1
        if t == last:
            above = max(totals[row] - level, 1e-300)
            rest = max(curves[row, last] * tail / TAIL_MOMENTS, above)
            distance = tail * ((rest / above) ** (1 / TAIL_MOMENTS) - 1)
            quantiles[row, 0] = start + step * last + distance
            continue
        low, rise = curves[row, t], curves[row, t + 1] - curves[row, t]
        area = (level - mass) / step
        root = np.sqrt(max(low * low + 2 * rise * area, 0.0))
        part = 2 * area / (low + root) if low + root > 0 else 0.0
        quantiles[row, 0] = start + step * (t + min(part, 1.0))
