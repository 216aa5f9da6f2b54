"""Modes of several variables: the points on which their local functions are tabulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.features.row_loops import row_loop

TAIL_MOMENTS = 3
"""Moments below this order are finite: tails fall with one more than this power."""

_LEAST_SHARE = 1e-300
"""Of a value in a tail, so that no density is zero."""

ROUNDING = 2.0**-24
"""Relative distance of an entry from the atom or category that it lies on: rounding to float32.

A model of a float32 store is asked about float64 rows, and the other way round.
"""

_LAST_DIGITS = 8 * float(np.finfo(np.float64).eps)
"""Relative distance of neighbouring values that are one value, such as 0.3 and 0.1 + 0.2."""

FEW_SYMBOLS = 10
"""Most distinct values of a numeric variable that is categorical."""


def distinct_values(column: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return the distinct values of a column, and which of them every entry has.

    Values that differ in their last digits are one, and the least stands for them.

    Parameters
    ----------
    column : (n,) float64 array
        Entries, none of them missing.

    Returns
    -------
    values : (m,) float64 array
        Ascending.
    of_entry : (n,) integer array
        Places among the values.
    """
    values, of_entry = np.unique(column, return_inverse=True)
    begins = np.append(True, np.diff(values) > _LAST_DIGITS * np.abs(values[:-1]))[: len(values)]
    return values[begins], (np.cumsum(begins) - 1)[of_entry]


def is_on(column: FloatArray, values: FloatArray) -> NDArray[np.bool_]:
    """Return True for entries that are one of some values, but for rounding to float32.

    Parameters
    ----------
    column : (n,) float64 array
        Entries. NaN is missing, and no value.
    values : (m,) float64 array
        Values.
    """
    distance = np.abs(column[:, None] - values)
    return np.asarray((distance <= ROUNDING * np.abs(values)).any(axis=1))


@dataclass(frozen=True, eq=False)
class Nodes:
    """Evenly spaced nodes of a measured variable.

    Functions are linear between nodes. Outside, at a distance u, they fall with
    ``(1 + u / tail)^-4``: the density of an outlier is small, and not zero. Integrals are exact.
    Atoms are values with a probability of their own. They are further points after the nodes.

    Attributes
    ----------
    start : float
        First node.
    step : float
        Positive.
    count : int
        At least two.
    tail : float
        Length of the tails, positive.
    atoms : (a,) float64 array
        Values with a probability of their own, ascending, in the units of the data.
    places : (a,) float64 array
        Coordinates of these values, ascending.
    """

    start: float
    step: float
    count: int
    tail: float
    atoms: FloatArray = field(default_factory=lambda: np.empty(0))
    places: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def size(self) -> int:
        """Number of nodes and atoms."""
        return self.count + len(self.atoms)

    @property
    def points(self) -> FloatArray:
        """The nodes, (count,)."""
        return np.asarray(self.start + self.step * np.arange(self.count), np.float64)

    @property
    def masses(self) -> FloatArray:
        """Integral of the function that is one at a point and zero at all others, (size,)."""
        masses = np.full(self.count, self.step)
        masses[[0, -1]] = self.step / 2 + self.tail / TAIL_MOMENTS
        return np.append(masses, np.ones(len(self.atoms)))

    @property
    def tail_moment(self) -> float:
        """Integral of the distance times a tail."""
        return self.tail**2 / (TAIL_MOMENTS * (TAIL_MOMENTS - 1))

    @property
    def first_moments(self) -> FloatArray:
        """Integrals of these functions times the variable, (count,)."""
        moments = self.step * self.points
        distance = self.step**2 / 6 - self.tail_moment
        mass = self.masses[0]
        moments[0] = self.points[0] * mass + distance
        moments[-1] = self.points[-1] * mass - distance
        return moments

    def mass_below_place(self, heights: FloatArray, places: FloatArray | float) -> FloatArray:
        """Return the integrals of densities up to coordinates, (n,).

        Parameters
        ----------
        heights : (n, count) float64 array
            Densities at the nodes, one a row.
        places : float or (n,) float64 array
            Coordinates.
        """
        n = len(heights)
        point, left, right = np.empty((n, 1), np.int32), np.empty((n, 1)), np.empty((n, 1))
        values = np.empty((n, 1))
        values[:, 0] = places
        Modes((replace(self, atoms=np.empty(0)),)).locator().locate(
            values, values, point, left, right
        )
        return self.mass_below(heights, point[:, 0], left[:, 0], right[:, 0])

    def mass_below(
        self,
        heights: FloatArray,
        point: NDArray[np.integer],
        left: FloatArray,
        right: FloatArray,
    ) -> FloatArray:
        """Return the integrals of densities up to located values, (n,).

        Parameters
        ----------
        heights : (n, count) float64 array
            Densities at the nodes, one a row.
        point : (n,) integer array
            Node at or below every value.
        left, right : (n,) float64 arrays
            Shares of this node and of the next one.
        """
        rows = np.arange(len(point))
        cells = self.step * (heights[:, 1:] + heights[:, :-1]) / 2
        tail = heights[:, 0] * self.tail / TAIL_MOMENTS
        before = np.concatenate([np.zeros((len(point), 1)), np.cumsum(cells, axis=1)], axis=1)
        above = heights[rows, np.minimum(point + 1, self.count - 1)]
        rise = above - heights[rows, point]
        inside = self.step * right * (heights[rows, point] + rise * right / 2)
        mass = tail + before[rows, point] + inside
        # shares in a tail are powers of the distance
        outside = (right == 0) & (left < 1)
        part = np.where(outside, left, 1.0) ** (TAIL_MOMENTS / (TAIL_MOMENTS + 1))
        low, high = outside & (point == 0), outside & (point == self.count - 1)
        beyond = heights[rows, point] * self.tail / TAIL_MOMENTS
        mass = np.where(low, beyond * part, mass)
        return np.asarray(np.where(high, mass + beyond * (1 - part), mass))


