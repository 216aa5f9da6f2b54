"""Regularisation of components with a covariance each, and its choice by held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.decomposition.gaussian.covariance_shrinkage import CovarianceShrinkage
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.statistics.row_copies import random_order

CANDIDATES = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3)
"""Values of ``reg_covar`` that are compared."""

FIRST_SHRINKAGE = 0.3
"""Shrinkage under which some values of ``reg_covar`` are compared again."""

VALUES_WITH_SHRINKAGE = (1e-6, 1e-3, 0.03)
"""Values of ``reg_covar`` that are compared again, beside the best one, if not larger than it."""

FURTHER_SHRINKAGES = (0.1, 1.0, 3.0)
"""Shrinkages that are compared with the first one if rows are better with it than without."""

_LARGEST_RATIO = 2.0
"""Largest value, over the number of features for each row of a component.

A value makes up for covariances of too few rows, and this ratio says how few they are. Two groups
on one axis, 2.5 deviations apart, had a value of .1 in most fits to 100 rows, under which both
components become one. In tables of 1 to 20 features a larger value was never chosen.
"""

FOLDS = 10
"""Parts of the sample, each of which is held out once, until enough rows have been."""

ENOUGH_ROWS_A_PARAMETER = 30
"""Rows for each parameter of the mixture, above which the smallest value is taken."""

_STANDARD_ERRORS = 3.0
"""Standard errors by which a value is worse than the best when it is compared no further."""

_FEWEST_ROWS = 100
"""Held-out rows, with fewer of which all values are compared."""

_WITHOUT_FAR_ROWS = 0.03
"""Value from which on larger ones may be dropped, too.

