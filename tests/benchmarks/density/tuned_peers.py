"""Other estimates of densities with margins, widths and ridges that validation chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from tests.benchmarks.density.peers import (
    CLIP,
    SHRINKAGES,
    Density,
    Floats,
    GaussianCopula,
    Validated,
    Vine,
)

LEAST_WIDTH = 0.02
"""Least standard deviation of every estimate, in those of the training rows."""

MARGIN_WIDTHS = np.geomspace(LEAST_WIDTH, 1.0, 12)
KERNEL_WIDTHS = (0.05, 0.08, 0.12, 0.2, 0.28, 0.4, 0.56, 0.8)
COMPONENTS = (1, 2, 3, 5, 8, 12, 20, 30)
RIDGES = (LEAST_WIDTH**2, 0.003, 0.02, 0.1, 0.3)

_BINS_OF_WIDTH = 4
_REACH = 6


@dataclass
class TunedMargin:
    """Kernel estimate of one variable, its width by the likelihood of rows that are left out.

    A wide normal density with the share of one row keeps densities of far rows from zero.

    Attributes
    ----------
    points, heights, distribution
        Grid, with the density and the distribution function there, shape ``(g,)``.
    """

    points: Floats
    heights: Floats
    distribution: Floats
    surroundings: tuple[float, float, float]

    @classmethod
    def of(cls, column: Floats) -> TunedMargin:
        """Choose the width, and tabulate the estimate."""
        n = len(column)
        mean, deviation = float(column.mean()), 2 * float(column.std())
        best = max(MARGIN_WIDTHS, key=lambda width: _left_out(column, width, mean, deviation))
        points, counts, kernel = _binned(column, best)
        heights = np.convolve(counts, kernel, "same") / n
        distribution = np.cumsum(heights) * best / _BINS_OF_WIDTH
        return cls(points, heights, distribution, (mean, deviation, 1 / (n + 1)))

    def density(self, values: Floats) -> Floats:
        """Return the density."""
        mean, deviation, share = self.surroundings
        own = np.interp(values, self.points, self.heights, 0, 0)
        around = np.exp(-0.5 * np.square((values - mean) / deviation))
        return np.asarray((1 - share) * own + share * around / (deviation * np.sqrt(2 * np.pi)))

    def below(self, values: Floats) -> Floats:
        """Return the distribution function."""
        mean, deviation, share = self.surroundings
        own = np.interp(values, self.points, self.distribution, 0, 1)
        return np.asarray((1 - share) * own + share * ndtr((values - mean) / deviation))


def _binned(column: Floats, width: float) -> tuple[Floats, Floats, Floats]:
    """Return bins, their counts and the kernel at distances of bins."""
    step = width / _BINS_OF_WIDTH
    reach = _REACH * _BINS_OF_WIDTH
    low = column.min() - reach * step
    places = np.rint((column - low) / step).astype(np.intp)
    counts = np.bincount(places, minlength=places.max() + reach + 1).astype(float)
    distances = np.arange(-reach, reach + 1) / _BINS_OF_WIDTH
    kernel = np.exp(-0.5 * np.square(distances)) / (width * np.sqrt(2 * np.pi))
    return low + step * np.arange(len(counts)), counts, kernel


def _left_out(column: Floats, width: float, mean: float, deviation: float) -> float:
    """Return the log-likelihood of rows, each under the estimate of the others."""
    points, counts, kernel = _binned(column, width)
    others = np.convolve(counts, kernel, "same") - kernel.max()
    used = counts > 0
    around = np.exp(-0.5 * np.square((points - mean) / deviation)) / deviation
    heights = np.maximum(others, 0) + around / np.sqrt(2 * np.pi)
    return float(counts[used] @ np.log(heights[used]))


@dataclass
class TunedMargins:
    """Kernel estimates of every variable alone."""

    margins: list[TunedMargin] = field(default_factory=list)

    def fit(self, X: Floats) -> TunedMargins:
        """Choose the widths."""
        self.margins = [TunedMargin.of(column) for column in X.T]
        return self

    def distribution(self, X: Floats) -> Floats:
        """Return the distribution functions at the entries."""
        below = [margin.below(column) for margin, column in zip(self.margins, X.T, strict=True)]
        return np.clip(np.stack(below, axis=1), CLIP, 1 - CLIP)

    def score_samples(self, X: Floats) -> Floats:
        """Return the log-density of the product of the margins."""
        pairs = zip(self.margins, X.T, strict=True)
        return np.sum([np.log(margin.density(column)) for margin, column in pairs], axis=0)


def _kernel_density() -> Density:
    """Return a product kernel, its width by validation."""
    return Validated(
        lambda n: [lambda w=width: KernelDensity(bandwidth=w) for width in KERNEL_WIDTHS]  # noqa: ARG005
    )


def _gaussian_mixture() -> Density:
    """Return Gaussian components with full covariances, their number and ridge by validation."""

    def candidates(n: int) -> list[Callable[[], Density]]:
        return [
            lambda k=k, ridge=ridge: GaussianMixture(k, reg_covar=ridge, random_state=0)
            for k in COMPONENTS
            if 10 * k <= n
            for ridge in RIDGES
        ]

    return Validated(candidates)


def _gaussian_copula() -> Density:
    """Return a Gaussian copula, its shrinkage by validation."""
    return Validated(
        lambda n: [lambda s=share: GaussianCopula(s, TunedMargins()) for share in SHRINKAGES]  # noqa: ARG005
    )


@dataclass
class SplineFlow:
    """Masked autoregressive flow with rational quadratic splines, from flowjax.

    Rows have Gaussian noise of the least width in training, so that ties do not grow into peaks
    without bound. A tenth of them says when to stop.
    """

    flow: Any = None

    def fit(self, X: Floats) -> SplineFlow:
        """Train the flow."""
        from flowjax.bijections import RationalQuadraticSpline
        from flowjax.distributions import Normal
        from flowjax.flows import masked_autoregressive_flow
        from flowjax.train import fit_to_data
        from jax import numpy, random

        noise = np.random.default_rng(0).normal(scale=LEAST_WIDTH, size=X.shape)
        flow = masked_autoregressive_flow(
            random.key(0),
            base_dist=Normal(numpy.zeros(X.shape[1])),
            transformer=RationalQuadraticSpline(knots=8, interval=5),
            flow_layers=5,
            nn_width=64,
        )
        self.flow, _ = fit_to_data(
            random.key(1),
            flow,
            numpy.asarray(X + noise),
            learning_rate=1e-3,
            max_epochs=300,
            max_patience=15,
            batch_size=128,
            show_progress=False,
        )
        return self

    def score_samples(self, X: Floats) -> Floats:
        """Return the log-density."""
        return np.asarray(self.flow.log_prob(X), np.float64)


TUNED_PEERS: dict[str, Callable[[], Density]] = {
    "margins": TunedMargins,
    "kernel density": _kernel_density,
    "Gaussian mixture": _gaussian_mixture,
    "Gaussian copula": _gaussian_copula,
    "vine, parametric": lambda: Vine(False, TunedMargins()),
    "vine, nonparametric": lambda: Vine(True, TunedMargins()),
}
"""Peers by name."""

BESIDE = {"spline flow": SplineFlow}
"""Estimates that are reported beside the peers, by name."""
