"""Weights and densities of a fitted kernel mixture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.descending_order import descending_order
from bigtensor.errors import ViewError
from bigtensor.features.kernels.bandwidth import rule_width
from bigtensor.features.kernels.kernel import Kernel
from bigtensor.features.kernels.nystroem import Nystroem
from bigtensor.models.answers.fitted_mixture import FittedMixture
from bigtensor.models.answers.populations import Populations
from bigtensor.models.contract.data_shape import view_slices
from bigtensor.models.kernel_mixture.embedded_view import DENSITY_FLOOR, EmbeddedView, anchors
from bigtensor.models.kernel_mixture.histogram_densities import (
    Grids,
    histogram_bandwidths,
    smooth_histograms,
)
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.densities.view_densities import EmbeddedDensities, MixtureDensities
from bigtensor.statistics.in_memory import outputs_in_memory
from bigtensor.statistics.row_sample import Sample


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """Weights and densities of all components in all views.

    Attributes
    ----------
    weights : (k,) float64 array
        Mixing weights.
    views : tuple of (name, features)
        Names of the views and of their features.
    grids : Grids
        Of the one-dimensional views, in the order of the views.
    histograms, densities : (one-dimensional views, bins + 1, k) float64 arrays
        Weighted counts, and smoothed densities.
    bandwidths : (one-dimensional views, k) float64 array
        Widths of the densities, in the units of the data.
    posterior_densities : (one-dimensional views, bins + 1, k) float64 array
        Densities behind labels and posterior probabilities: `densities`, or broader ones.
    embedded : tuple of EmbeddedView
        Densities of the views that grids do not hold.
    responsibilities : (n0, k) float64 array
        Posterior probabilities of the rows of the pilot sample, where there are embedded views.
    """

    weights: FloatArray
    views: tuple[tuple[str, tuple[str, ...]], ...]
    grids: Grids
    histograms: FloatArray
    densities: FloatArray
    bandwidths: FloatArray
    posterior_densities: FloatArray
    embedded: tuple[EmbeddedView, ...] = ()
    responsibilities: FloatArray | None = None

    def mixture(self) -> MixtureDensities:
        """Return the mixture for a posterior pass or a row function."""
        tables = (
            self.grids.tabulate(self.posterior_densities, DENSITY_FLOOR)
            if self.grids.columns
            else None
        )
        embedded = tuple(
            EmbeddedDensities(view.name, view.feature_map, view.coefficients, view.floor)
            for view in self.embedded
        )
        return MixtureDensities(self.weights, tables, embedded)

    def likelihood_mixture(self) -> MixtureDensities:
        """Return the mixture of the densities that are reported.

        Broad densities steady labels, but weights of the largest likelihood under them are biased.
        """
        return replace(self, posterior_densities=self.densities).mixture()

    @property
    def descending(self) -> NDArray[np.intp]:
        """The components by descending weight."""
        return descending_order(self.weights)

    def without(self, view: str) -> KernelSolution:
        """Return the mixture with this view marginalised out."""
        views = tuple(entry for entry in self.views if entry[0] != view)
        slices, old = view_slices(views), self.slices
        place = {old[name].start: slices[name] for name in slices}
        kept = [index for index, column in enumerate(self.grids.columns) if column in place]
        return replace(
            self,
            views=views,
            grids=Grids(
                tuple(place[self.grids.columns[index]].start for index in kept),
                self.grids.low[kept],
                self.grids.step[kept],
                self.grids.bins,
                self.grids.dtype,
            ),
            histograms=self.histograms[kept],
            densities=self.densities[kept],
            bandwidths=self.bandwidths[kept],
            posterior_densities=self.posterior_densities[kept],
            embedded=tuple(
                replace(entry, columns=slices[entry.name])
                for entry in self.embedded
                if entry.name != view
            ),
        )

    def ordered(self, order: NDArray[np.intp], sample: Sample | None = None) -> KernelSolution:
        """Return the components in an order, with the posteriors of the pilot sample if given."""
        embedded = tuple(
            replace(
                view,
                coefficients=view.coefficients[:, order],
                floor=view.floor[order],
                rows=view.rows if sample is None else sample.values[:, view.columns],
            )
            for view in self.embedded
        )
        solution = replace(
            self,
            weights=self.weights[order],
            histograms=self.histograms[:, :, order],
            densities=self.densities[:, :, order],
            bandwidths=self.bandwidths[:, order],
            posterior_densities=self.posterior_densities[:, :, order],
            embedded=embedded,
        )
        if not embedded or sample is None:
            return solution
        posterior = responsibilities_of(solution.mixture(), sample, self.slices)
        return replace(solution, responsibilities=posterior)

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of every view in the values of a block."""
        return view_slices(self.views)

    def density(self, view: str, points: FloatArray) -> FloatArray:
        """Return the density of every component in one view at ``(n,)`` or ``(n, d)`` points."""
        embedded = self._embedded_view(view)
        if embedded is not None:
            return embedded.density(points)
        index = self._position(view)
        flat = points.reshape(-1)
        grid = self.grids.points(index)
        floor = DENSITY_FLOOR * self.densities[index].max(axis=0)
        # logarithms are interpolated, as in the tables that score rows
        logs = np.log(np.maximum(self.densities[index], floor)).T
        values = [
            np.interp(flat, grid, column, left=least, right=least)
            for column, least in zip(logs, np.log(floor), strict=True)
        ]
        return np.asarray(np.exp(np.stack(values, axis=1)))

    def expectation(self, view: str, f: Callable[[NDArray[Any]], NDArray[Any]]) -> FloatArray:
        """Return ``E[f(x) | h]``: ``(k,)``, or ``(k, m)`` where f returns m numbers a row."""
        embedded = self._embedded_view(view)
        if embedded is not None:
            if self.responsibilities is None or embedded.holds(f):
                return embedded.expectation(f)
            rows = embedded.rows[:, 0] if embedded.rows.shape[1] == 1 else embedded.rows
            share, values = self.responsibilities, np.asarray(f(rows), np.float64)
        else:
            index = self._position(view)
            share = self.histograms[index]
            values = np.asarray(f(self.grids.points(index)), np.float64)
        total = np.maximum(share.sum(axis=0), np.finfo(np.float64).tiny)
        return np.asarray((share / total).T @ values)

    def example(self, view: str) -> FloatArray:
        """Return a few values of a view, as functions of it are given them."""
        embedded = self._embedded_view(view)
        if embedded is None:
            return self.grids.points(self._position(view))[:2]
        points = anchors(embedded.feature_map)[:2]
        return points[:, 0] if points.shape[1] == 1 else points

    def kernel(self, view: str) -> Kernel:
        """Return the kernel of an embedded view, or say that it has none."""
        embedded = self._embedded_view(view)
        if embedded is not None and isinstance(embedded.feature_map, Nystroem):
            return embedded.feature_map.kernel.in_data_units()
        raise ViewError(
            f"the densities of view {view!r} are no sums of kernels, but smoothed histograms or "
            "tables of categories: give expectations of it any function"
        )

    def draw_rows(self, label: NDArray[np.integer], rng: np.random.Generator) -> FloatArray:
        """Draw a row of every component: ``(rows, features)``."""
        values = np.empty((len(label), sum(len(members) for _, members in self.views)))
        for component in range(len(self.weights)):
            rows = np.flatnonzero(label == component)
            for index, column in enumerate(self.grids.columns):
                values[rows, column] = self._draw_histogram(index, component, rows.size, rng)
            for view in self.embedded:
                values[rows, view.columns] = self._draw_view(view, component, rows.size, rng)
        return values

    def feature_quantiles(self, column: int, levels: FloatArray) -> FloatArray | None:
        """Return the quantiles of one feature in every component, or None for categories."""
        if column in self.grids.columns:
            index = self.grids.columns.index(column)
            return self.grids.quantiles(index, self.densities[index], levels)
        view = next(
            entry for entry in self.embedded if entry.columns.start <= column < entry.columns.stop
        )
        if view.is_categorical:
            return None
        rows, shares = view.rows, self.responsibilities
        if shares is None:
            # a model that keeps no rows has the landmarks of the view
            rows = anchors(view.feature_map)
            shares = len(rows) * np.maximum(view.anchor_shares, 0.0)
        place = column - view.columns.start
        grids = Grids.over_sample(rows, (place,), self.grids.bins)
        histograms = grids.histograms(rows, shares)
        bandwidths = histogram_bandwidths(histograms, grids.step)
        densities = smooth_histograms(histograms, grids.step, bandwidths)
        return grids.quantiles(0, densities[0], levels)

    def _draw_histogram(
        self, index: int, component: int, size: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw from a smoothed histogram: a grid point, and noise of the component's width."""
        counts = np.maximum(self.histograms[index, :, component], 0.0)
        points = rng.choice(self.grids.points(index), size=size, p=counts / counts.sum())
        noise = self.bandwidths[index, component] * rng.standard_normal(size)
        return np.asarray(points + noise)

    def _draw_view(
        self, view: EmbeddedView, component: int, size: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw rows of the pilot sample by posterior probability, and add a little noise.

        A model that keeps no rows draws from the density of the component instead.

        The width of the noise is the rule of thumb for the component's rows in the sample: the
        kernel of the density is as wide as its landmarks are apart, which would blur.
        """
        if self.responsibilities is None:
            return view.draw(component, size, rng)
        share = self.responsibilities[:, component]
        chosen = rng.choice(len(share), size=size, p=share / share.sum())
        rows = np.asarray(view.rows, np.float64)
        if view.is_categorical:
            return np.asarray(rows[chosen])
        mean = share @ rows / share.sum()
        spread = np.sqrt(share @ (rows - mean) ** 2 / share.sum())
        width = rule_width(spread, float(share.sum()), 1)
        return np.asarray(rows[chosen] + width * rng.standard_normal((size, width.size)))

    def _embedded_view(self, view: str) -> EmbeddedView | None:
        """Return the embedded view of this name, or None."""
        return next((entry for entry in self.embedded if entry.name == view), None)

    def _position(self, view: str) -> int:
        """Return the place of a one-dimensional view among the grids."""
        return self.grids.columns.index(self.slices[view].start)


@dataclass(frozen=True, eq=False)
class KernelFit(FittedMixture):
    """Components of a fitted mixture, and the populations that they were merged into."""

    solution: KernelSolution
    populations: Populations | None = None

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of every view in the values of a block."""
        return self.solution.slices

    def mixture(self) -> MixtureDensities:
        """Return the densities that labels and probabilities come from."""
        return self.solution.mixture()

    def likelihood_mixture(self) -> MixtureDensities:
        """Return the densities that weights of groups are estimated under."""
        return self.solution.likelihood_mixture()

    def draw_rows(self, label: NDArray[np.integer], rng: np.random.Generator) -> FloatArray:
        """Draw a row of every component: ``(rows, features)``."""
        return self.solution.draw_rows(label, rng)

    def feature_quantiles(self, column: int, levels: FloatArray) -> FloatArray | None:
        """Return the quantiles of one feature in every component, or None for categories."""
        return self.solution.feature_quantiles(column, levels)


def responsibilities_of(
    mixture: MixtureDensities, sample: Sample, slices: Mapping[str, slice]
) -> FloatArray:
    """Return the posterior probabilities of the rows of a sample, times their weights."""
    function = Responsibilities(mixture, ("probability",))
    posterior = outputs_in_memory(function, sample.block(slices))["probability"].astype(np.float64)
    return posterior if sample.weight is None else posterior * sample.weight[:, None]
