"""Density of every row in every component."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import RowFunction, RowOutput, Workspace
from bigtensor.statistics.densities.joint_densities import JointDensities


@dataclass(frozen=True, eq=False)
class ComponentDensities(RowFunction):
    """Density of every row in every component, in the units of the data.

    Parameters
    ----------
    densities : JointDensities
        With weights of one.
    name : str
        Name of the output.
    dim : str
        Name of the dimension of the components.
    """

    densities: JointDensities
    name: str
    dim: str

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """Outputs for every row."""
        return (RowOutput(self.name, "float64", {self.dim: self.densities.n_components}),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the densities of the rows of ``block`` into ``out``, ``(rows, components)``."""
        density = out[self.name]
        self.densities.log_joint(block.without_halo(), density, work)
        density -= self.densities.log_volume
        np.exp(density, out=density)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return self.densities.work_nbytes(rows)
