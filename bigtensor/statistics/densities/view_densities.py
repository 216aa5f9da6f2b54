"""Densities of a mixture: log densities of all views at a block of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import (
    Buffers,
    buffers_nbytes,
    merge_buffers,
    padded_width,
)
from bigtensor.features.maps import FeatureMap
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.codes.code_tables import CodeLookup, CodeTables
from bigtensor.statistics.densities.joint_densities import JointDensities, reused_tiles
from bigtensor.statistics.densities.tabulated_densities import Lookup, TabulatedDensities

_TILE_BYTES = 3 * 1024**2
"""Buffers of one tile: few enough to stay near the processor, many enough to hide the calls."""

_TILE_STEP = 480
"""Tiles are multiples of it: a power of two would put all views on the same cache lines."""

_MOST_STEPS = 8
"""Longest tile, in steps."""


@dataclass(frozen=True, eq=False)
class EmbeddedDensities:
    """Densities of one wider view as linear functions of its features, with floors.

    The density of component h is ``max(y(x)' c_h, floor_h)`` (Song et al. 2014, sec. 3), in the
    unit of volume of the features.

    Parameters
    ----------
    view : str
        Name of the view.
    feature_map : FeatureMap
        Of the view, with p features.
    coefficients : (p, components) float64 array
        Coefficients c of every component.
    floor : (components,) float64 array
        Positive.

    Raises
    ------
    ParameterError
        When the shapes do not belong together or a floor is not positive.
    """

    view: str
    feature_map: FeatureMap
    coefficients: FloatArray
    floor: FloatArray
    factor: NDArray[Any] = field(init=False, repr=False)
    smallest: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        coefficients = np.asarray(self.coefficients, np.float64)
        floor = np.asarray(self.floor, np.float64)
        p = self.feature_map.n_features
        if (
            coefficients.ndim != 2
            or len(coefficients) != p
            or floor.shape != coefficients.shape[1:]
        ):
            raise ParameterError(
                f"view {self.view!r}: coefficients {coefficients.shape} and floor {floor.shape} do "
                f"not belong to {p} features: (p, components) and (components,) are needed"
            )
        if not np.all(floor > 0):
            raise ParameterError(f"view {self.view!r}: floors of densities must be positive")
        object.__setattr__(self, "coefficients", coefficients)
        object.__setattr__(self, "floor", floor)
        factor = self.feature_map.mixing @ coefficients
        dtype = np.dtype(self.feature_map.dtype)
        object.__setattr__(self, "factor", np.ascontiguousarray(factor, dtype))
        # a floor that is zero in float32 would be no floor
        smallest = np.maximum(floor, np.finfo(dtype).tiny).astype(dtype)
        object.__setattr__(self, "smallest", smallest)

    def work_arrays(self, rows: int) -> Buffers:
        """Return the buffers that the densities of ``rows`` rows need, the map's apart."""
        width, dtype = padded_width(rows), self.feature_map.dtype
        return {
            f"densities.basis.{self.view}": ((self.feature_map.n_basis, width), dtype),
            f"densities.values.{self.view}": ((rows, len(self.floor)), dtype),
        }


@dataclass(frozen=True, eq=False)
class MixtureDensities(JointDensities):
    """Weights of the components and their densities in every view.

    Arrays with one entry for every row and component have the components last: the tables do, and
    what is added to a row lies side by side.

    Parameters
    ----------
    weights : (components,) float64 array
        Positive.
    tables : TabulatedDensities or CodeTables, optional
        All one-dimensional views, or all views of codes; None when there are none.
    embedded : tuple of EmbeddedDensities, default ()
        The wider views.

    Raises
    ------
    ParameterError
        When a weight is not positive, there is no view, or the numbers of components differ.
    """

    weights: FloatArray
    tables: TabulatedDensities | CodeTables | None = None
    embedded: tuple[EmbeddedDensities, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.asarray(self.weights, np.float64))
        counts = [len(part.floor) for part in self.embedded]
        counts += [] if self.tables is None else [self.tables.n_components]
        if not counts or {*counts} != {self.weights.size}:
            raise ParameterError(
                f"a mixture needs at least one view and the same components everywhere, got "
                f"{self.weights.size} weights and {counts} components in the densities"
            )
        if not np.all(self.weights > 0):
            raise ParameterError(
                f"weights of a mixture must be positive, got {self.weights}; put a floor under them"
            )

    @property
    def width(self) -> int:
        """Length of the rows of joint densities: the components, and padding of the tables."""
        return self.n_components if self.tables is None else self.tables.width

    @property
    def log_volume(self) -> float:
        """Natural logarithm of the volume, in units of the data, that densities are relative to.

        Subtract it from a log density for one in the units of the data.
        """
        views = sum(part.feature_map.log_volume for part in self.embedded)
        return views + (0.0 if self.tables is None else self.tables.log_volume)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of joint densities and posterior probabilities.

        Float32 where the densities of all views are.
        """
        parts = [part.feature_map.dtype for part in self.embedded]
        parts += [] if self.tables is None else [self.tables.dtype]
        return np.result_type(*parts)

    @property
    def tile_rows(self) -> int:
        """Rows that are evaluated at once."""
        # a tile's own array, and those that are made of it
        arrays = 2 * self.dtype.itemsize * self.width
        per_row = buffers_nbytes(self.tile_arrays(_TILE_STEP)) / _TILE_STEP + arrays
        return _TILE_STEP * int(np.clip(_TILE_BYTES / per_row / _TILE_STEP, 1, _MOST_STEPS))

    def tiles(self, block: Block, work: Workspace) -> Iterator[tuple[slice, Tile]]:
        """Yield a block in tiles of `tile_rows` rows. Every tile is valid until the next one."""
        return reused_tiles(block, self.tile_rows, lambda rows: Tile(self, rows, work))

    def tile_arrays(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        needs = [part.work_arrays(rows) for part in self.embedded]
        needs += [part.feature_map.work_arrays(rows) for part in self.embedded]
        if self.tables is not None:
            needs.append(self.tables.lookup_arrays(rows))
        return merge_buffers(needs)


class Tile:
    """The densities of a few rows, with the buffers they are computed in.

    Attributes
    ----------
    mixture : MixtureDensities
        Mixture whose densities are computed.
    block : Block
        The rows.
    lookup : Lookup or CodeLookup, optional
        After `write_log_joint`: the rows in the tables.
    log_common : None
        Components share no factor.
    bases : mapping of str to (n_basis, width) arrays
        After `write_log_joint`: the basis functions of every wider view. Columns after the last
        row mean nothing.
    """

    block: Block
    log_common: ClassVar[None] = None

    def __init__(self, mixture: MixtureDensities, rows: int, work: Workspace) -> None:
        self.rows = rows
        self.mixture = mixture
        self._work = work
        # the padding is no component
        self._log_weights = np.full(mixture.width, -np.inf, mixture.dtype)
        self._log_weights[: mixture.n_components] = np.log(mixture.weights)
        self.lookup: Lookup | CodeLookup | None = None
        if mixture.tables is not None:
            self.lookup = mixture.tables.lookup(rows, work)
        self.bases: dict[str, NDArray[Any]] = {}
        self._values: dict[str, NDArray[Any]] = {}
        for part in mixture.embedded:
            self.bases[part.view], self._values[part.view] = work.take_all(part.work_arrays(rows))

    def write_log_joint(self, out: NDArray[Any]) -> None:
        """Write ``log pi_h + sum_t log p_t(x_t | h)`` into ``(rows, width)``, C-contiguous."""
        if self.lookup is None:
            out[:] = self._log_weights
        else:
            self.lookup.locate(self.block.dense_values[: self.rows])
            self.lookup.write_log_joint(self._log_weights, out)
        of_components = out[:, : self.mixture.n_components]
        for part in self.mixture.embedded:
            basis, density = self.bases[part.view], self._values[part.view]
            part.feature_map.write_basis(self.block.view(part.view)[: self.rows], basis, self._work)
            np.matmul(basis[:, : self.rows].T, part.factor, out=density)
            np.maximum(density, part.smallest, out=density)
            np.log(density, out=density)
            np.add(of_components, density, out=of_components)
