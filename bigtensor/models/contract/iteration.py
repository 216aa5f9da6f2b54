"""Iterations of passes: ask for a pass, update with its sums, and stop by a rule."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from bigtensor.models.contract.script import Estimate, Script, Solved

_State = TypeVar("_State")

SETTLED_GAIN = 0.01
"""Gain of an EM iteration, in nats of all rows together, which other rows do not show.

A parameter that is fitted to noise gains half a nat.
"""


@dataclass(frozen=True, eq=False)
class Iterations(Generic[_State]):
    """State, measures and convergence of the iterations so far.

    Attributes
    ----------
    state : Any
        Estimate after the last iteration.
    measures : list of float
        Number by which every iteration is judged, such as the mean log-likelihood before it.
    converged : bool
        True if the stopping rule was met.
    """

    state: _State
    measures: list[float]
    converged: bool = False


StoppingRule = Callable[[Iterations[Any]], bool]
"""Returns True if no further iteration is needed."""


def iterate(
    state: _State,
    ask: Callable[[_State, int], Script],
    update: Callable[[_State, Any], tuple[_State, float]],
    *,
    max_iter: int,
    stopping_rule: StoppingRule | None = None,
    conclude: Callable[[Iterations[_State]], Solved] | None = None,
) -> Generator[Any, Any, Iterations[_State]]:
    """Ask for passes and update an estimate after each of them.

    Parameters
    ----------
    state : Any
        Estimate to start from.
    ask : callable (state, number) -> Script
        Asks for the pass of an iteration, whose number counts from 0, and returns its result.
    update : callable (state, result) -> (state, measure)
        Returns the estimate after an iteration, and the number by which it is judged.
    max_iter : int
        Largest number of iterations.
    stopping_rule : callable, optional
        Asked after every iteration. None stands for the largest number alone.
    conclude : callable, optional
        Makes the solution of a fit that ends after an iteration, for fits in rounds (`prepare`,
        `accumulate` and `solve`).

    Returns
    -------
    Iterations
        After the last iteration, or with the initial state if there was none.
    """
    iterations = Iterations(state, list[float]())
    for number in range(max_iter):
        result = yield from ask(iterations.state, number)
        state, measure = update(iterations.state, result)
        iterations = Iterations(state, [*iterations.measures, measure])
        if conclude is not None:
            yield Estimate(partial(conclude, iterations))
        if stopping_rule is not None and stopping_rule(iterations):
            return Iterations(iterations.state, iterations.measures, converged=True)
    return iterations


def gain_below(tolerance: float, before: float | None = None) -> StoppingRule:
    """Return a rule that stops when the measure rises by less than the tolerance.

    Parameters
    ----------
    tolerance : float
        Smallest gain after which an iteration follows.
    before : float, optional
        Measure before the first iteration, if these iterations continue others.
    """

    def rule(iterations: Iterations[Any]) -> bool:
        measures = iterations.measures if before is None else [before, *iterations.measures]
        return len(measures) > 1 and measures[-1] - measures[-2] < tolerance

    return rule


def change_below(tolerance: float) -> StoppingRule:
    """Return a rule that stops when the measure changes by at most the tolerance."""

    def rule(iterations: Iterations[Any]) -> bool:
        measures = iterations.measures
        return len(measures) > 1 and abs(measures[-1] - measures[-2]) <= tolerance

    return rule


def relative_change_below(tolerance: float) -> StoppingRule:
    """Return a rule that stops when the relative change of the measure is at most the tolerance."""

    def rule(iterations: Iterations[Any]) -> bool:
        measures = iterations.measures
        if len(measures) < 2:
            return False
        return abs(measures[-1] - measures[-2]) <= tolerance * abs(measures[-2])

    return rule


def measure_below(threshold: float) -> StoppingRule:
    """Return a rule that stops when the measure is at most the threshold."""
    return lambda iterations: iterations.measures[-1] <= threshold
