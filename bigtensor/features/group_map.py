"""The features of a group of views: the sum of the features of its views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers, Scratch, buffers_nbytes, merge_buffers, padded_width
from bigtensor.features.maps import FeatureMap

_SMALL_PRODUCT = 1_000_000
"""Multiplications up to which OpenBLAS multiplies without copying its operands first."""


@dataclass(frozen=True, eq=False)
class GroupMap:
    """The features of a group of views: the sum of the features of its views.

    With maps ``y_t = P_t' g_t`` this is the projection of the stacked features, and one product
    of the stacked basis functions with the stacked matrices.

    Parameters
    ----------
    views : tuple of str
        The names of the views.
    maps : tuple of FeatureMap
        One map a view, all with the same number of features and the same dtype.

    Raises
    ------
    ParameterError
        When there is no view, or the maps do not belong together.
    """

    views: tuple[str, ...]
    maps: tuple[FeatureMap, ...]
    mixing: NDArray[Any] = field(init=False, repr=False)

    FAST_COLUMNS: ClassVar[int] = 128
    """Fewest columns that are worth a product of their own."""

    def __post_init__(self) -> None:
        if not self.views or len(self.views) != len(self.maps):
            raise ParameterError(
                f"a group of views needs one map a view, got {len(self.views)} views and "
                f"{len(self.maps)} maps"
            )
        lengths = {feature_map.n_features for feature_map in self.maps}
        dtypes = {feature_map.dtype for feature_map in self.maps}
        if len(lengths) > 1 or len(dtypes) > 1:
            raise ParameterError(
                f"the maps of the views {', '.join(self.views)} must agree in their number of "
                f"features (got {sorted(lengths)}) and dtype (got {sorted(dtypes)})"
            )
        stacked = np.vstack([feature_map.mixing for feature_map in self.maps])
        object.__setattr__(self, "mixing", np.ascontiguousarray(stacked.T, self.dtype))

    @property
    def n_features(self) -> int:
        """The length of the vector, q."""
        return self.maps[0].n_features

    @property
    def n_basis(self) -> int:
        """The number of basis functions of all views."""
        return int(self.mixing.shape[1])

    @property
    def dtype(self) -> str:
        """What blocks of features are computed in."""
        return self.maps[0].dtype

    @property
    def masses(self) -> NDArray[np.float64]:
        """The integral of every feature over each view: ``(n_views, q)``."""
        return np.stack([feature_map.mass for feature_map in self.maps])

    def evaluate(self, values: Sequence[NDArray[Any]], out: NDArray[Any], work: Scratch) -> None:
        """Write the features of a block of rows.

        Parameters
        ----------
        values : sequence of (rows, d_t) arrays
            The values of every view of the group, in the order of `views`.
        out : (rows, q) array of `dtype`
            May be a slice; the transpose of a ``(q, rows)`` buffer is fastest.
        work : Scratch
        """
        rows = len(values[0])
        basis = work.take(self._basis_name, (self.n_basis, padded_width(rows)), self.dtype)
        start = 0
        for feature_map, view in zip(self.maps, values, strict=True):
            stop = start + feature_map.n_basis
            feature_map.write_basis(view, basis[start:stop], work)
            start = stop
        step = self._columns_at_once(rows)
        for first in range(0, rows, step):
            last = min(first + step, rows)
            np.matmul(self.mixing, basis[:, first:last], out=out[first:last].T)

    def work_arrays(self, rows: int) -> Buffers:
        """Return the buffers that `evaluate` takes for a block of ``rows`` rows."""
        own = {self._basis_name: ((self.n_basis, padded_width(rows)), self.dtype)}
        return merge_buffers([own, *(feature_map.work_arrays(rows) for feature_map in self.maps)])

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the buffers for blocks of ``rows`` rows."""
        return buffers_nbytes(self.work_arrays(rows))

    @property
    def _basis_name(self) -> str:
        """One buffer a dtype, so that maps of two dtypes never take it from each other."""
        return f"features.basis.{self.dtype}"

    def _columns_at_once(self, rows: int) -> int:
        """Return how many rows of data to project at once."""
        columns = _SMALL_PRODUCT // self.mixing.size // 64 * 64
        return columns if self.FAST_COLUMNS <= columns < rows else rows
