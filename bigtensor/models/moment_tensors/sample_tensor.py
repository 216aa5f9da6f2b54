"""Moment tensors of a model that are never formed: their contractions, in memory and in passes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.sample_tensors.discovery import (
    Discovery,
    DiscoverySettings,
    Initialisations,
    discover,
)
from bigtensor.decomposition.sample_tensors.gauss_newton import (
    Step as GaussNewtonStep,
)
from bigtensor.decomposition.sample_tensors.gauss_newton import (
    descended,
    gauss_newton_step,
    objective,
)
from bigtensor.decomposition.sample_tensors.joint_least_squares import least_squares_weights
from bigtensor.decomposition.sample_tensors.terms import Contract, Factors, Terms
from bigtensor.models.contract.iteration import iterate
from bigtensor.models.contract.script import Script, Solved, Step
from bigtensor.statistics.base import Pass, Statistic
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.moments.covariances import Columns, Covariances
from bigtensor.statistics.moments.tensor_contractions import Contractions, TensorContractions
from bigtensor.statistics.within_reach import Reach, ResultWithin, WithinReach

Correction = Callable[[Factors], Factors]
"""Contraction of the part of a moment that noise makes, which is subtracted."""

_LEAST_WEIGHT = 1e-3
_STILL = 1e-5
"""Movement below which a step changes nothing."""

_SETTLED = 0.25
"""Share of the first step's movement at which the second is the last."""


