"""The likelihood of the weights of every group, and its derivatives, as sums over rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.densities.class_densities import ClassDensities
from bigtensor.statistics.densities.joint_densities import BLOCK_ROWS


@dataclass(frozen=True)
class GroupLikelihoodResult:
    """Sums over the rows of every group, with ``s_h = p_h(x) / sum_l u_l p_l(x)``.

    Attributes
    ----------
    score : (groups, classes) float64 array
        ``sum w s``.
    information : (groups, classes, classes) float64 array
        ``sum w s s'``.
    log_likelihood : (groups,) float64 array
        ``sum w log(sum_l u_l p_l(x) / p(x))`` with the density p of the mixture.
    weight : (groups,) float64 array
        ``sum w``.
    """

    score: FloatArray
    information: FloatArray
    log_likelihood: FloatArray
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class GroupLikelihood(SumStatistic[GroupLikelihoodResult]):
    """Log-likelihood of the weights u of every group, its gradient and its curvature.

    `Block.group` holds the group of every row, from 0, and -1 for none.

    Parameters
    ----------
    classes : ClassDensities
        Densities of the classes.
    weights : (groups, classes) float64 array
        Nonnegative. Rows of a group whose weights are all zero are skipped.
    """

    classes: ClassDensities
    weights: FloatArray

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        groups, m = self.weights.shape
        return {
            "score": ((groups, m), "float64"),
            "information": ((groups, m, m), "float64"),
            "log_likelihood": ((groups,), "float64"),
            "weight": ((groups,), "float64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        group_of_row = block.row_groups()
        ratios = self.weights / self.classes.weights
        is_weighted = np.append(ratios.any(axis=1), False)
        for window, tile in self.classes.mixture.tiles(block, work):
            groups = group_of_row[window]
            if not is_weighted[groups].any():
                continue
            posterior, _ = self.classes.posterior(tile, work)
            ratio, weighted, density, weight = work.take_all(self._buffers(tile.rows))
            order = np.argsort(groups, kind="stable")
            codes = groups[order]
            starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
            if tile.block.weight is None:
                weight.fill(1.0)
            else:
                np.take(tile.block.weight[: tile.rows], order, out=weight)
            # posterior probabilities over weights are densities, up to a factor of the row
            np.copyto(ratio, posterior[order])
            for start, stop in pairwise((*starts, tile.rows)):
                group, part = codes[start], slice(start, stop)
                if is_weighted[group]:
                    np.matmul(ratio[part], ratios[group], out=density[part])
                    self._add(state, group, ratio[part], density[part], weight[part], weighted)

    def finalize(self, state: State) -> GroupLikelihoodResult:
        """Divide by the weights that posterior probabilities hold."""
        base = self.classes.weights
        return GroupLikelihoodResult(
            score=state["score"] / base,
            information=state["information"] / (base * base[:, None]),
            log_likelihood=state["log_likelihood"],
            weight=state["weight"],
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace and of NumPy's temporary arrays for ``rows`` rows."""
        tile = min(rows, self.classes.mixture.tile_rows)
        m, groups = self.classes.n_classes, len(self.weights)
        made = tile * (self.classes.mixture.dtype.itemsize * m + 8 * 6) + 8 * m * (m + groups)
        return self.classes.work_nbytes(tile) + buffers_nbytes(self._buffers(tile)) + made

    @staticmethod
    def _add(
        state: State,
        group: int,
        ratio: FloatArray,
        density: FloatArray,
        weight: FloatArray,
        work: FloatArray,
    ) -> None:
        """Add the rows of one group; `ratio` is overwritten."""
        # a density of zero under weights of zero leaves a likelihood that no step accepts
        np.maximum(density, np.finfo(np.float64).tiny ** 0.25, out=density)
        np.divide(ratio, density[:, None], out=ratio)
        weighted = work[: len(ratio)]
        np.multiply(ratio, weight[:, None], out=weighted)
        state["score"][group] += weighted.sum(axis=0)
        state["information"][group] += weighted.T @ ratio
        np.log(density, out=density)
        state["log_likelihood"][group] += weight @ density
        state["weight"][group] += weight.sum()

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        m = self.classes.n_classes
        return {
            "likelihood.ratio": ((rows, m), "float64"),
            "likelihood.weighted": ((rows, m), "float64"),
            "likelihood.density": ((rows,), "float64"),
            "likelihood.weight": ((rows,), "float64"),
        }
