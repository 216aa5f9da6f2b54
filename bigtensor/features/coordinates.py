"""Coordinates of rows: standardised, as normal scores, or along principal axes of either."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.features.buffers import Buffers, Scratch
from bigtensor.features.margins.normal_scores import NormalScores


@dataclass(frozen=True, eq=False)
class Coordinates:
    """An invertible function of rows, with the logarithm of its derivative.

    Measured variables are standardised, then replaced by normal scores, then rotated, as far as
    asked for. Categorical variables stay as they are.

    Attributes
    ----------
    measured : (m,) int64 array
        Columns of measured variables.
    centre, scale : (m,) float64 arrays
        Standardised variables are ``(x - centre) / scale``.
    scores : NormalScores, optional
        Of standardised variables.
    axes : (k, k) float64 array, optional
        Coordinates are ``(s - mean) @ axes``. A rotated row needs all these entries.
    mean : (k,) float64 array
        Subtracted from the scores before the rotation.
    rotated : (k,) int64 array
        Places of the variables that are rotated, among the measured ones.
    """

    measured: IntArray
    centre: FloatArray
    scale: FloatArray
    scores: NormalScores | None
    axes: FloatArray | None
    mean: FloatArray
    rotated: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def log_volume(self) -> float:
        """Logarithm of the constant part of the derivative of a complete row."""
        if self.axes is None:
            return 0.0
        return float(np.linalg.slogdet(self.axes)[1])

    def write(
        self, rows: NDArray[np.floating], out: FloatArray, log_slope: FloatArray, work: Scratch
    ) -> None:
        """Write the coordinates of rows, and the logarithm of the derivative.

        Parameters
        ----------
        rows : (n, d) array
            NaN is missing.
        out : (n, d) float64 array
            Receives the coordinates. Columns of categorical variables are copied.
        log_slope : (n,) float64 array
            Of the entries that are not missing; NaN for rotated rows that are not complete.
        work : Scratch
            Buffers that are reused from block to block.
        """
        n, m = len(rows), len(self.measured)
        np.copyto(out, rows)
        log_slope[:] = 0
        if not m:
            return
        values = work.take("coordinates.values", (n, m), "float64")
        np.take(out, self.measured, axis=1, out=values)
        values -= self.centre
        values /= self.scale
        logs = np.log(self.scale)
        missing = work.take("coordinates.missing", (n, m), "bool")
        np.isnan(values, out=missing)
        if missing.any():
            log_slope -= (~missing) @ logs
            if self.axes is not None:
                log_slope[missing[:, self.rotated].any(axis=1)] = np.nan
        else:
            log_slope -= logs.sum()
        if self.scores is not None:
            self.scores.write(values, log_slope)
        if self.axes is not None:
            values[:, self.rotated] = (values[:, self.rotated] - self.mean) @ self.axes
            log_slope += self.log_volume
        out[:, self.measured] = values

    def inverse(self, coordinates: FloatArray) -> FloatArray:
        """Return the rows that have some coordinates, (n, d)."""
        rows = coordinates.copy()
        values = coordinates[:, self.measured]
        if self.axes is not None:
            rotated = values[:, self.rotated]
            values[:, self.rotated] = np.linalg.solve(self.axes.T, rotated.T).T + self.mean
        if self.scores is not None:
            values = self.scores.inverse(values)
        rows[:, self.measured] = values * self.scale + self.centre
        return rows

    def select(self, variables: IntArray) -> Coordinates:
        """Return the coordinates of some variables, without axes.

        Parameters
        ----------
        variables : (m,) int64 array
            In any order, which the coordinates have then.
        """
        columns = np.flatnonzero(np.isin(variables, self.measured))
        at = np.searchsorted(self.measured, variables[columns])
        scores = None if self.scores is None else self.scores.select(at)
        return Coordinates(columns, self.centre[at], self.scale[at], scores, None, np.zeros(0))

    def buffers(self, rows: int) -> Buffers:
        """Return the buffers of `write`."""
        m = len(self.measured)
        return {
            "coordinates.values": ((rows, m), "float64"),
            "coordinates.rotated": ((rows, m), "float64"),
            "coordinates.missing": ((rows, m), "bool"),
        }
