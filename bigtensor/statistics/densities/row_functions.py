"""Labels, posterior probabilities and densities of every row, by component or population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IndexArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import RowFunction, RowOutput, Workspace, check_answers
from bigtensor.statistics.densities.class_densities import shares_buffer, sum_of_populations
from bigtensor.statistics.densities.joint_densities import BLOCK_ROWS, JointDensities, JointTile
from bigtensor.statistics.densities.tile_posterior import (
    posterior_buffers,
    tile_posterior,
    write_labels,
)

_ROW_NAMES = ("label", "probability", "log_density")
# "component" is the name of a dimension
_COMPONENT_NAMES = ("component_label", "component_probability")


@dataclass(frozen=True, eq=False)
class Responsibilities(RowFunction):
    """The most probable component of every row, the probability of each, and the density.

    Parameters
    ----------
    mixture : JointDensities
        Mixture that the posterior probabilities belong to.
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
    whole : (populations,) integer array, optional
        Populations with one number are parts of a whole. The temperature is that of wholes, whose
        probabilities are divided among their parts in the proportions without a temperature. The
        label is the most probable part of the most probable whole.

    Raises
    ------
    ParameterError
        When a name is unknown or repeated, or there is none, or the temperature is not positive.
    """

    mixture: JointDensities
    names: tuple[str, ...] = ("label",)
    populations: IndexArray | None = None
    temperature: float = 1.0
    whole: IndexArray | None = None

    block_rows: ClassVar[int] = BLOCK_ROWS

    def __post_init__(self) -> None:
        choices = _ROW_NAMES if self.populations is None else _ROW_NAMES + _COMPONENT_NAMES
        check_answers(self.names, choices)
        if not self.temperature > 0:
            raise ParameterError(f"temperature must be positive, not {self.temperature!r}")

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """Outputs for every row."""
        k = self.mixture.n_components
        dims = {"component": k} if self.populations is None else {"population": self._count}
        choices = (
            RowOutput("label", "int32", fill=-1),
            RowOutput("probability", "float32", dims),
            RowOutput("log_density", "float64"),
            RowOutput("component_label", "int32", fill=-1),
            RowOutput("component_probability", "float32", {"component": k}),
        )
        by_name = {output.name: output for output in choices}
        return tuple(by_name[name] for name in self.names)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the outputs of the rows of ``block`` into ``out``, each ``(rows, ...)``."""
        for window, tile in self.mixture.tiles(block, work):
            self._evaluate_tile(tile, {name: out[name][window] for name in self.names}, work)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        tile = min(rows, self.mixture.tile_rows)
        return self.mixture.work_nbytes(tile) + buffers_nbytes(self._buffers(tile))

    def _evaluate_tile(
        self, tile: JointTile, out: Mapping[str, NDArray[Any]], work: Workspace
    ) -> None:
        """Write the outputs of the rows of one tile."""
        buffers = self._buffers(tile.rows)
        arrays = {name: work.take(name, *spec) for name, spec in buffers.items()}
        joint, label = arrays["posterior.joint"], arrays["rows.label"]
        log_density = arrays["posterior.log_density"]
        of_components = "label" if self.populations is None else "component_label"
        if {*out} == {of_components}:
            tile.write_log_joint(joint)
            write_labels(joint, label)
        else:
            joint, log_density = tile_posterior(tile, work, label if of_components in out else None)
        posterior = joint[:, : self.mixture.n_components]
        if of_components in out:
            np.copyto(out[of_components], label, casting="same_kind")
        if "log_density" in out:
            np.subtract(log_density, self.mixture.log_volume, out=out["log_density"])
        if "component_probability" in out:
            np.copyto(out["component_probability"], posterior, casting="same_kind")
        shares = posterior
        if self.populations is not None and {"label", "probability"} & {*out}:
            shares = sum_of_populations(joint, self.populations, arrays["rows.shares"])
            if self.whole is not None and self.temperature != 1:
                flatten_wholes(shares, self.whole, self.temperature)
            if "label" in out:
                if self.whole is None:
                    write_labels(shares, label)
                else:
                    write_labels_of_parts(shares, self.whole, label)
                np.copyto(out["label"], label, casting="same_kind")
        if "probability" in out:
            if self.populations is not None and self.whole is None and self.temperature != 1:
                np.power(shares, 1 / self.temperature, out=shares)
                shares /= np.sum(shares, axis=1, out=arrays["rows.total"])[:, None]
            np.copyto(out["probability"], shares, casting="same_kind")

    @property
    def _count(self) -> int:
        """The number of populations."""
        return 0 if self.populations is None else int(self.populations.max()) + 1

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        buffers = dict(posterior_buffers(self.mixture, rows))
        buffers["rows.label"] = ((rows,), np.intp)
        if self.populations is not None:
            buffers["rows.shares"] = shares_buffer(rows, self._count, self.mixture.dtype)
            buffers["rows.total"] = ((rows,), self.mixture.dtype)
        return buffers


@row_loop
def write_labels_of_parts(shares: NDArray[Any], whole: IndexArray, label: IndexArray) -> None:
    """Write the most probable part of the most probable whole of every row.

    Parameters
    ----------
    shares : (n, populations) array
        Probabilities of the parts.
    whole : (populations,) integer array
        The whole of every part.
    label : (n,) intp array
        Receives the first of equally probable parts, zero where probabilities are NaN.
    """
    of_whole = np.zeros(whole.size)
    for row in range(shares.shape[0]):
        of_whole[:] = 0.0
        for part in range(whole.size):
            of_whole[whole[part]] += shares[row, part]
        best = 0
        for part in range(1, whole.size):
            difference = of_whole[whole[part]] - of_whole[whole[best]]
            if difference > 0.0 or (
                whole[part] == whole[best] and shares[row, part] > shares[row, best]
            ):
                best = part
        label[row] = best


@row_loop
def flatten_wholes(shares: NDArray[Any], whole: IndexArray, temperature: float) -> None:
    """Raise probabilities of wholes to the reciprocal of a temperature, and scale them.

    Parameters
    ----------
    shares : (n, populations) array
        Probabilities of the parts. Overwritten.
    whole : (populations,) integer array
        The whole of every part.
    temperature : float
        Positive number.
    """
    before, after = np.zeros(whole.size), np.zeros(whole.size)
    for row in range(shares.shape[0]):
        before[:] = 0.0
        for part in range(whole.size):
            before[whole[part]] += shares[row, part]
        total = 0.0
        for number in range(whole.size):
            after[number] = before[number] ** (1.0 / temperature)
            total += after[number]
        for part in range(whole.size):
            if before[whole[part]] > 0.0:
                shares[row, part] *= after[whole[part]] / before[whole[part]] / total
