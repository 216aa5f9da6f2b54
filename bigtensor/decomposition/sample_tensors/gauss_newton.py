r"""Gauss-Newton steps on the least squares of a tensor, from contractions with its columns.

Weights are absorbed: every factor is scaled by :math:`|w|^{1/p}` with p the order of the tensor,
and of an even symmetric order the sign of a weight stands apart. With F the scaled columns and G
their model, half the squared distance of the tensor T from the model is, up to a constant that no
step changes, :math:`|G|^2/2 - \langle T, G\rangle`, which the contraction with F gives; neither T
nor its norm is needed. The step solves the normal equations of Kolda and Bader (2009, sec. 3) for
all factors at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.requests import Requests, answered
from bigtensor.decomposition.sample_tensors.terms import Contract, Factors, Terms, grams

FIRST_DAMPING = 1e-4
"""Of the mean diagonal entry of the normal equations."""

_DAMPING_FACTOR = 10.0
"""Factor by which the damping grows after a step that leads away, and shrinks after others."""

_MOST_DAMPING = 1e3
"""Damping beyond which a descent ends."""

_MOST_STEPS = 40
"""Bound of the steps of a descent."""

_FEW_STEPS = 10
"""Bound of the steps where terms of both signs may cancel without end."""

_ROUNDING = 1e-6
"""Change of the objective, relative to it, that sums in float32 may make."""

_STILL = 1e-6
"""Relative decrease of the objective that ends a descent."""

_ITERATIONS = 40
"""Bound of the iterations of conjugate gradients in one step."""

_SETTLED = 1e-8
"""Relative norm of the preconditioned residual at which conjugate gradients end."""


@dataclass(frozen=True, eq=False)
class Scaled:
    """Terms whose weights are absorbed in their columns.

    Attributes
    ----------
    factors : tuple of (d_m, k) arrays
        Columns of any length.
    signs : (k,) array
        Of the terms, 1 or -1.
    orders : tuple of int
        Order of every factor in a term; see `terms.Terms`.
    """

    factors: Factors
    signs: FloatArray
    orders: tuple[int, ...]

    @classmethod
    def from_terms(cls, terms: Terms) -> Scaled:
        """Spread the weights over the columns."""
        scale = np.abs(terms.weights) ** (1 / sum(terms.orders))
        signs = np.where(terms.weights < 0, -1.0, 1.0)
        return cls(tuple(factor * scale for factor in terms.factors), signs, terms.orders)

    def terms(self) -> Terms:
        """Return unit columns and weights."""
        return Terms.of_columns(self.signs, self.factors, self.orders)

    def moved(self, direction: Factors) -> Scaled:
        """Return the terms after a step."""
        moved = tuple(f + d for f, d in zip(self.factors, direction, strict=True))
        return Scaled(moved, self.signs, self.orders)


def objective(terms: Terms, moments: Factors) -> float:
    """Return half the squared distance from the tensor, up to the tensor's own norm.

    Parameters
    ----------
    terms : Terms
        Terms that are compared with the tensor.
    moments : tuple of (d_m, k) arrays
        Contraction of the tensor with the columns of the terms.
    """
    products = grams(terms.factors)
    model = np.ones_like(products[0])
    for product, order in zip(products, terms.orders, strict=True):
        model *= product**order
    value = (terms.factors[0] * moments[0]).sum(axis=0)
    return float(terms.weights @ model @ terms.weights / 2 - terms.weights @ value)


@dataclass(frozen=True, eq=False)
class Step:
    """A proposed step and how it was found.

    Attributes
    ----------
    terms : Terms
        After the step.
    start : Terms
        Before the step.
    moments : tuple of (d_m, k) arrays
        Contraction of the tensor with the columns before the step.
    objective : float
        Before the step.
    damping : float
        Of the normal equations, relative to their mean diagonal entry.
    """

    terms: Terms
    start: Terms
    moments: Factors
    objective: float
    damping: float

    def accepts(self, objective_after: float) -> bool:
        """Return whether the step has led nearer to the tensor, up to rounding."""
        return objective_after <= self.objective + _ROUNDING * abs(self.objective)

    def more_damped(self) -> Step:
        """Return a shorter step from the same terms, nearer to the steepest descent."""
        return gauss_newton_step(self.start, self.moments, _DAMPING_FACTOR * self.damping)


def gauss_newton_step(terms: Terms, moments: Factors, damping: float = FIRST_DAMPING) -> Step:
    """Return the step of the damped normal equations, solved by conjugate gradients.

    Parameters
    ----------
    terms : Terms
        Of nonzero weights.
    moments : tuple of (d_m, k) arrays
        Contraction of the tensor with the columns of the terms.
    damping : float
        Factor of the damping of the normal equations.
    """
    start = Scaled.from_terms(terms)
    system = NormalEquations(start, damping)
    direction = _conjugate_gradients(system, system.residual(terms, moments))
    after = start.moved(direction).terms()
    return Step(after, terms, moments, objective(terms, moments), system.damping)


def descended(contract: Contract, terms: Terms) -> Terms:
    """Return terms after steps that each lead nearer to the tensor, until they settle.

    The damping grows tenfold after a step that does not, and shrinks after others (Levenberg and
    Marquardt). Terms of even order have both signs, and two that cancel may lead nearer without
    end: there the first step that leads away is the last, and the damping stays.

    Parameters
    ----------
    contract : callable
        Evaluated once a step: of rows in memory.
    terms : Terms
        Terms that the descent begins with.
    """
    return answered(requested_descent(terms), contract)


def requested_descent(terms: Terms) -> Requests[Terms]:
    """Ask for the contractions of `descended`."""
    if not terms.n_terms:
        return terms
    may_cancel = all(order % 2 == 0 for order in terms.orders)
    step = gauss_newton_step(terms, (yield terms.factors))
    for _ in range(_FEW_STEPS if may_cancel else _MOST_STEPS):
        moments = yield step.terms.factors
        value = objective(step.terms, moments)
        if step.accepts(value):
            terms = step.terms
            if step.objective - value <= _STILL * abs(value):
                break
            damping = FIRST_DAMPING if may_cancel else step.damping / _DAMPING_FACTOR
            step = gauss_newton_step(terms, moments, damping)
        elif may_cancel or step.damping > _MOST_DAMPING:
            break
        else:
            step = step.more_damped()
    return terms


def most_steps() -> int:
    """Return the largest number of contractions of a descent to terms of an odd order."""
    return 1 + _MOST_STEPS


class NormalEquations:
    """Product of the damped Gauss-Newton matrix with a direction, and its block preconditioner.

    Every block is a k x k matrix of inner products; nothing of the size of the tensor is formed.

    Parameters
    ----------
    scaled : Scaled
        Terms at which the equations are formed.
    damping : float
        Raised until the blocks are positive definite.
    """

    def __init__(self, scaled: Scaled, damping: float) -> None:
        self.factors, self.orders, self.signs = scaled.factors, scaled.orders, scaled.signs
        self._signs = np.multiply.outer(scaled.signs, scaled.signs)
        self._grams = grams(scaled.factors)
        modes = range(len(self.orders))
        self._own = [self._product({mode: 1}) for mode in modes]
        self._within = [
            self._product({mode: 2}) if self.orders[mode] > 1 else None for mode in modes
        ]
        self._across = {(m, o): self._product({m: 1, o: 1}) for m in modes for o in modes if m != o}
        self.damping = damping
        self._blocks = self._factorised()

    def residual(self, terms: Terms, moments: Factors) -> Factors:
        """Return the negative gradient with respect to the scaled columns."""
        scale = np.abs(terms.weights) ** (1 / sum(self.orders))
        power = self.signs * scale ** (sum(self.orders) - 1)
        return tuple(
            order * (moment * power - factor @ own)
            for order, moment, factor, own in zip(
                self.orders, moments, self.factors, self._own, strict=True
            )
        )

    def apply(self, direction: Factors) -> Factors:
        """Return the product with the damped matrix."""
        inner = [d.T @ f for d, f in zip(direction, self.factors, strict=True)]
        return tuple(self._applied(mode, direction, inner) for mode in range(len(self.orders)))

    def precondition(self, direction: Factors) -> Factors:
        """Return the solution of the diagonal blocks."""
        return tuple(
            np.asarray(cho_solve(block, d.T)).T
            for block, d in zip(self._blocks, direction, strict=True)
        )

    def _applied(self, mode: int, direction: Factors, inner: list[FloatArray]) -> FloatArray:
        """Return one block row of the product."""
        order, factor = self.orders[mode], self.factors[mode]
        total = direction[mode] @ self._own[mode] + self._shift(mode) * direction[mode] / order
        mixed = np.zeros_like(self._own[mode])
        within = self._within[mode]
        if within is not None:
            mixed += (order - 1) * inner[mode] * within
        for other, power in enumerate(self.orders):
            if other != mode:
                mixed += power * inner[other] * self._across[mode, other]
        return np.asarray(order * (total + factor @ mixed))

    def _product(self, left_out: dict[int, int]) -> FloatArray:
        """Return the signed product of inner products, some factors left out so many times."""
        product = self._signs.copy()
        for mode, (gram, order) in enumerate(zip(self._grams, self.orders, strict=True)):
            power = order - left_out.get(mode, 0)
            if power:
                product *= gram**power
        return product

    def _shift(self, mode: int) -> float:
        """Return what the damping adds to the diagonal of a block."""
        own = self._own[mode]
        return self.damping * self.orders[mode] * float(np.trace(own)) / len(own)

    def _factorised(self) -> list[tuple[FloatArray, bool]]:
        """Return the Cholesky factors of the diagonal blocks."""
        while True:
            try:
                return [
                    cho_factor(order * own + self._shift(mode) * np.eye(len(own)))
                    for mode, (order, own) in enumerate(zip(self.orders, self._own, strict=True))
                ]
            except np.linalg.LinAlgError:
                self.damping *= _DAMPING_FACTOR


def _conjugate_gradients(system: NormalEquations, right: Factors) -> Factors:
    """Solve the normal equations from zero."""
    solution: Factors = tuple(np.zeros_like(r) for r in right)
    residual, ahead = right, system.precondition(right)
    direction, product = ahead, _inner(right, ahead)
    first = product
    for _ in range(_ITERATIONS):
        if product <= _SETTLED**2 * first or product == 0:
            break
        applied = system.apply(direction)
        length = product / _inner(direction, applied)
        solution = _combined(solution, direction, length)
        residual = _combined(residual, applied, -length)
        ahead = system.precondition(residual)
        previous, product = product, _inner(residual, ahead)
        direction = _combined(ahead, direction, product / previous)
    return solution


def _inner(first: Factors, second: Factors) -> float:
    """Return the inner product over all factors."""
    return float(sum((a * b).sum() for a, b in zip(first, second, strict=True)))


def _combined(first: Factors, second: Factors, scale: float) -> Factors:
    """Return the first plus a multiple of the second."""
    return tuple(a + scale * b for a, b in zip(first, second, strict=True))
