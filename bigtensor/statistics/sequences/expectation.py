"""Expected counts of states and transitions along whole sequences, and sums of their emissions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import buffers_nbytes, padded_width
from bigtensor.features.maps import FeatureMap
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.densities.joint_densities import JointDensities
from bigtensor.statistics.densities.poisson_densities import PoissonDensities, PoissonTile
from bigtensor.statistics.densities.posterior_sums import PosteriorSumsResult
from bigtensor.statistics.densities.view_densities import MixtureDensities
from bigtensor.statistics.gaussian.own_covariance_densities import (
    OwnCovarianceDensities,
    OwnCovarianceTile,
)
from bigtensor.statistics.sequences.chain import BLOCK_ROWS, HiddenChain
from bigtensor.statistics.sequences.filtering import filter_nbytes, filtered_block
from bigtensor.statistics.sequences.segments import BEGINS
from bigtensor.statistics.sequences.sum_loops import add_transitions
from bigtensor.statistics.sequences.transfer import Boundaries


@dataclass(frozen=True, eq=False)
class SequencePosteriorSumsResult:
    """Expected counts, weighted by the rows, from which a chain is re-estimated.

    Attributes
    ----------
    initial : (k,) float64 array
        Of the states of the first rows of sequences.
    transition : (k, k) float64 array
        Of pairs of states, from a row to a column.
    emissions : PosteriorSumsResult
        Of every state, the sums that its emission follows from. Its log-likelihood is the sum over
        rows of the weight times the log density given the earlier rows.
    features : (D, k) float64 array, optional
        Of every state, the sums of the features of Gaussian and Poisson densities.
    """

    initial: FloatArray
    transition: FloatArray
    emissions: PosteriorSumsResult
    features: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class SequencePosteriorSums(SumStatistic[SequencePosteriorSumsResult]):
    """Sums of the forward-backward recursions (Baum, Petrie, Soules and Weiss 1970).

    The weight of a pair of states is the weight of the later row.

    Parameters
    ----------
    chain : HiddenChain
        Hidden Markov model of the sequences.
    boundaries : Boundaries
        Of a pass over the same rows.
    out_maps : mapping of str to FeatureMap, default {}
        The features to sum, for every wider view of the emissions.
    """

    chain: HiddenChain
    boundaries: Boundaries
    out_maps: Mapping[str, FeatureMap] = field(default_factory=dict)
    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        k, emissions = self.chain.n_states, self.chain.emissions
        arrays: dict[str, ArraySpec] = {
            "initial": ((k,), "float64"),
            "transition": ((k, k), "float64"),
            "mass": ((k,), "float64"),
            "log_likelihood": ((), "float64"),
            "weight": ((), "float64"),
            "rows": ((), "int64"),
        }
        if not isinstance(emissions, MixtureDensities):
            arrays["features"] = ((_feature_width(emissions), k), "float64")
        elif emissions.tables is not None:
            arrays["histograms"] = (emissions.tables.log_tables.shape, "float64")
        for view, feature_map in self.out_maps.items():
            arrays[f"embedding/{view}"] = ((feature_map.n_basis, k), "float64")
        return arrays

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        block, chain = block.without_halo(), self.chain
        forward = filtered_block(chain, self.boundaries, block, work)
        weight = work.take("expectation.weight", (block.rows,), "float64")
        block.write_weight(weight)
        posterior = work.take("expectation.posterior", forward.filtered.shape, "float64")
        add_transitions(
            forward.emission,
            forward.kinds,
            weight,
            chain.positive_transition,
            forward.entering,
            forward.leaving,
            forward.filtered,
            posterior,
            state["transition"],
            np.empty((2, chain.n_states)),
        )
        state["initial"] += posterior[forward.kinds == BEGINS].sum(axis=0)
        state["log_likelihood"] += weight @ forward.log_density
        state["weight"] += weight.sum()
        state["rows"] += block.rows
        if chain.reach is not None:
            near = chain.reach.holds(block.dense_values)
            if not near.all():
                block, posterior = block.keep(near), posterior[near]
        state["mass"] += posterior.sum(axis=0)
        self._add_emissions(state, block, posterior, work)

    def finalize(self, state: State) -> SequencePosteriorSumsResult:
        """Return the expected counts."""
        volume = self.chain.emissions.log_volume * float(state["weight"])
        return SequencePosteriorSumsResult(
            state["initial"],
            state["transition"] * self.chain.positive_transition,
            PosteriorSumsResult(
                mass=state["mass"],
                histograms=state.get("histograms"),
                embeddings={
                    view: feature_map.mixing.T @ state[f"embedding/{view}"]
                    for view, feature_map in self.out_maps.items()
                },
                log_likelihood=float(state["log_likelihood"]) - volume,
                weight=float(state["weight"]),
                rows=int(state["rows"]),
            ),
            state.get("features"),
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        k = self.chain.n_states
        tile = min(rows, self.chain.emissions.tile_rows)
        features = sum(
            feature_map.n_basis * padded_width(tile) * np.dtype(feature_map.dtype).itemsize
            for feature_map in self.out_maps.values()
        )
        casts = 8 * tile * k
        if isinstance(self.chain.emissions, OwnCovarianceDensities):
            casts += buffers_nbytes(self.chain.emissions.sum_arrays(tile))
        if self.chain.reach is not None:
            # a copy of the rows within reach, with their probabilities
            casts += rows * (1 + 8 * (self.chain.reach.columns[-1][1] + 4 + k))
        return filter_nbytes(self.chain, rows) + 8 * rows * (k + 1) + features + casts

    def _add_emissions(
        self, state: State, block: Block, posterior: FloatArray, work: Workspace
    ) -> None:
        """Add what the weighted posterior probabilities say of the emission of every state."""
        emissions = self.chain.emissions
        if not isinstance(emissions, MixtureDensities):
            self._add_features(state, block, posterior, work)
            return
        for window, tile in emissions.tiles(block, work):
            shares = posterior[window]
            if tile.lookup is not None:
                tile.lookup.locate(tile.block.dense_values)
                tile.lookup.add(shares, state["histograms"])
            for view, feature_map in self.out_maps.items():
                width = feature_map.n_basis, padded_width(tile.rows)
                basis = work.take(f"expectation.basis.{view}", width, feature_map.dtype)
                feature_map.write_basis(tile.block.view(view), basis, work)
                cast = work.take("expectation.shares", shares.shape, feature_map.dtype)
                np.copyto(cast, shares, casting="same_kind")
                state[f"embedding/{view}"] += basis[:, : tile.rows] @ cast

    def _add_features(
        self, state: State, block: Block, posterior: FloatArray, work: Workspace
    ) -> None:
        """Add the products of the features of rows with the weighted posterior probabilities."""
        for window, tile in self.chain.emissions.tiles(block, work):
            assert isinstance(tile, OwnCovarianceTile | PoissonTile)
            if isinstance(tile, OwnCovarianceTile):
                # densities are known, and those of rows with gaps are most of the time of a fit
                tile.write_features()
            tile.add_sums(posterior[window], state["features"], work)


def _feature_width(emissions: JointDensities) -> int:
    """Return the number of features of a row whose sums densities are re-estimated from."""
    if isinstance(emissions, OwnCovarianceDensities):
        return emissions.features.width
    assert isinstance(emissions, PoissonDensities)
    return len(emissions.factor)
