"""Labels, posterior probabilities and densities of every row, by component or population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.statistics.base import RowFunction, RowOutput, Workspace
from bigtensor.statistics.densities import MixtureDensities, normalise, normalise_nbytes

_ROW_NAMES = ("label", "probability", "log_density")
# "component" is the name of a dimension
_COMPONENT_NAMES = ("component_label", "component_probability")

_FEW = 32
"""Most components whose labels are found by operations on long vectors, component by component."""


@dataclass(frozen=True, eq=False)
class Responsibilities(RowFunction):
    """The most probable component of every row, the probability of each, and the density.

    Parameters
    ----------
    mixture : MixtureDensities
    names : tuple of str, default ("label",)
        Any of ``"label"`` (int32, the first of equally probable components),
        ``"probability"`` (float32, one a component) and ``"log_density"`` (float64, in nats; good
        to six digits when the densities of the mixture are float32).
    populations : (components,) integer array, optional
        The population that every component belongs to, from 0. Labels and probabilities are then
        those of populations, whose probability is the sum over their components;
        ``"component_label"`` and ``"component_probability"`` are those of components.
    temperature : float, default 1.0
        The probabilities of populations are raised to its reciprocal, and scaled to sum to one.

    Raises
    ------
    ParameterError
        When a name is unknown or repeated, or there is none, or the temperature is not positive.
    """

    mixture: MixtureDensities
    names: tuple[str, ...] = ("label",)
    populations: NDArray[np.intp] | None = None
    temperature: float = 1.0

    block_rows: ClassVar[int] = 15360

    def __post_init__(self) -> None:
        known = _ROW_NAMES if self.populations is None else _ROW_NAMES + _COMPONENT_NAMES
        if not self.names or len({*self.names} & {*known}) < len(self.names):
            raise ParameterError(
                f"outputs of a row must be distinct and among {', '.join(known)}, got {self.names}"
            )
        if not self.temperature > 0:
            raise ParameterError(f"temperature must be positive, not {self.temperature!r}")

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """What is returned for every row."""
        k = self.mixture.n_components
        dims = {"component": k} if self.populations is None else {"population": self._count}
        known = (
            RowOutput("label", "int32", fill=-1),
            RowOutput("probability", "float32", dims),
            RowOutput("log_density", "float64"),
            RowOutput("component_label", "int32", fill=-1),
            RowOutput("component_probability", "float32", {"component": k}),
        )
        by_name = {output.name: output for output in known}
        return tuple(by_name[name] for name in self.names)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the outputs of the rows of ``block`` into ``out``, each ``(rows, ...)``."""
        k, dtype, wanted = self.mixture.n_components, self.mixture.dtype, {*self.names}
        for window, tile in self.mixture.tiles(block, work):
            joint = work.take("rows.joint", (k, tile.rows), dtype)
            tile.write_log_joint(joint)
            labels = "label" if self.populations is None else "component_label"
            if labels in wanted:
                _write_labels(joint, out[labels][window], work)
            if wanted == {labels}:
                continue
            log_density = work.take("rows.log_density", (tile.rows,), np.float64)
            normalise(joint, log_density, work)
            if "log_density" in wanted:
                np.subtract(log_density, self.mixture.log_volume, out=out["log_density"][window])
            if "component_probability" in wanted:
                np.copyto(out["component_probability"][window], joint.T, casting="same_kind")
            shares = joint
            if self.populations is not None:
                shares = work.take("rows.shares", (self._count, tile.rows), dtype)
                np.matmul(self._members, joint, out=shares)
                if "label" in wanted:
                    _write_labels(shares, out["label"][window], work)
            if "probability" in wanted:
                if self.populations is not None and self.temperature != 1:
                    self._temper(shares, work)
                np.copyto(out["probability"][window], shares.T, casting="same_kind")

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        tile = min(rows, self.mixture.tile_rows)
        k, dtype = self.mixture.n_components, self.mixture.dtype
        per_row = dtype.itemsize * (k + self._count + 1) + 8
        labels = sum(buffers_nbytes(_label_buffers(n, tile, dtype)) for n in (k, self._count) if n)
        return per_row * tile + labels + self.mixture.work_nbytes(tile) + normalise_nbytes(tile)

    def _temper(self, shares: NDArray[Any], work: Workspace) -> None:
        """Raise probabilities to the reciprocal of the temperature, and scale them to sum to one.

        Parameters
        ----------
        shares : (populations, rows) array
            Overwritten.
        work : Workspace
        """
        np.power(shares, 1 / self.temperature, out=shares)
        total = work.take("rows.total", (shares.shape[1],), shares.dtype)
        np.sum(shares, axis=0, out=total)
        shares /= total

    @property
    def _count(self) -> int:
        """The number of populations."""
        return 0 if self.populations is None else int(self.populations.max()) + 1

    @property
    def _members(self) -> NDArray[Any]:
        """Ones where a component belongs to a population: ``(populations, components)``."""
        belongs = self.populations == np.arange(self._count)[:, None]
        return np.asarray(belongs, self.mixture.dtype)


def _write_labels(joint: NDArray[Any], out: NDArray[np.int32], work: Workspace) -> None:
    """Write the position of the first largest entry of every column."""
    k, rows = joint.shape
    arrays = (
        work.take(name, shape, dtype)
        for name, (shape, dtype) in _label_buffers(k, rows, joint.dtype).items()
    )
    if k > _FEW:
        by_row, position = arrays
        np.copyto(by_row, joint.T)
        np.argmax(by_row, axis=1, out=position)
        np.copyto(out, position, casting="same_kind")
        return
    # The last entry that exceeds all before it, found by a few operations on long vectors a
    # component: twice as fast as `argmax` over a short axis, whose branches are mispredicted.
    largest, exceeds, label, candidate = arrays
    np.copyto(largest, joint[0])
    label.fill(0)
    for component in range(1, k):
        np.greater(joint[component], largest, out=exceeds)
        np.multiply(exceeds.view(np.uint8), np.uint8(component), out=candidate)
        np.maximum(label, candidate, out=label)
        np.maximum(joint[component], largest, out=largest)
    np.copyto(out, label)


def _label_buffers(components: int, rows: int, dtype: np.dtype[Any]) -> Buffers:
    """Return the buffers of `_write_labels`."""
    if components > _FEW:
        return {
            "rows.by_row": ((rows, components), dtype),
            "rows.position": ((rows,), "intp"),
        }
    return {
        "rows.largest": ((rows,), dtype),
        "rows.exceeds": ((rows,), "bool"),
        "rows.label": ((rows,), "uint8"),
        "rows.candidate": ((rows,), "uint8"),
    }
