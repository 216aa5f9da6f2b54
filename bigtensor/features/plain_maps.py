"""Feature maps without a kernel: values as they are, and indicators of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.buffers import Scratch
from bigtensor.features.maps import FeatureMap


@dataclass(frozen=True, eq=False)
class Identity(FeatureMap):
    """The values themselves, or a linear function of them.

    Parameters
    ----------
    width : int
        The number of features of the view.
    projection : (width, q) array, optional
        The features are ``projection' x``; None stands for the unit matrix.
    dtype : str, default "float32"
    """

    width: int
    projection: NDArray[np.float64] | None = None
    dtype: str = "float32"

    @property
    def n_inputs(self) -> int:
        """The number of features of the view."""
        return self.width

    @property
    def n_basis(self) -> int:
        """The number of features of the view."""
        return self.width

    @property
    def n_features(self) -> int:
        """The length of the vector."""
        return self.width if self.projection is None else self.projection.shape[1]

    @property
    def mixing(self) -> NDArray[np.float64]:
        """The projection, or the unit matrix."""
        return np.eye(self.width) if self.projection is None else self.projection

    @property
    def mass(self) -> NDArray[np.float64]:
        """Zeros: values are not densities."""
        return np.zeros(self.n_features)

    def write_basis(
        self,
        values: NDArray[Any],
        out: NDArray[Any],
        work: Scratch,  # noqa: ARG002
    ) -> None:
        """Write the transposed values."""
        rows = len(values)
        out[:, :rows] = values.T
        out[:, rows:] = 0


@dataclass(frozen=True, eq=False)
class OneHot(FeatureMap):
    """Indicators of the categories 0, 1, ..., or a linear function of them (the delta kernel).

    A value that is no category has all indicators zero.

    Parameters
    ----------
    n_categories : int
    projection : (n_categories, q) array, optional
        The features of category c are row c; None stands for the unit matrix.
    dtype : str, default "float32"
    """

    n_categories: int
    projection: NDArray[np.float64] | None = None
    dtype: str = "float32"

    @property
    def n_inputs(self) -> int:
        """One: the column of codes."""
        return 1

    @property
    def n_basis(self) -> int:
        """The number of categories."""
        return self.n_categories

    @property
    def n_features(self) -> int:
        """The length of the vector."""
        return self.n_categories if self.projection is None else self.projection.shape[1]

    @property
    def mixing(self) -> NDArray[np.float64]:
        """The projection, or the unit matrix."""
        return np.eye(self.n_categories) if self.projection is None else self.projection

    @property
    def mass(self) -> NDArray[np.float64]:
        """The sum of every feature over the categories."""
        return np.asarray(self.mixing.sum(0))

    def write_basis(
        self,
        values: NDArray[Any],
        out: NDArray[Any],
        work: Scratch,  # noqa: ARG002
    ) -> None:
        """Write ones where a row has the category and zeros elsewhere."""
        rows = len(values)
        np.equal(values[:, 0], np.arange(self.n_categories)[:, None], out=out[:, :rows])
        out[:, rows:] = 0
