"""Sums over rows of posterior probabilities, from which densities are re-estimated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes, merge_buffers, padded_width
from bigtensor.features.maps import FeatureMap
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.densities.co_posterior import (
    CoPosteriorSumsResult,
    add_co_posterior,
    co_posterior_arrays,
    co_posterior_labels,
    co_posterior_nbytes,
    co_posterior_result,
)
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.tile_posterior import (
    count_rows,
    log_likelihood_of,
    posterior_buffers,
    tally_arrays,
    write_posterior,
)
from bigtensor.statistics.densities.view_densities import MixtureDensities, Tile


@dataclass(frozen=True)
class PosteriorSumsResult:
    """Sums over rows of the weight w times the posterior probability r of every component.

    Attributes
    ----------
    mass : (components,) float64 array
        ``sum w r_h``.
    histograms : (views, bins + 1, components) or (lines, components) float64 array, optional
        ``w r_h`` shared linearly between the two nearest grid points, for the one-dimensional
        views in the order of their tables, or in the lines of the categories of codes; None without
        tables.
    embeddings : mapping of str to (p, components) float64 arrays
        ``sum w y(x) r_h`` for the features y of every wider view.
    log_likelihood : float
        ``sum w log p(x)`` under the mixture.
    weight : float
        ``sum w``.
    rows : int
        Number of rows.
    co_posterior : CoPosteriorSumsResult, optional
        What the components share, where it was asked for.
    """

    mass: FloatArray
    histograms: FloatArray | None
    embeddings: Mapping[str, FloatArray]
    log_likelihood: float
    weight: float
    rows: int
    co_posterior: CoPosteriorSumsResult | None = None


@dataclass(frozen=True, eq=False)
class PosteriorSums(SumStatistic[PosteriorSumsResult]):
    """Histograms and embeddings of every component, weighted by posterior probabilities.

    One step of the algorithm of Benaglia, Chauveau and Hunter (2009): the densities that follow
    from the sums are those of the next step.

    Sums are float64. With float32 densities the rows of one block are summed in float32 first,
    because histograms of half the size are filled in half the time: entries then have a relative
    error of 1e-6, and of up to 1e-3 in a bin that thousands of equal rows share.

    Parameters
    ----------
    mixture : MixtureDensities
        Gives the posterior probabilities; its tables also give the grids of the histograms.
    out_maps : mapping of str to FeatureMap, default {}
        The features to sum, for every wider view. A map that the mixture itself uses for this
        view is evaluated only once.
    co_posterior : bool, default False
        Sum the posterior probabilities of the rows of every label as well; see `CoPosteriorSums`.
    products : bool, default False
        Together with ``co_posterior``, sum also the products of posterior probabilities. They
        cost a third of such a pass over 13 views and 150 components.
    """

    mixture: MixtureDensities
    out_maps: Mapping[str, FeatureMap] = field(default_factory=dict)
    co_posterior: bool = False
    products: bool = False

    def __post_init__(self) -> None:
        tables, tile = self.mixture.tables, self.mixture.tile_rows
        tiles = 1 if tables is None else max(1, tables.block_rows // tile)
        object.__setattr__(self, "block_rows", tiles * tile)

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        k, tables = self.mixture.n_components, self.mixture.tables
        arrays: dict[str, ArraySpec] = {
            "mass": ((k,), "float64"),
            **tally_arrays(),
        }
        if self.co_posterior:
            arrays.update(co_posterior_arrays(k, products=self.products))
        if tables is not None:
            arrays["histograms"] = (tables.log_tables.shape, "float64")
        for view, feature_map in self.out_maps.items():
            arrays[f"embedding/{view}"] = ((feature_map.n_basis, k), "float64")
        return arrays

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        histograms = {
            name: work.take(name, shape, dtype)
            for name, (shape, dtype) in self._histogram_arrays().items()
        }
        for array in histograms.values():
            array.fill(0)
        for _, tile in self.mixture.tiles(block, work):
            posterior = self._posterior(state, tile, work)
            self._add_embeddings(state, tile, posterior, work)
            if tile.lookup is not None:
                summed = histograms if histograms else state
                tile.lookup.add(posterior, summed["histograms"])
        for name, array in histograms.items():
            for of_view, sums in zip(array, state[name], strict=True):
                _add_tables(of_view, sums)
        count_rows(state, block)

    def finalize(self, state: State) -> PosteriorSumsResult:
        """Take the sums of basis functions to sums of features."""
        return PosteriorSumsResult(
            mass=state["mass"],
            histograms=state.get("histograms"),
            embeddings={
                view: feature_map.mixing.T @ state[f"embedding/{view}"]
                for view, feature_map in self.out_maps.items()
            },
            log_likelihood=log_likelihood_of(state, self.mixture),
            weight=float(state["weight"]),
            rows=int(state["rows"]),
            co_posterior=co_posterior_result(state, self.mixture) if self.co_posterior else None,
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        tile = min(rows, self.mixture.tile_rows)
        needs = [self._tile_arrays(tile), self._histogram_arrays()]
        needs += [feature_map.work_arrays(tile) for feature_map in self.out_maps.values()]
        nbytes = buffers_nbytes(merge_buffers(needs)) + self.mixture.work_nbytes(tile)
        if self.co_posterior:
            nbytes += co_posterior_nbytes(self.mixture, tile, products=self.products)
        return nbytes

    def _posterior(self, state: State, tile: Tile, work: Workspace) -> NDArray[Any]:
        """Return weighted posterior probabilities, ``(rows, width)``; add their own sums."""
        if self.co_posterior:
            label = co_posterior_labels(tile.rows, work)
            posterior = write_posterior(state, tile, work, label)
            add_co_posterior(state, posterior, label, tile.block, work)
        else:
            posterior = write_posterior(state, tile, work)
        if tile.block.weight is not None:
            np.multiply(posterior, tile.block.weight[: tile.rows, None], out=posterior)
        _add_rows(posterior, state["mass"])
        return posterior

    def _add_embeddings(
        self, state: State, tile: Tile, posterior: NDArray[Any], work: Workspace
    ) -> None:
        """Add the products of the basis functions with the weighted posterior probabilities."""
        shared = {part.view: part.feature_map for part in self.mixture.embedded}
        for view, feature_map in self.out_maps.items():
            if shared.get(view) is feature_map:
                basis = tile.bases[view]
            else:
                shape = (feature_map.n_basis, padded_width(tile.rows))
                basis = work.take(f"posterior.basis.{view}", shape, feature_map.dtype)
                feature_map.write_basis(tile.block.view(view)[: tile.rows], basis, work)
            shares = posterior[:, : self.mixture.n_components]
            if posterior.dtype != basis.dtype:
                name = f"posterior.cast.{feature_map.dtype}"
                cast = work.take(name, shares.shape, basis.dtype)
                np.copyto(cast, shares, casting="same_kind")
                shares = cast
            state[f"embedding/{view}"] += np.matmul(basis[:, : tile.rows], shares)

    def _histogram_arrays(self) -> Buffers:
        """Return the histograms of one block, where they are not added up in the state."""
        tables = self.mixture.tables
        if not isinstance(tables, TabulatedDensities) or tables.dtype == "float64":
            return {}
        return {"histograms": (tables.padded_tables.shape, tables.dtype)}

    def _tile_arrays(self, rows: int) -> Buffers:
        """Return the buffers of one tile that are neither the mixture's nor the maps'."""
        k = self.mixture.n_components
        arrays = dict(posterior_buffers(self.mixture, rows))
        for view, feature_map in self.out_maps.items():
            dtype = feature_map.dtype
            width = padded_width(rows)
            arrays[f"posterior.basis.{view}"] = ((feature_map.n_basis, width), dtype)
            if dtype != self.mixture.dtype:
                arrays[f"posterior.cast.{dtype}"] = ((rows, k), dtype)
        return arrays


@row_loop
def _add_rows(rows: NDArray[Any], sums: FloatArray) -> None:
    """Add up the rows of an array, which may be longer than the sums."""
    for row in range(rows.shape[0]):
        of_row = rows[row]
        for h in range(sums.size):
            sums[h] += of_row[h]


@row_loop
def _add_tables(table: NDArray[Any], sums: FloatArray) -> None:
    """Add a table to another one, whose rows may be shorter."""
    for row in range(sums.shape[0]):
        of_row, sums_of_row = table[row], sums[row]
        for h in range(sums_of_row.size):
            sums_of_row[h] += of_row[h]
