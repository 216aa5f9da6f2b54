"""Other estimates of densities, all with the same least standard deviation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr, ndtri
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

Floats = NDArray[np.float64]

FLOOR = 0.2
"""Least standard deviation of every estimate, in those of the training rows."""

WIDTHS = (0.2, 0.28, 0.4, 0.56, 0.8, 1.1)
RIDGES = (0.04, 0.1, 0.3, 0.6)
SHRINKAGES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
CLIP = 1e-4
"""Distance of values of distribution functions from zero and one."""

MOST_LEVELS = 8
"""Trees of a vine of many variables."""

MANY_VARIABLES = 20


class Density(Protocol):
    """Estimate of a density."""

    def fit(self, X: Floats) -> Self:
        """Fit to standardised rows."""

    def score_samples(self, X: Floats) -> Floats:
        """Return log-densities."""


def best_by_validation(
    candidates: Iterable[Callable[[], Density]], fitted: Floats, held: Floats
) -> Callable[[], Density]:
    """Return the candidate that gives held-out rows the largest density."""
    makes = list(candidates)
    scores = [float(make().fit(fitted).score_samples(held).mean()) for make in makes]
    return makes[int(np.argmax(scores))]


@dataclass
class Validated:
    """The best of several estimates on a held-out quarter, fitted to all rows.

    Attributes
    ----------
    candidates : callable
        Returns makers of estimates for a number of rows.
    """

    candidates: Callable[[int], Iterable[Callable[[], Density]]]
    best: Any = None

    def fit(self, X: Floats) -> Self:
        """Choose, and fit to all rows."""
        held = np.random.default_rng(0).permutation(len(X)) % 4 == 0
        make = best_by_validation(self.candidates(len(X)), X[~held], X[held])
        self.best = make().fit(X)
        return self

    def score_samples(self, X: Floats) -> Floats:
        """Return log-densities."""
        return np.asarray(self.best.score_samples(X))


def kernel_density() -> Density:
    """Return a product kernel, its width by validation."""
    return Validated(
        lambda n: [lambda w=width: KernelDensity(bandwidth=w) for width in WIDTHS]  # noqa: ARG005
    )


def gaussian_mixture() -> Density:
    """Return Gaussian components with full covariances, their number and ridge by validation."""

    def candidates(n: int) -> list[Callable[[], Density]]:
        counts = sorted({1, 2, 4, 8, max(2, min(n // 30, 20))})
        return [
            lambda k=k, ridge=ridge: GaussianMixture(k, reg_covar=ridge, random_state=0)
            for k in counts
            if k < n
            for ridge in RIDGES
        ]

    return Validated(candidates)


@dataclass
class Margins:
    """Kernel estimates of every variable alone."""

    sample: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def fit(self, X: Floats) -> Self:
        """Keep the rows."""
        self.sample = X
        return self

    def distribution(self, X: Floats) -> Floats:
        """Return the distribution functions at the entries."""
        found = [
            ndtr((column[:, None] - own) / FLOOR).mean(axis=1)
            for column, own in zip(X.T, self.sample.T, strict=True)
        ]
        return np.clip(np.stack(found, axis=1), CLIP, 1 - CLIP)

    def score_samples(self, X: Floats) -> Floats:
        """Return the log-density of the product of the margins."""
        total = np.zeros(len(X))
        for column, own in zip(X.T, self.sample.T, strict=True):
            distances = -0.5 * np.square((column[:, None] - own) / FLOOR)
            total += logsumexp(distances, axis=1)
        constant = np.log(len(self.sample) * FLOOR * np.sqrt(2 * np.pi))
        return np.asarray(total - X.shape[1] * constant)


@dataclass
class GaussianCopula:
    """Normal scores with a correlation that is shrunk."""

    shrinkage: float
    margins: Margins = field(default_factory=Margins)
    correlation: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def fit(self, X: Floats) -> Self:
        """Estimate margins and correlation."""
        self.margins.fit(X)
        found = np.atleast_2d(np.corrcoef(ndtri(self.margins.distribution(X)).T))
        self.correlation = (1 - self.shrinkage) * found + self.shrinkage * np.eye(len(found))
        self.correlation += 1e-6 * np.eye(len(found))
        return self

    def score_samples(self, X: Floats) -> Floats:
        """Return log-densities."""
        scores = ndtri(self.margins.distribution(X))
        inverse = np.linalg.inv(self.correlation) - np.eye(len(self.correlation))
        squares = np.einsum("ni,ij,nj->n", scores, inverse, scores)
        volume = np.linalg.slogdet(self.correlation)[1]
        return np.asarray(self.margins.score_samples(X) - 0.5 * (squares + volume))


def gaussian_copula() -> Density:
    """Return a Gaussian copula, its shrinkage by validation."""
    return Validated(
        lambda n: [lambda s=share: GaussianCopula(s) for share in SHRINKAGES]  # noqa: ARG005
    )


@dataclass
class Vine:
    """Vine copula with the same margins."""

    nonparametric: bool
    margins: Margins = field(default_factory=Margins)
    copula: Any = None

    def fit(self, X: Floats) -> Self:
        """Choose the vine and its pair copulas."""
        import pyvinecopulib as pv

        known = pv.families
        families = [known.indep, known.tll] if self.nonparametric else known.parametric
        controls = pv.FitControlsVinecop(family_set=families)
        if X.shape[1] > MANY_VARIABLES:
            controls.trunc_lvl = MOST_LEVELS
        shares = self.margins.fit(X).distribution(X)
        self.copula = pv.Vinecop.from_data(np.asfortranarray(shares), controls=controls)
        return self

    def score_samples(self, X: Floats) -> Floats:
        """Return log-densities."""
        density = self.copula.pdf(np.asfortranarray(self.margins.distribution(X)))
        tiny = np.finfo(np.float64).tiny
        return np.asarray(self.margins.score_samples(X) + np.log(np.maximum(density, tiny)))


PEERS: dict[str, Callable[[], Density]] = {
    "margins": Margins,
    "kernel density": kernel_density,
    "Gaussian mixture": gaussian_mixture,
    "Gaussian copula": gaussian_copula,
    "vine, parametric": lambda: Vine(nonparametric=False),
    "vine, nonparametric": lambda: Vine(nonparametric=True),
}
"""Peers by name."""