Under a smaller value a single held-out row may lie so far outside all components that it refutes
the value: with the digits of scikit-learn, 1e-6 is the best value in three of ten parts, and .1 in
all.
"""

_DIGITS = 9
"""Decimal digits of mean log-likelihoods in which the best regularisation differs from others."""

ENOUGH_HELD_OUT = 2_000
"""Held-out rows after which no further part of the rows is held out."""


@dataclass(frozen=True)
class Strength:
    """Strength of the regularisation of covariances.

    Attributes
    ----------
    reg_covar : float
        Added to the variances of standardised features.
    shrinkage : float
        Weight of the common covariance, over the mean weight of a component.
    """

    reg_covar: float
    shrinkage: float = 0.0


@dataclass(frozen=True, eq=False)
class Regularisation:
    """Regularisation of the covariances in EM iterations.

    Attributes
    ----------
    variances : (d,) float64 array
        Added to the variances of the features, in the units of the data.
    shrinkage : float
        Weight of the common covariance, over the mean weight of a component.
    centre : (d, d) float64 array, optional
        The common covariance, in the units of the data. None before there are components.
    """

    variances: FloatArray
    shrinkage: float = 0.0
    centre: FloatArray | None = None

    @classmethod
    def for_features(cls, variances: FloatArray, strength: Strength) -> Regularisation:
        """Return the regularisation of features with such variances over all rows: ``(d,)``."""
        return cls(strength.reg_covar * positive(variances), strength.shrinkage)

    def around(self, components: OwnCovarianceComponents) -> Regularisation:
        """Return the regularisation whose common covariance is the mean within the components.

        It stays the same during EM iterations, each of which then raises the penalised likelihood.
        """
        if not self.shrinkage:
            return self
        centre = np.tensordot(components.weights, components.covariances, axes=1)
        return replace(self, centre=centre)

    def shrinkage_of(self, components: OwnCovarianceComponents) -> CovarianceShrinkage | None:
        """Return the shrinkage in the frame of the components; None without."""
        if not self.shrinkage:
            return None
        assert self.centre is not None, "the common covariance is that of components"
        (centre,) = components.frame.covariances_of(self.centre[None])
        return CovarianceShrinkage(centre, self.shrinkage / components.n_components)

    def of_features(self, positions: NDArray[np.intp]) -> Regularisation:
        """Return the regularisation of features in another order.

        Parameters
        ----------
        positions : (d,) integer array
            Position of every feature in the present order.
        """
        centre = None if self.centre is None else self.centre[np.ix_(positions, positions)]
        return replace(self, variances=self.variances[positions], centre=centre)


def positive(variances: FloatArray) -> FloatArray:
    """Return the variances of the features; one for a constant feature."""
    return np.where(variances > 0, variances, 1.0)


def strength_of(facts: Mapping[str, Any]) -> Strength:
    """Return the regularisation that stands in the facts of a competition."""
    return Strength(facts["reg_covar"], facts.get("shrinkage", 0.0))


HoldOut: TypeAlias = Callable[[NDArray[np.bool_]], Callable[[Strength], FloatArray]]
"""Returns a function for held-out rows, where an array is true: their log-likelihoods ``(m,)`` by
regularisation."""


def candidates_for(n_features: int, n_components: int, rows: int) -> tuple[float, ...]:
    """Return the values of `CANDIDATES` that components of so many rows may need.

    Parameters
    ----------
    n_features, n_components : int
        Of the mixture.
    rows : int
        Distinct rows of the sample.
    """
    most = max(_LARGEST_RATIO * n_features * n_components / rows, CANDIDATES[0])
    return tuple(value for value in CANDIDATES if value <= most)


def validated_regularisation(
    distinct: IndexArray,
    random_state: int,
    hold_out: HoldOut,
    weight: FloatArray | None = None,
    candidates: Sequence[float] = CANDIDATES,
) -> tuple[Strength, list[dict[str, float]]]:
    """Return the regularisation with the best likelihood of held-out rows, and what was compared.

    Values of ``reg_covar`` are compared without shrinkage first, and then with `FIRST_SHRINKAGE`
    the best and smaller ones: components that share rows need less. If this is better, other
    shrinkages follow under the same value.

    Parameters
    ----------
    distinct : (n,) integer array
        Number of every row of the pilot sample among the distinct rows. Equal rows are held
        out together, and count once, with the weight of the first: many equal rows far from the
        others would take the largest value, because without them no component is near.
    random_state : int
        Seed of the folds.
    hold_out : callable (held) -> callable (strength) -> (m,) float64 array
        Returns the log-likelihoods of held-out rows, of which ``held`` is an array of bool.
    weight : (n,) float64 array, optional
        Weights of the rows.
    candidates : sequence of float
        Values of ``reg_covar`` that are compared, in ascending order.

    Returns
    -------
    strength : Strength
        The regularisation that is chosen.
    compared : list of dict
        ``"reg_covar"`` and ``"shrinkage"`` with the mean log-likelihood of held-out rows in nats,
        ``"held_out"``. That of a value that was compared in fewer parts than the best is the best
        one less the mean difference in the parts in which it was.
    """
    comparison = _Comparison(distinct, random_state, hold_out, weight)
    best = comparison.best_with([Strength(value) for value in candidates])
    smaller = {value for value in VALUES_WITH_SHRINKAGE if value < best.reg_covar}
    best = comparison.best_with(
        [Strength(value, FIRST_SHRINKAGE) for value in sorted(smaller | {best.reg_covar})]
    )
    if best.shrinkage:
        best = comparison.best_with(
            [Strength(best.reg_covar, value) for value in FURTHER_SHRINKAGES]
        )
    compared = [
        {**asdict(strength), "held_out": level} for strength, level in comparison.levels().items()
    ]
    return best, compared


class _Comparison:
    """Regularisations with log-likelihoods of held-out rows, in one part after another.

    Parts are held out until `ENOUGH_HELD_OUT` rows have been. A regularisation that is clearly
    worse than the best in the first parts is not compared in the others, unless it is the stronger
    of both and the best may be refuted by a single row (`_WITHOUT_FAR_ROWS`).
    """

    def __init__(
        self,
        distinct: IndexArray,
        random_state: int,
        hold_out: HoldOut,
        weight: FloatArray | None,
    ) -> None:
        self._distinct = distinct
        self._fold = random_order(distinct, random_state)[distinct] % FOLDS
        self._masses = np.ones(len(distinct)) if weight is None else weight[: len(distinct)]
        self._hold_out = hold_out
        self._parts: list[_HeldOut] = []
        self._scores: dict[Strength, list[FloatArray]] = {}
        self._means: dict[Strength, list[float]] = {}
        self._best: Strength | None = None

    def best_with(self, candidates: Sequence[Strength]) -> Strength:
        """Return the best of the candidates and the best one before."""
        remaining = list(candidates) if self._best is None else [self._best, *candidates]
        for part in range(FOLDS):
            for strength in remaining:
                self._score(strength, part)
            # the first of equal ones: rounding would choose among shrinkages of one component
            self._best = best = max(
                remaining, key=lambda strength: round(self._mean(strength, part + 1), _DIGITS)
            )
            remaining = [
                strength
                for strength in remaining
                if strength == best
                or (_may_be_refuted(best) and _is_stronger(strength, best))
                or not self._is_clearly_worse(strength, best, part + 1)
            ]
            held_out = sum(map(len, self._scores[best][: part + 1]))
            if len(remaining) == 1 or held_out >= ENOUGH_HELD_OUT:
                break
        return best

    def levels(self) -> dict[Strength, float]:
        """Return the mean log-likelihoods of held-out rows in nats, as if all had all parts."""
        assert self._best is not None
        reached = self._means[self._best]
        levels: dict[Strength, float] = {}
        for strength, own in self._means.items():
            common = min(len(own), len(reached))
            behind = np.subtract(own[:common], reached[:common])
            levels[strength] = float(np.mean(reached) + np.mean(behind))
        return levels

    def _mean(self, strength: Strength, parts: int) -> float:
        """Return the mean log-likelihood of held-out rows in the first parts, in nats."""
        return float(np.mean(self._means[strength][:parts]))

    def _score(self, strength: Strength, part: int) -> None:
        """Score the rows of a part, if this has not been done."""
        scores = self._scores.setdefault(strength, [])
        if len(scores) > part:
            return
        if len(self._parts) == part:
            self._parts.append(self._held_out(part))
        held = self._parts[part]
        scores.append(held.score(strength)[held.first])
        self._means.setdefault(strength, []).append(
            float(np.average(scores[-1], weights=held.mass))
        )

    def _held_out(self, part: int) -> _HeldOut:
        """Return a part of the sample; equal rows count once."""
        held = self._fold == part
        first = np.unique(self._distinct[held], return_index=True)[1]
        mass = self._masses[held][first]
        return _HeldOut(self._hold_out(held), first, mass if mass.any() else None)

    def _is_clearly_worse(self, strength: Strength, best: Strength, parts: int) -> bool:
        """Return True if the mean score is `_STANDARD_ERRORS` standard errors below the best."""
        scores = (np.concatenate(self._scores[one][:parts]) for one in (best, strength))
        behind = np.subtract(*scores)
        error = behind.std() / np.sqrt(behind.size)
        return behind.size >= _FEWEST_ROWS and bool(behind.mean() > _STANDARD_ERRORS * error)


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """A part of the sample that is held out.

    Attributes
    ----------
    score : callable (strength) -> (m,) float64 array
        Returns the log-likelihoods of its rows.
    first : (q,) integer array
        Places of its distinct rows.
    mass : (q,) float64 array, optional
        Their weights; None for equal ones.
    """

    score: Callable[[Strength], FloatArray]
    first: NDArray[np.intp]
    mass: FloatArray | None


def _may_be_refuted(strength: Strength) -> bool:
    """Return True if a single row may lie far outside all components under a regularisation."""
    return strength.shrinkage == 0 and strength.reg_covar < _WITHOUT_FAR_ROWS


def _is_stronger(strength: Strength, other: Strength) -> bool:
    """Return True if covariances are regularised more."""
    return (strength.shrinkage, strength.reg_covar) > (other.shrinkage, other.reg_covar)