@dataclass(frozen=True, eq=False)
class SampleTensor:
    """Moment of rows about a point, with a constant feature before the features of every factor.

    The constant makes the moment hold all moments of lower order: a term of the tensor then has
    the column ``(c, a - r)``, which tells the length of a. Rows far from the point are left out.

    Attributes
    ----------
    columns : tuple of (start, stop)
        Columns of a block that every factor is of.
    orders : tuple of int
        How often every factor stands in the tensor: (1, 1, 1), (3,) or (4,).
    references : tuple of (d_m,) float64 arrays
        The point r.
    constants : (factors,) float64 array
        The constant c of every factor, in the units of its features; zero for none.
    within : Reach
        The rows that count.
    dtype : str
        Of products.
    scales : tuple of (d_m,) float64 arrays
        Units of the features in which the tensor is taken: standard deviations, or one unit for all
        features of a factor.
    """

    columns: tuple[tuple[int, int], ...]
    orders: tuple[int, ...]
    references: tuple[FloatArray, ...]
    constants: FloatArray
    within: Reach
    dtype: str
    scales: tuple[FloatArray, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Length of the columns of every factor, the constant counted."""
        return tuple(
            len(reference) + int(constant != 0)
            for reference, constant in zip(self.references, self.constants, strict=True)
        )

    def statistic(self, factors: Factors) -> TensorContractions:
        """Return the sums over rows that tell the contraction with some columns."""
        heads = [
            constant * factor[0] if constant else np.zeros(factor.shape[1])
            for constant, factor in zip(self.constants, factors, strict=True)
        ]
        return TensorContractions(
            self.columns,
            self.orders,
            self.references,
            tuple(
                self.features_of(factor, mode) / self.scales[mode][:, None]
                for mode, factor in enumerate(factors)
            ),
            np.array(heads),
            self.dtype,
        )

    def moments(self, sums: Contractions) -> Factors:
        """Return the contraction of the raw moment, from its sums."""
        parts = zip(self.constants, self.scales, sums.constants, sums.moments, strict=True)
        return tuple(
            np.vstack([constant * head, moment / scale[:, None]])
            if constant
            else moment / scale[:, None]
            for constant, scale, head, moment in parts
        )

    def covariances(self, columns: Columns | None = None) -> Covariances:
        """Return the statistic of the covariances within factors, in units of the scales.

        Parameters
        ----------
        columns : tuple of (start, stop), optional
            Groups of columns in place of those of the factors.
        """
        # powers of two: the unit changes no digit of a product
        scales = 2.0 ** np.floor(np.log2(np.concatenate(self.scales)))
        point = np.concatenate(self.references)
        return Covariances(columns or self.columns, point, self.dtype, scales)

    def features_of(self, factor: FloatArray, mode: int) -> FloatArray:
        """Return the columns of a factor without the constant."""
        return factor[1:] if self.constants[mode] else factor

    def rows(self, block: Block) -> Factors:
        """Return the rows of a block as columns of every factor."""
        columns = []
        parts = zip(self.columns, self.references, self.scales, self.constants, strict=True)
        for (start, stop), reference, scale, constant in parts:
            rows = (
                block.dense_values[: block.rows, start:stop].astype(np.float64) - reference
            ) / scale
            head = np.full((int(constant != 0), block.rows), constant)
            columns.append(np.concatenate([head, rows.T]))
        return tuple(columns)

    def contract_in_memory(self, block: Block, correction: Correction | None = None) -> Contract:
        """Return the contraction of the moment of rows that the driver holds."""

        def contract(factors: Factors) -> Factors:
            moments = self.moments(sum_in_memory(self.statistic(factors), block))
            return _corrected(moments, factors, correction)

        return contract


def discover_terms(
    contract: Contract, starts: Initialisations, none: Terms, settings: DiscoverySettings
) -> Generator[Step, None, Discovery]:
    """Find terms of a pilot sample, and polish them by Gauss-Newton steps."""
    search = discover(contract, starts, none, settings)
    n_terms = 0
    while True:
        yield Step(f"finding components in the sample: {n_terms} of {settings.n_terms}")
        try:
            n_terms = next(search)
        except StopIteration as end:
            discovery: Discovery = end.value
            return replace(discovery, terms=descended(contract, discovery.terms))


def nearest(contract: Contract, candidates: Sequence[Terms]) -> int:
    """Return the position of the terms that are nearest to a tensor."""
    distances = [objective(terms, contract(terms.factors)) for terms in candidates]
    return int(np.argmin(distances))


@dataclass(frozen=True, eq=False)
class Refined:
    """Terms after Gauss-Newton steps over all rows.

    Attributes
    ----------
    terms : Terms
        Terms of the moment tensor.
    first : dict
        Results of the statistics that were asked for beside the contractions of the first pass.
    weight : float
        Of the rows.
    left_out : int
        Rows out of reach.
    diagnostics : dict
        ``objective`` before every step, whether it was ``accepted``, and its ``movement``.
    """

    terms: Terms
    first: dict[str, Any]
    weight: float
    left_out: int
    diagnostics: dict[str, Any]


def refined(
    start: Terms,
    tensor: SampleTensor,
    steps: int,
    beside: dict[str, Statistic[Any]],
    correct: Callable[[dict[str, Any]], Correction | None],
    solve: Callable[[Refined], Solved],
) -> Script:
    """Ask for contractions over all rows, and take Gauss-Newton steps between them.

    Every pass tells the value of the objective at the step before it, which is taken again with
    more damping if it has led away from the tensor. A step that moves the columns by less than a
    quarter of the first is the last, and needs no test. Weights are solved for in the first pass.

    Parameters
    ----------
    start : Terms
        Of a pilot sample.
    tensor : SampleTensor
        Moment tensor of the sample.
    steps : int
        Most steps.
    beside : dict of str to Statistic
        Computed in the first pass.
    correct : callable
        Returns the correction of the contractions from the results of ``beside``.
    solve : callable
        Makes the solution that holds if no further pass follows.
    """

    def ask(state: _Descent, number: int) -> Script:
        factors = state.refined.terms.factors
        return (yield contraction_pass(tensor, factors, {} if number else beside))

    def update(state: _Descent, within: ResultWithin[dict[str, Any]]) -> tuple[_Descent, float]:
        sums: Contractions = within.result.pop("contractions")
        if state.step is None:
            first = replace(
                state.refined, first=within.result, weight=sums.weight, left_out=within.left_out
            )
            state = _Descent(first, correct(within.result))
        moments = tensor.moments(sums)
        return _stepped(
            state, _corrected(moments, state.refined.terms.factors, state.correction), steps
        )

    iterations = yield from iterate(
        _Descent(Refined(start, {}, 0.0, 0, {"objective": [], "accepted": [], "movement": []})),
        ask,
        update,
        max_iter=steps + 1,
        stopping_rule=lambda iterations: iterations.state.converged,
        conclude=lambda iterations: solve(iterations.state.refined),
    )
    return iterations.state.refined


@dataclass(frozen=True, eq=False)
class _Descent:
    """Terms between two passes, and the step that leads to them.

    Attributes
    ----------
    refined : Refined
        Terms, and what is known of the steps that led to them.
    correction : callable, optional
        Part of the contractions that noise makes up.
    step : GaussNewtonStep, optional
        None before the first pass.
    converged : bool
        True if the last step hardly moved the columns.
    """

    refined: Refined
    correction: Correction | None = None
    step: GaussNewtonStep | None = None
    converged: bool = False


def _stepped(state: _Descent, moments: Factors, steps: int) -> tuple[_Descent, float]:
    """Return the terms after the sums of a pass, and the objective before."""
    refined, step = state.refined, state.step
    if step is None:
        refined = replace(refined, terms=_with_weights(refined.terms, moments))
    value = objective(refined.terms, moments)
    accepted = step is None or step.accepts(value)
    record = refined.diagnostics
    is_last = len(record["objective"]) == steps
    record["objective"].append(value)
    record["accepted"].append(accepted)
    if step is not None and not accepted:
        damped = step if is_last else step.more_damped()
        terms = step.start if is_last else damped.terms
        return replace(state, refined=replace(refined, terms=terms), step=damped), value
    following = gauss_newton_step(refined.terms, moments)
    movement = _movement(refined.terms, following.terms)
    few = _STILL if step is None else _SETTLED * record["movement"][0]
    record["movement"].append(movement)
    converged = movement <= max(few, _STILL)
    if converged or not is_last:
        refined = replace(refined, terms=following.terms)
    return _Descent(refined, state.correction, following, converged), value


def contraction_pass(
    tensor: SampleTensor, factors: Factors, beside: dict[str, Statistic[Any]]
) -> Pass[ResultWithin[dict[str, Any]]]:
    """Return the pass over all rows that contracts a tensor with some columns.

    Parameters
    ----------
    tensor : SampleTensor
        Moment tensor of the sample.
    factors : tuple of (d_m, L) arrays
        Columns of every factor.
    beside : dict of str to Statistic
        Computed in the same pass.
    """
    together = Together.named(contractions=tensor.statistic(factors), **beside)
    return Pass("contractions", WithinReach(together, tensor.within))


def _corrected(moments: Factors, factors: Factors, correction: Correction | None) -> Factors:
    """Return moments less what noise makes of them."""
    if correction is None:
        return moments
    return tuple(m - c for m, c in zip(moments, correction(factors), strict=True))


def _with_weights(terms: Terms, moments: Factors) -> Terms:
    """Return terms with the weights that leave the least of the tensor of all rows.

    Terms of an odd order have positive weights; one that all rows speak against hardly counts.
    """
    weights = least_squares_weights(terms, moments)
    if any(order % 2 for order in terms.orders):
        weights = np.maximum(weights, _LEAST_WEIGHT * np.median(np.abs(weights)))
    return replace(terms, weights=weights)


def _movement(before: Terms, after: Terms) -> float:
    """Return the mean sine of the angle by which a step turns a column."""
    cosines = [
        np.abs((a * b).sum(axis=0)) for a, b in zip(before.factors, after.factors, strict=True)
    ]
    return float(np.sqrt(np.maximum(1 - np.square(np.minimum(cosines, 1.0)), 0.0)).mean())
