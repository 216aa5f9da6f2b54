"""Feature maps without a kernel: standardised values, and indicators of categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError, ParameterError
from bigtensor.features.buffers import Buffers, Scratch
from bigtensor.features.kernels.kernel import write_scaled
from bigtensor.features.maps import FeatureMap

MOST_CATEGORIES = 1000
"""More distinct values than this are no categories."""

LARGEST_CODE = 2**24
"""Whole numbers up to here are exact in float32."""


def find_categories(values: NDArray[Any]) -> FloatArray:
    """Return the categories in a sample of a view: its distinct codes, ascending.

    Parameters
    ----------
    values : (n0, 1) array
        Whole numbers of any dtype.

    Returns
    -------
    (c,) float64 array
        Distinct codes.

    Raises
    ------
    DataError
        When the sample is empty or of several features, a value is no whole number or larger than
        2^24, or there are more than 1000 categories.
    """
    if values.ndim != 2 or values.shape[1] != 1 or not len(values):
        raise DataError(
            f"the categories of a view are one feature of codes, got a sample of shape "
            f"{values.shape}; give every categorical feature a view of its own, or join several "
            "into one code"
        )
    codes = np.unique(np.asarray(values, np.float64))
    if not np.all((codes == np.rint(codes)) & (np.abs(codes) <= LARGEST_CODE)):
        raise DataError(
            f"categories are whole numbers up to {LARGEST_CODE}, got values between {codes[0]:g} "
            f"and {codes[-1]:g}; number the categories, or use a kernel for a view of "
            "measurements"
        )
    if len(codes) > MOST_CATEGORIES:
        raise DataError(
            f"the view has {len(codes)} distinct values in a sample of {len(values)} rows, more "
            f"than {MOST_CATEGORIES} categories; join rare ones, or use a kernel"
        )
    return codes


class _ProjectedMap(FeatureMap):
    """Basis functions, or their products with a matrix. Subclasses have the matrix as a field.

    Attributes
    ----------
    projection : (n_basis, q) array, optional
        None stands for the unit matrix.
    """

    projection: FloatArray | None

    @property
    def n_features(self) -> int:
        """The length of the vector."""
        return self.n_basis if self.projection is None else self.projection.shape[1]

    @property
    def mixing(self) -> FloatArray:
        """The projection, or the unit matrix."""
        return np.eye(self.n_basis) if self.projection is None else self.projection


@dataclass(frozen=True, eq=False)
class Standardised(_ProjectedMap):
    """Values about a centre in units of a scale, or a linear function of them.

    These are the features of the linear kernel. The centre is subtracted before values are rounded
    to ``dtype``.

    Parameters
    ----------
    centre : (d,) float64 array
        Point that is subtracted from the rows.
    scale : (d,) float64 array
        Positive.
    projection : (d, q) array, optional
        None stands for the unit matrix.
    dtype : str, default "float32"
        Precision in which blocks of features are computed.
    """

    centre: FloatArray
    scale: FloatArray
    projection: FloatArray | None = None
    dtype: str = "float32"

    @property
    def n_inputs(self) -> int:
        """The number of features of the view."""
        return len(self.centre)

    @property
    def n_basis(self) -> int:
        """The number of features of the view."""
        return len(self.centre)

    @property
    def mass(self) -> FloatArray:
        """Zeros: values are not densities."""
        return np.zeros(self.n_features)

    def projected(self, basis: FloatArray) -> Standardised:
        """Return the map to ``basis' y(x)``."""
        return replace(self, projection=self.mixing @ basis)

    def write_basis(self, values: NDArray[Any], out: NDArray[Any], work: Scratch) -> None:
        """Write the transposed values about the centre."""
        rows = len(values)
        scratch = work.take("features.scratch", (self.n_basis, rows), "float64")
        write_scaled(values, self.centre, self.scale, out[:, :rows], scratch)
        out[:, rows:] = 0

    def work_arrays(self, rows: int) -> Buffers:
        """Return the buffer of the values about the centre."""
        return {"features.scratch": ((self.n_basis, rows), "float64")}


@dataclass(frozen=True, eq=False)
class OneHot(_ProjectedMap):
    """Indicators of categories, or a linear function of them: the features of the delta kernel.

    The delta kernel ``1[x = x']`` at the categories themselves has the unit matrix as Gram matrix:
    no root, no bandwidth and no constant, and the cross-covariances of two views are their joint
    table.

    A value that is none of the categories has all indicators zero: the view then says nothing of
    its row. A slot of its own would come to the same, because it is empty in the sample that the
    categories and the projection are made from.

    Parameters
    ----------
    categories : (c,) array
        Distinct, finite codes; see `find_categories`.
    projection : (c, q) array, optional
        The features of a category are its row; None stands for the unit matrix.
    dtype : str, default "float32"
        Precision in which blocks of features are computed.

    Raises
    ------
    ParameterError
        When categories repeat, or there is not one row of the projection for each.
    """

    categories: FloatArray
    projection: FloatArray | None = None
    dtype: str = "float32"

    def __post_init__(self) -> None:
        categories = np.array(self.categories, np.float64)
        if categories.ndim != 1 or len(np.unique(categories)) != categories.size:
            raise ParameterError(f"categories are distinct codes, got {self.categories!r}")
        if self.projection is not None and len(self.projection) != len(categories):
            raise ParameterError(
                f"a projection of {len(categories)} categories has a row for each, got "
                f"{self.projection.shape}"
            )
        object.__setattr__(self, "categories", categories)

    @property
    def n_inputs(self) -> int:
        """One: the column of codes."""
        return 1

    @property
    def n_basis(self) -> int:
        """The number of categories."""
        return len(self.categories)

    @property
    def mass(self) -> FloatArray:
        """The sum of every feature over the categories."""
        return np.asarray(self.mixing.sum(0))

    def projected(self, basis: FloatArray) -> OneHot:
        """Return the map to ``basis' y(x)``."""
        return replace(self, projection=self.mixing @ basis)

    def write_basis(self, values: NDArray[Any], out: NDArray[Any], work: Scratch) -> None:
        """Write ones where a row has the category and zeros elsewhere."""
        rows = len(values)
        codes = work.take("features.codes", (rows,), "float64")
        indicators = work.take("features.indicators", (self.n_basis, rows), "bool")
        np.copyto(codes, values[:, 0])
        np.equal(codes, self.categories[:, None], out=indicators)
        np.copyto(out[:, :rows], indicators)
        out[:, rows:] = 0

    def work_arrays(self, rows: int) -> Buffers:
        """Return the buffers of the codes and of the comparison."""
        return {
            "features.codes": ((rows,), "float64"),
            "features.indicators": ((self.n_basis, rows), "bool"),
        }