@dataclass(frozen=True, eq=False)
class Symbols:
    """Values of a categorical variable; any other value counts as one more symbol.

    Attributes
    ----------
    values : (count - 1,) float64 array
        Ascending.
    """

    values: FloatArray

    @property
    def count(self) -> int:
        """Number of symbols, with the one that stands for all other values."""
        return len(self.values) + 1

    @property
    def size(self) -> int:
        """Number of points, one a symbol."""
        return self.count


Mode = Nodes | Symbols


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes of the variables of a row, one after the other.

    Every variable has one more point after its own, which stands for a missing entry.

    Attributes
    ----------
    modes : tuple of Nodes or Symbols
        Nodes of measured and symbols of categorical variables.
    """

    modes: tuple[Mode, ...]

    @property
    def first(self) -> IntArray:
        """First point of every variable, and the number of all points: (d + 1,)."""
        return np.cumsum([0, *(mode.size + 1 for mode in self.modes)])

    @property
    def missing(self) -> IntArray:
        """Point of every variable that stands for a missing entry, (d,)."""
        return self.first[1:] - 1

    def locator(self) -> Locator:
        """Return the function that finds the points around the values of rows."""
        is_nodes = [isinstance(mode, Nodes) for mode in self.modes]
        numbers = np.array(
            [
                (mode.start, mode.step, mode.tail, mode.count)
                if isinstance(mode, Nodes)
                else (0.0, 0.0, 0.0, 0.0)
                for mode in self.modes
            ]
        )
        values = np.concatenate(
            [
                np.concatenate([mode.values, [np.inf, np.inf]])
                if isinstance(mode, Symbols)
                else np.concatenate([np.zeros(mode.count), mode.atoms, [0.0]])
                for mode in self.modes
            ]
        )
        return Locator(self.first, np.array(is_nodes), numbers, values)

    def select(self, variables: Sequence[int]) -> Modes:
        """Return the modes of some variables."""
        return Modes(tuple(self.modes[j] for j in variables))


@dataclass(frozen=True, eq=False)
class Locator:
    """Points around the values of rows, and the shares with which functions count there.

    Attributes
    ----------
    first : (d + 1,) int64 array
        First point of every variable, and the number of all points.
    is_nodes : (d,) bool array
        True for measured variables.
    numbers : (d, 4) float64 array
        First node, step, tail and number of nodes of measured variables.
    values : (points,) float64 array
        Symbols of categorical variables, and atoms of measured ones.
    """

    first: IntArray
    is_nodes: NDArray[np.bool_]
    numbers: FloatArray
    values: FloatArray

    @property
    def has_atoms(self) -> bool:
        """True if a measured variable has an atom."""
        sizes = np.diff(self.first) - 1
        return bool((sizes > self.numbers[:, 3])[self.is_nodes].any())

    def write_continuous(self, rows: NDArray[np.floating], out: FloatArray) -> None:
        """Copy rows, with NaN for entries on atoms.

        Parameters
        ----------
        rows : (n, d) float array
            In the units of the data.
        out : (n, d) float64 array
            Receives the rows.
        """
        _write_continuous(rows, self.first, self.is_nodes, self.numbers, self.values, out)

    def locate(
        self,
        rows: NDArray[np.floating],
        values: NDArray[np.floating],
        point: NDArray[np.int32],
        left: NDArray[np.floating],
        right: NDArray[np.floating],
    ) -> None:
        """Write the point at or below every value, and the shares of it and of the next one.

        Parameters
        ----------
        rows : (n, d) array
            Coordinates.
        values : (n, d) array
            The same entries in the units of the data, in which atoms and symbols are; NaN is
            missing.
        point : (n, d) int32 array
            Receives the point at or below every value.
        left, right : (n, d) float array
            Receive the shares of this point and of the next one.
        """
        _locate(
            *(rows, values, self.first, self.is_nodes, self.numbers, self.values),
            *(point, left, right),
        )


@row_loop
def _locate(
    rows: NDArray[np.floating],
    raw: NDArray[np.floating],
    first: IntArray,
    is_nodes: NDArray[np.bool_],
    numbers: FloatArray,
    values: FloatArray,
    point: NDArray[np.int32],
    left: NDArray[np.floating],
    right: NDArray[np.floating],
) -> None:
    """Write points and shares; see `Locator.locate`."""
    for row in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value, entry = np.float64(rows[row, j]), np.float64(raw[row, j])
            last = first[j + 1] - 2
            low, share, above = first[j + 1] - 1, 1.0, 0.0
            atom = np.int64(-1)
            if is_nodes[j]:
                last = first[j] + np.int64(numbers[j, 3]) - 1
                for candidate in range(last + 1, first[j + 1] - 1):
                    if abs(entry - values[candidate]) <= ROUNDING * abs(values[candidate]):
                        atom = np.int64(candidate)
            if atom >= 0:
                low = atom
            elif np.isnan(entry) or np.isnan(value):
                pass
            elif is_nodes[j]:
                place = (value - numbers[j, 0]) / numbers[j, 1]
                if place <= 0:
                    low = first[j]
                    base = 1 - place * numbers[j, 1] / numbers[j, 2]
                    share = max(1 / (base * base * base * base), _LEAST_SHARE)
                elif place >= last - first[j]:
                    low = last
                    base = 1 + (place - last + first[j]) * numbers[j, 1] / numbers[j, 2]
                    share = max(1 / (base * base * base * base), _LEAST_SHARE)
                else:
                    low = first[j] + np.int64(place)
                    above = place - np.int64(place)
                    share = 1.0 - above
            else:
                begin, end = first[j], last
                while begin < end:
                    middle = (begin + end) // 2
                    if values[middle] < entry:
                        begin = middle + 1
                    else:
                        end = middle
                if begin > first[j] and entry - values[begin - 1] < values[begin] - entry:
                    begin -= 1
                number = values[begin]
                distance, gap = abs(entry - number), values[begin + 1] - number
                if begin > first[j]:
                    gap = min(gap, number - values[begin - 1])
                # an entry half-way to another category is of neither
                is_near = distance <= ROUNDING * abs(number) and 2 * distance <= gap
                low = begin if is_near else last
            point[row, j] = low
            left[row, j] = share
            right[row, j] = above


@row_loop
def _write_continuous(
    rows: NDArray[np.floating],
    first: IntArray,
    is_nodes: NDArray[np.bool_],
    numbers: FloatArray,
    values: FloatArray,
    out: FloatArray,
) -> None:
    """Copy entries that lie on no atom; see `Locator.write_continuous`."""
    for row in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            entry = np.float64(rows[row, j])
            if is_nodes[j]:
                for atom in range(first[j] + np.int64(numbers[j, 3]), first[j + 1] - 1):
                    number = values[atom]
                    if abs(entry - number) <= ROUNDING * abs(number):
                        entry = np.float64(np.nan)
            out[row, j] = entry
