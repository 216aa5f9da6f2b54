"""Labels, posterior probabilities and densities of every row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import RowFunction, RowOutput, Workspace
from bigtensor.statistics.densities import MixtureDensities, normalise, normalise_nbytes

_NAMES = ("label", "probability", "log_density")


@dataclass(frozen=True, eq=False)
class Responsibilities(RowFunction):
    """The most probable component of every row, the probability of each, and the density.

    Parameters
    ----------
    mixture : MixtureDensities
    names : tuple of str, default ("label",)
        Any of ``"label"`` (int32, the first of equally probable components),
        ``"probability"`` (float32, one a component) and ``"log_density"`` (float64).

    Raises
    ------
    ParameterError
        When a name is unknown or repeated, or there is none.
    """

    mixture: MixtureDensities
    names: tuple[str, ...] = ("label",)

    block_rows: ClassVar[int] = 15360

    def __post_init__(self) -> None:
        if not self.names or len({*self.names} & {*_NAMES}) < len(self.names):
            raise ParameterError(
                f"outputs of a row must be distinct and among {', '.join(_NAMES)}, got {self.names}"
            )

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """What is returned for every row."""
        known = {
            "label": RowOutput("label", "int32", fill=-1),
            "probability": RowOutput(
                "probability", "float32", {"component": self.mixture.n_components}
            ),
            "log_density": RowOutput("log_density", "float64"),
        }
        return tuple(known[name] for name in self.names)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the outputs of the rows of ``block`` into ``out``, each ``(rows, ...)``."""
        for window, tile in self.mixture.tiles(block, work):
            joint = work.take("rows.joint", (self.mixture.n_components, tile.rows), np.float64)
            tile.write_log_joint(joint)
            if "label" in self.names:
                _write_labels(joint, out["label"][window], work)
            if {*self.names} == {"label"}:
                continue
            log_density = work.take("rows.log_density", (tile.rows,), np.float64)
            normalise(joint, log_density, work)
            if "probability" in self.names:
                np.copyto(out["probability"][window], joint.T, casting="same_kind")
            if "log_density" in self.names:
                out["log_density"][window] = log_density

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        tile = min(rows, self.mixture.tile_rows)
        k = self.mixture.n_components
        per_row = 8 * k + 8 + 8 + 1 + 2 * np.min_scalar_type(k).itemsize
        return per_row * tile + self.mixture.work_nbytes(tile) + normalise_nbytes(tile)


def _write_labels(joint: NDArray[np.float64], out: NDArray[np.int32], work: Workspace) -> None:
    """Write the position of the first largest entry of every column.

    The last entry that exceeds all before it, found by a few operations on long vectors a
    component: twice as fast as `numpy.argmax` over a short axis, whose branches are mispredicted.
    """
    k, rows = joint.shape
    short = np.min_scalar_type(k)
    largest = work.take("rows.largest", (rows,), np.float64)
    exceeds = work.take("rows.exceeds", (rows,), np.bool_)
    label = work.take("rows.label", (rows,), short)
    candidate = work.take("rows.candidate", (rows,), short)
    np.copyto(largest, joint[0])
    label.fill(0)
    for component in range(1, k):
        np.greater(joint[component], largest, out=exceeds)
        np.multiply(exceeds.view(np.uint8), short.type(component), out=candidate)
        np.maximum(label, candidate, out=label)
        np.maximum(joint[component], largest, out=largest)
    np.copyto(out, label)
