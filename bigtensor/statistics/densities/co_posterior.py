"""Rows that the components of a mixture share, by which components are merged.

Products of the rows of a tile are made in the dtype of the mixture, and added up in float64.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.densities.joint_densities import BLOCK_ROWS, JointDensities
from bigtensor.statistics.densities.tile_posterior import (
    count_rows,
    log_likelihood_of,
    posterior_buffers,
    tally_arrays,
    write_posterior,
)


@dataclass(frozen=True)
class CoPosteriorSumsResult:
    """Sums over rows i with weight w_i and posterior probabilities r_i of the components.

    Attributes
    ----------
    products : (components, components) float64 array, optional
        ``sum w r r'``; symmetric, and every row sums to `mass`. None where it was not asked for.
    assigned : (components, components) float64 array
        ``sum w r_a 1[b is the first most probable component]`` for row a and column b: the weight
        of rows that belong to a and are labelled b. Every row sums to `mass`.
    log_likelihood : float
        ``sum w log p(x)`` under the mixture.
    weight : float
        ``sum w``.
    rows : int
        Number of rows.
    """

    products: FloatArray | None
    assigned: FloatArray
    log_likelihood: float
    weight: float
    rows: int

    @property
    def mass(self) -> FloatArray:
        """``sum w r_a`` of every component: ``(components,)``."""
        return np.asarray(self.assigned.sum(axis=1))

    def ordered(self, order: IndexArray) -> CoPosteriorSumsResult:
        """Return the sums of the components in another order.

        Parameters
        ----------
        order : (components,) integer array
            Present position of every component.
        """
        square = np.ix_(order, order)
        products = None if self.products is None else self.products[square]
        return replace(self, products=products, assigned=self.assigned[square])


@dataclass(frozen=True, eq=False)
class CoPosteriorSums(SumStatistic[CoPosteriorSumsResult]):
    """Rows that the components of a mixture share.

    The sums for merging components into populations: by directly estimated misclassification
    probabilities (Hennig 2010) or by products of posterior probabilities. Those of merged
    components follow by adding rows and columns. A pass that re-estimates the densities can sum
    the same on its way: ``PosteriorSums(mixture, co_posterior=True, products=True)``.

    Parameters
    ----------
    mixture : JointDensities
        Mixture that the posterior probabilities belong to.
    """

    mixture: JointDensities

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        return {**tally_arrays(), **co_posterior_arrays(self.mixture.n_components, products=True)}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        for _, tile in self.mixture.tiles(block, work):
            label = co_posterior_labels(tile.rows, work)
            posterior = write_posterior(state, tile, work, label)
            add_co_posterior(state, posterior, label, tile.block, work)
        count_rows(state, block)

    def finalize(self, state: State) -> CoPosteriorSumsResult:
        """Return the sums under their names."""
        return co_posterior_result(state, self.mixture)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        tile = min(rows, self.mixture.tile_rows)
        return (
            self.mixture.work_nbytes(tile)
            + buffers_nbytes(posterior_buffers(self.mixture, tile))
            + co_posterior_nbytes(self.mixture, tile, products=True)
        )


def co_posterior_arrays(components: int, *, products: bool) -> dict[str, ArraySpec]:
    """Return the arrays of a state that `add_co_posterior` adds to."""
    names = ["co_posterior/by_label"] + ["co_posterior/products"] * products
    return dict.fromkeys(names, ((components, components), "float64"))


def co_posterior_nbytes(mixture: JointDensities, rows: int, *, products: bool) -> int:
    """Return the bytes of the buffers of `add_co_posterior`, and of the labels."""
    buffers = dict(_label_buffers(rows))
    if products:
        buffers.update(_product_buffers(mixture.n_components, rows, mixture.dtype))
    return buffers_nbytes(buffers)


def co_posterior_labels(rows: int, work: Workspace) -> IndexArray:
    """Return an array for the labels of the rows of a tile."""
    return work.take("co_posterior.label", *_label_buffers(rows)["co_posterior.label"])


def add_co_posterior(
    state: State,
    posterior: NDArray[Any],
    label: IndexArray,
    block: Block,
    work: Workspace,
) -> None:
    """Add the probabilities by label, and the products of posterior probabilities if asked for.

    Parameters
    ----------
    state : State
        With the arrays of `co_posterior_arrays`; those of products may be missing.
    posterior : (rows, width) float64 or float32 array
        Without the weights of the rows. Columns after the last component are left out.
    label : (rows,) intp array
        The first most probable component.
    block : Block
        The rows, for their weights.
    work : Workspace
        Buffers that are reused from block to block.
    """
    rows = len(label)
    weight = work.take("co_posterior.weight", *_label_buffers(rows)["co_posterior.weight"])
    block.write_weight(weight)
    _add_by_label(label, weight, posterior, state["co_posterior/by_label"])
    if "co_posterior/products" in state:
        _add_products(state["co_posterior/products"], posterior, block, work)


def _add_products(sums: FloatArray, posterior: NDArray[Any], block: Block, work: Workspace) -> None:
    """Add the products of posterior probabilities."""
    rows, components = len(posterior), len(sums)
    of_components = posterior[:, :components]
    scaled, root, products = work.take_all(_product_buffers(components, rows, posterior.dtype))
    if block.weight is None:
        scaled = of_components
    else:
        np.sqrt(block.weight[:rows], out=root)
        np.multiply(of_components, root[:, None], out=scaled, casting="same_kind")
    # with the root of the weight on both sides, a product of a matrix with itself: half the work
    np.matmul(scaled.T, scaled, out=products)
    sums += products


@row_loop
def _add_by_label(
    label: IndexArray,
    weight: FloatArray,
    posterior: NDArray[Any],
    sums: FloatArray,
) -> None:
    """Add every row with its weight to the sums of its label."""
    for row in range(label.size):
        of_label = sums[label[row]]
        of_row = posterior[row]
        for h in range(of_label.size):
            of_label[h] += weight[row] * of_row[h]


def co_posterior_result(state: State, mixture: JointDensities) -> CoPosteriorSumsResult:
    """Return the sums of a state with the arrays of `tally_arrays` and `co_posterior_arrays`."""
    return CoPosteriorSumsResult(
        products=state.get("co_posterior/products"),
        assigned=state["co_posterior/by_label"].T,
        log_likelihood=log_likelihood_of(state, mixture),
        weight=float(state["weight"]),
        rows=int(state["rows"]),
    )


def _label_buffers(rows: int) -> Buffers:
    """Return the labels of a tile, and the weights of its rows in float64."""
    return {"co_posterior.label": ((rows,), np.intp), "co_posterior.weight": ((rows,), "float64")}


def _product_buffers(components: int, rows: int, dtype: np.dtype[Any]) -> Buffers:
    """Return the buffers of `_add_products`."""
    return {
        "co_posterior.scaled": ((rows, components), dtype),
        "co_posterior.root": ((rows,), "float64"),
        "co_posterior.products": ((components, components), dtype),
    }
