"""Means and second moments of views, between and within them, in one read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.errors import DataError, ParameterError
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.tensor_contractions import subtract_reference


@dataclass(frozen=True)
class CrossMomentsResult:
    """Means over the rows, taken about the reference ``r_v`` of every view.

    Attributes
    ----------
    references : mapping of str to (d_v,) float64 array
        The references of the views.
    shifts : mapping of str to (d_v,) float64 array
        ``E[x_v - r_v]``.
    squares : mapping of str to (d_v,) float64 array
        ``E[(x_v - r_v)^2]`` of every feature.
    seconds : mapping of (str, str) to (d_u, d_v) float64 array
        ``E[(x_u - r_u) (x_v - r_v)']`` for views u before v, and for ``(v, v)`` on request.
    weight : float
        The sum of the sample weights.
    rows : int
        The number of rows.
    """

    references: Mapping[str, NDArray[np.float64]]
    shifts: Mapping[str, NDArray[np.float64]]
    squares: Mapping[str, NDArray[np.float64]]
    seconds: Mapping[tuple[str, str], NDArray[np.float64]]
    weight: float
    rows: int

    @property
    def means(self) -> Mapping[str, NDArray[np.float64]]:
        """Means of the views: (d_v,) float64 arrays."""
        return {name: self.references[name] + shift for name, shift in self.shifts.items()}

    def covariance(self, first: str, second: str) -> NDArray[np.float64]:
        """Return the covariance of two views, or of one view.

        Parameters
        ----------
        first, second : str
            Names of views in any order. They may be equal if moments within views were summed.

        Returns
        -------
        (d_first, d_second) float64 array
        """
        if (first, second) in self.seconds:
            moment = self.seconds[first, second]
        else:
            moment = self.seconds[second, first].T
        return moment - np.outer(self.shifts[first], self.shifts[second])

    def raw_second(self, first: str, second: str) -> NDArray[np.float64]:
        """Return the second moment about zero, ``E[x_u x_v']``: a (d_u, d_v) float64 array."""
        means = self.means
        return self.covariance(first, second) + np.outer(means[first], means[second])

    def variances(self, name: str) -> NDArray[np.float64]:
        """Return the variance of every feature of a view: a (d_v,) float64 array."""
        return self.squares[name] - self.shifts[name] ** 2


@dataclass(frozen=True, eq=False)
class CrossMoments(SumStatistic[CrossMomentsResult]):
    """Sums of views, and of products of two views, about fixed references.

    References are subtracted in float64. Products of one block are computed in ``dtype``, sums
    over blocks in float64.

    Parameters
    ----------
    views : tuple of str
        Different views of dense rows.
    references : tuple of (d_v,) float64 arrays
        Points near the means of the views, such as means of a pilot sample.
    within : bool, default False
        Sum the second moments of every view with itself. Squares of features are always summed.
    dtype : {"float32", "float64"}, default "float64"

    Raises
    ------
    ParameterError
        If there is not one reference for every view, or a view comes twice.
    """

    views: tuple[str, ...]
    references: tuple[NDArray[np.float64], ...]
    within: bool = False
    dtype: str = "float64"

    block_rows: ClassVar[int] = 1024

    def __post_init__(self) -> None:
        if not self.views or len(self.views) != len(self.references):
            raise ParameterError(
                f"every view needs one reference, got {len(self.views)} views and "
                f"{len(self.references)} references"
            )
        if len(set(self.views)) < len(self.views):
            raise ParameterError(f"every view may come once, got {', '.join(self.views)}")

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        sizes = [len(reference) for reference in self.references]
        return {
            **{f"first_{v}": ((size,), "float64") for v, size in enumerate(sizes)},
            **{f"squares_{v}": ((size,), "float64") for v, size in enumerate(sizes)},
            **{f"second_{u}_{v}": ((sizes[u], sizes[v]), "float64") for u, v in self._pairs},
            "weight": ((), "float64"),
            "rows": ((), "int64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        rows = block.rows
        if not rows:
            return
        buffers = {
            name: work.take(f"cross.{name}.{self.dtype}", shape, dtype)
            for name, (shape, dtype) in self._buffers(rows).items()
        }
        weight = buffers["weight"]
        if block.weight is None:
            weight.fill(1)
        else:
            np.copyto(weight, block.weight[:rows], casting="same_kind")
        centred, start = [], 0
        for v, name in enumerate(self.views):
            size = len(self.references[v])
            view = buffers["centred"][start : start + rows * size].reshape(rows, size)
            start += rows * size
            subtract_reference(block.view(name)[:rows], self.references[v], view)
            centred.append(view)
        for u, view in enumerate(centred):
            size = view.shape[1]
            weighted = buffers["weighted"][: rows * size].reshape(rows, size)
            np.multiply(view, weight[:, None], out=weighted)
            state[f"first_{u}"] += weighted.sum(axis=0, dtype=np.float64)
            state[f"squares_{u}"] += np.einsum("ij,ij->j", weighted, view)
            for v in (v for first, v in self._pairs if first == u):
                second = buffers["second"][: size * centred[v].shape[1]].reshape(size, -1)
                np.matmul(weighted.T, centred[v], out=second)
                state[f"second_{u}_{v}"] += second
        state["weight"] += block.total_weight()
        state["rows"] += rows

    def finalize(self, state: State) -> CrossMomentsResult:
        """Divide by the total weight.

        Raises
        ------
        DataError
            If the total weight is not positive.
        """
        weight = float(state["weight"])
        if not weight > 0:
            raise DataError(
                f"the {int(state['rows'])} rows have a total weight of {weight:g}; moments need "
                "at least one row with a positive weight"
            )
        names = self.views
        return CrossMomentsResult(
            references=dict(zip(names, self.references, strict=True)),
            shifts={name: state[f"first_{v}"] / weight for v, name in enumerate(names)},
            squares={name: state[f"squares_{v}"] / weight for v, name in enumerate(names)},
            seconds={
                (names[u], names[v]): state[f"second_{u}_{v}"] / weight for u, v in self._pairs
            },
            weight=weight,
            rows=int(state["rows"]),
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return buffers_nbytes(self._buffers(rows))

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        """Positions of the views whose products are summed."""
        n_views = len(self.views)
        within = [(v, v) for v in range(n_views)] if self.within else []
        return [*combinations(range(n_views), 2), *within]

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a block."""
        sizes = [len(reference) for reference in self.references]
        largest = max(sizes)
        return {
            "centred": ((sum(sizes) * rows,), self.dtype),
            "weighted": ((largest * rows,), self.dtype),
            "second": ((largest**2,), self.dtype),
            "weight": ((rows,), self.dtype),
        }
