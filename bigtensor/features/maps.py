"""Feature maps: a vector of features for every row of a view, block by block.

Every map is a set of basis functions and a matrix: ``y(x) = mixing' basis(x)``. The basis of a
block is laid out with one row a basis function and one column a row of data, which is the layout
in which both the exponentials and the products after them are fastest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.features.buffers import Buffers, Scratch


class FeatureMap(ABC):
    """A map from the values of one view to a vector; subclasses are frozen dataclasses.

    Attributes
    ----------
    dtype : str
        ``"float32"`` or ``"float64"``: precision in which blocks of features are computed.
    """

    dtype: str

    @property
    @abstractmethod
    def n_inputs(self) -> int:
        """The number of features of the view."""

    @property
    @abstractmethod
    def mixing(self) -> FloatArray:
        """The ``(n_basis, n_features)`` matrix that takes the basis to the features."""

    @property
    @abstractmethod
    def mass(self) -> FloatArray:
        """The integral of every feature over `volume`, ``(n_features,)``; zeros for none."""

    @property
    def volume(self) -> float:
        """Volume in the units of the data that counts as one in `mass`."""
        return 1.0

    @property
    def log_volume(self) -> float:
        """Natural logarithm of `volume`, also where the volume itself overflows."""
        return 0.0

    @abstractmethod
    def write_basis(self, values: NDArray[Any], out: NDArray[Any], work: Scratch) -> None:
        """Write the basis functions of a block of rows.

        Parameters
        ----------
        values : (rows, n_inputs) array
            Rows of one view.
        out : (n_basis, width) array of `dtype`, ``width = padded_width(rows)``
            Columns after the last row receive finite values without meaning.
        work : Scratch
            Buffers that are reused from block to block.
        """

    def work_arrays(self, rows: int) -> Buffers:  # noqa: ARG002
        """Return the buffers that `write_basis` takes for a block of ``rows`` rows."""
        return {}

    @abstractmethod
    def projected(self, basis: FloatArray) -> FeatureMap:
        """Return the map to ``basis' y(x)``.

        Parameters
        ----------
        basis : (n_features, q) float64 array
            Columns onto which the features are projected.
        """

    @property
    @abstractmethod
    def n_basis(self) -> int:
        """The number of basis functions."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The length of the vector."""
