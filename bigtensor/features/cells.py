"""Partition of measured rows into cells around centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.features.clustering import kmeans
from bigtensor.features.row_loops import row_loop
from bigtensor.features.row_order import content_order_of_rows


@dataclass(frozen=True, eq=False)
class Cells:
    """Partition of the space of some features: a row belongs to the nearest centre.

    Features are clipped to a range, which becomes zero to one, before distances are taken. A far
    outlier is thus a row at the edge, and units do not matter.

    Attributes
    ----------
    centres : (cells, features) float64 array
        In parts of the range.
    low, high : (features,) float64 array
        Range of every feature, in the units of the data.
    """

    centres: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of_sample(
        cls,
        values: NDArray[Any],
        low: FloatArray,
        high: FloatArray,
        cells: int,
        random_state: int,
    ) -> Cells:
        """Return the cells of k-means clusters.

        Parameters
        ----------
        values : (n, features) array
            Sample of rows.
        low, high : (features,) float64 array
            Range of every feature, in the units of the data.
        cells : int
            Largest number of cells.
        random_state : int
            Seed of k-means.
        """
        positions = (np.clip(values, low, high) - low) / (high - low)
        # draws of k-means follow the content of the rows, whatever the order of rows and columns
        positions = positions[content_order_of_rows(positions)]
        distinct = len(np.unique(positions, axis=0))
        clusters = kmeans(positions, min(cells, distinct), random_state, n_starts=1)
        return cls(clusters.centres, low, high)

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.centres)

    @property
    def scale(self) -> FloatArray:
        """One over the range of every feature: ``(features,)``."""
        return np.asarray(1 / (self.high - self.low))

    def codes(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """Return the cell of every row: ``(rows,)``; -1 for rows without an entry.

        Parameters
        ----------
        values : (rows, features) array
            Rows in the units of the data. Values out of range are clipped, and missing entries add
            nothing to distances.
        """
        codes = np.empty(len(values), np.int32)
        write_cells(values, self.low, self.scale, self.centres, codes)
        return codes


@row_loop
def write_cells(
    values: NDArray[Any],
    low: FloatArray,
    scale: FloatArray,
    centres: FloatArray,
    codes: NDArray[np.int32],
) -> None:
    """Write the nearest centre of every row, the first of several.

    Distances are those of the entries that a row has. The code is -1 if it has none.

    Parameters
    ----------
    values : (rows, features) array
        Rows in the units of the data.
    low, scale : (features,) float64 array
        Positions are ``(x - low) * scale``, between zero and one.
    centres : (cells, features) float64 array
        Centres in parts of the range.
    codes : (rows,) int32 array
        Receives the position of the nearest centre.
    """
    for row in range(codes.size):
        nearest, least = -1, np.inf
        has_entry = False
        for j in range(centres.shape[1]):
            has_entry = has_entry or not np.isnan(values[row, j])
        for cell in range(centres.shape[0] if has_entry else 0):
            distance = 0.0
            for j in range(centres.shape[1]):
                position = (values[row, j] - low[j]) * scale[j]
                if not np.isnan(position):
                    distance += (min(max(position, 0.0), 1.0) - centres[cell, j]) ** 2
            if distance < least:
                nearest, least = cell, distance
        codes[row] = nearest
