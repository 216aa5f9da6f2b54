"""Surprise of every entry of a row, given the other entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import buffers_nbytes
from bigtensor.features.modes import Mode, Nodes
from bigtensor.statistics.base import RowFunction, RowOutput, Workspace
from bigtensor.statistics.tensor_train.conditional_curves import (
    ConditionalCurves,
    ConditionalDensity,
)
from bigtensor.statistics.tensor_train.located_rows import LocatedRows
from bigtensor.statistics.tensor_train.log_densities import TrainTables
from bigtensor.statistics.tensor_train.messages import message_buffers, messages_of

SURPRISE = "surprise"
"""Name of the output."""

_LEAST = 1e-300
"""Probability below which none is told apart."""


@dataclass(frozen=True, eq=False)
class Surprises(RowFunction):
    """Negative logarithm of the probability of an entry as far out, given the others of its row.

    Of a measured variable, twice the smaller of the probabilities below and above the entry; of a
    categorical one, the probability of its symbol.

    Parameters
    ----------
    trains : TrainTables
        In coordinates without axes.
    modes : tuple of Nodes or Symbols
        Of all variables.
    """

    trains: TrainTables
    modes: tuple[Mode, ...]

    block_rows: ClassVar[int] = 256

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """The surprise of every entry in nats, NaN of missing ones."""
        return (RowOutput(SURPRISE, "float64", {"feature": len(self.modes)}),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the surprises of the rows of ``block``."""
        located = self.trains.rows.located(block, work)
        messages = messages_of(self.trains, located, work)
        for j, mode in enumerate(self.modes):
            density = ConditionalCurves(self.trains, j, mode).write(messages, located, work)
            probability = self._probability(j, mode, located, density)
            out[SURPRISE][:, j] = -np.log(np.maximum(probability, _LEAST))

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        curves = max(
            buffers_nbytes(ConditionalCurves(self.trains, j, mode).buffers(rows))
            for j, mode in enumerate(self.modes)
        )
        messages = buffers_nbytes(message_buffers(self.trains, rows))
        return 3 * curves + messages + buffers_nbytes(self.trains.buffers(rows)) + 16 * 8 * rows

    def _probability(
        self, j: int, mode: Mode, located: LocatedRows, density: ConditionalDensity
    ) -> FloatArray:
        """Return the probability of an entry at least as far out. NaN if the entry is missing."""
        first = int(self.trains.rows.locator.first[j])
        point = located.point[:, j] - first
        is_missing = point == mode.size
        rows = np.arange(len(point))
        at = np.minimum(point, mode.count - 1)
        if not isinstance(mode, Nodes):
            probability = density.curves[rows, at]
        else:
            left, right = located.left[:, j], located.right[:, j]
            below = mode.mass_below(density.curves[:, : mode.count], at, left, right)
            places = located.values[:, j]
            if density.normals is not None:
                below += density.normals.mass_below(places)
            from_below = 1 - below
            if len(mode.atoms):
                below, from_below = _with_atoms(mode, density, point, places, below)
            probability = np.clip(2 * np.minimum(below, from_below), 0, 1)
        return np.where(is_missing, np.nan, probability)


def _with_atoms(
    mode: Nodes,
    density: ConditionalDensity,
    point: NDArray[np.integer],
    places: FloatArray,
    below: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities of entries up to one's own, and from one's own on, (n,) each.

    ``places`` are coordinates of entries, NaN of those on atoms, and ``below`` are the integrals of
    the continuous part up to them.
    """
    atoms = density.curves[:, mode.count :]
    up_to = below + (atoms * (mode.places < places[:, None])).sum(axis=1)
    onwards = 1 - up_to
    for k, place in enumerate(mode.places):
        on_atom = point == mode.count + k
        before = density.mass_below(mode, place) + atoms[:, :k].sum(axis=1)
        up_to = np.where(on_atom, before + atoms[:, k], up_to)
        onwards = np.where(on_atom, 1 - before, onwards)
    return up_to, onwards
