"""The features of a group of views: the sum of the features of its views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import (
    SMALL_PRODUCT,
    Buffers,
    Scratch,
    buffers_nbytes,
    merge_buffers,
    padded_width,
)
from bigtensor.features.interpolation import InterpolatedFeatures, tabulate
from bigtensor.features.maps import FeatureMap


@dataclass(frozen=True, eq=False)
class GroupMap:
    """The features of a group of views: the sum of the features of its views.

    With maps ``y_t = P_t' g_t`` this is the projection of the stacked features. Views whose
    features are tabulated are interpolated; those of the others are one product of the stacked
    basis functions with the stacked matrices.

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

    Attributes
    ----------
    tabulated : tuple of int
        The views whose features are interpolated, as positions in `views`.
    tables : InterpolatedFeatures, optional
        Their tables.
    computed : tuple of int
        The other views.
    mixing : (q, basis functions of the other views) array
        Their stacked matrices.
    """

    views: tuple[str, ...]
    maps: tuple[FeatureMap, ...]
    tabulated: tuple[int, ...] = field(init=False, repr=False)
    tables: InterpolatedFeatures | None = field(init=False, repr=False)
    computed: tuple[int, ...] = field(init=False, repr=False)
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
        tables = [tabulate(feature_map) for feature_map in self.maps]
        interpolations = [table for table in tables if table is not None]
        computed = tuple(view for view, table in enumerate(tables) if table is None)
        empty = np.empty((0, self.n_features))
        stacked = np.vstack([empty, *(self.maps[view].mixing for view in computed)])
        for name, value in (
            ("tabulated", tuple(view for view in range(len(tables)) if view not in computed)),
            ("tables", InterpolatedFeatures.stack(interpolations) if interpolations else None),
            ("computed", computed),
            ("mixing", np.ascontiguousarray(stacked.T, self.dtype)),
        ):
            object.__setattr__(self, name, value)

    @property
    def n_features(self) -> int:
        """The length of the vector, q."""
        return self.maps[0].n_features

    @property
    def dtype(self) -> str:
        """Dtype of blocks of features."""
        return self.maps[0].dtype

    @property
    def masses(self) -> FloatArray:
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
            Buffers that are reused from block to block.
        """
        if self.computed:
            self._project([values[view] for view in self.computed], out, work)
        if self.tables is not None:
            columns = [values[view] for view in self.tabulated]
            self.tables.evaluate(columns, out, work, add=bool(self.computed))

    def _project(self, values: Sequence[NDArray[Any]], out: NDArray[Any], work: Scratch) -> None:
        """Write the features of the views without tables."""
        rows = len(values[0])
        basis = work.take(self._basis_name, self._basis_shape(rows), self.dtype)
        start = 0
        for view, column in zip(self.computed, values, strict=True):
            feature_map = self.maps[view]
            stop = start + feature_map.n_basis
            feature_map.write_basis(column, basis[start:stop], work)
            start = stop
        step = self._columns_at_once(rows)
        for first in range(0, rows, step):
            last = min(first + step, rows)
            np.matmul(self.mixing, basis[:, first:last], out=out[first:last].T)

    def work_arrays(self, rows: int) -> Buffers:
        """Return the buffers that `evaluate` takes for a block of ``rows`` rows."""
        needs = [self.maps[view].work_arrays(rows) for view in self.computed]
        if self.computed:
            needs.append({self._basis_name: (self._basis_shape(rows), self.dtype)})
        if self.tables is not None:
            needs.append(self.tables.work_arrays(rows))
        return merge_buffers(needs)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the buffers for blocks of ``rows`` rows."""
        return buffers_nbytes(self.work_arrays(rows))

    @property
    def _basis_name(self) -> str:
        """One buffer a dtype, so that maps of two dtypes never take it from each other."""
        return f"features.basis.{self.dtype}"

    def _basis_shape(self, rows: int) -> tuple[int, int]:
        """One row a basis function of the views without tables."""
        return self.mixing.shape[1], padded_width(rows)

    def _columns_at_once(self, rows: int) -> int:
        """Return how many rows of data to project at once."""
        columns = SMALL_PRODUCT // self.mixing.size // 64 * 64
        return columns if self.FAST_COLUMNS <= columns < rows else rows
