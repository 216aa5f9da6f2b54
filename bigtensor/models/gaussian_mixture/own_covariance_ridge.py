"""Regularisation of covariances, chosen by the likelihood of held-out rows of the pilot sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.models.gaussian_mixture.competition import ENOUGH_HELD_OUT
from bigtensor.statistics.row_copies import random_order

CANDIDATES = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3)
"""Values of ``reg_covar`` that are compared."""

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


def validated_ridge(
    distinct: IndexArray,
    random_state: int,
    hold_out: Callable[[NDArray[np.bool_]], Callable[[float], FloatArray]],
    weight: FloatArray | None = None,
    candidates: Sequence[float] = CANDIDATES,
) -> tuple[float, dict[str, float]]:
    """Return the regularisation with the best likelihood of held-out rows, and what was compared.

    Parts are held out until `ENOUGH_HELD_OUT` rows have been.
    A value that is clearly worse than the best in the first parts of the sample is not compared in
    the others, unless it is the larger one and the best is below `_WITHOUT_FAR_ROWS`.

    Parameters
    ----------
    distinct : (n,) integer array
        Number of every row of the pilot sample among the distinct rows. Equal rows are held
        out together, and count once, with the weight of the first: many equal rows far from the
        others would take the largest value, because without them no component is near.
    random_state : int
        Seed of the folds.
    hold_out : callable (held) -> callable (reg_covar) -> (m,) float64 array
        Returns the log-likelihoods of held-out rows, of which ``held`` is an array of bool.
    weight : (n,) float64 array, optional
        Weights of the rows.
    candidates : sequence of float
        Values that are compared, in ascending order.

    Returns
    -------
    reg_covar : float
        The value that is chosen.
    compared : dict of str to float
        Mean log-likelihood of held-out rows by value. That of a value that was compared in fewer
        parts than the best is the best one less the mean difference in the parts in which it was.
    """
    fold = random_order(distinct, random_state)[distinct] % FOLDS
    masses = np.ones(len(distinct)) if weight is None else weight[: len(distinct)]
    remaining = list(range(len(candidates)))
    scores: list[list[FloatArray]] = [[] for _ in candidates]
    means: list[list[float]] = [[] for _ in candidates]
    for part in range(FOLDS):
        held = fold == part
        score = hold_out(held)
        first = np.unique(distinct[held], return_index=True)[1]
        mass = masses[held][first] if masses[held][first].any() else None
        for candidate in remaining:
            scores[candidate].append(score(candidates[candidate])[first])
            means[candidate].append(float(np.average(scores[candidate][-1], weights=mass)))
        # a mean of parts, so that a value under which one held-out row lies far out loses
        best = max(remaining, key=lambda candidate: np.mean(means[candidate]))
        kept = [best] if candidates[best] >= _WITHOUT_FAR_ROWS else range(best, len(candidates))
        remaining = [
            candidate
            for candidate in remaining
            if candidate in kept or not _clearly_worse(scores[candidate], scores[best])
        ]
        if len(remaining) == 1 or sum(map(len, scores[best])) >= ENOUGH_HELD_OUT:
            break
    reached = float(np.mean(means[best]))
    compared = {
        str(value): reached + float(np.mean(np.subtract(own, means[best][: len(own)])))
        for value, own in zip(candidates, means, strict=True)
    }
    return candidates[best], compared


def _clearly_worse(scores: list[FloatArray], best: list[FloatArray]) -> bool:
    """Return True if the mean score is `_STANDARD_ERRORS` standard errors below the best one."""
    behind = np.concatenate(best) - np.concatenate(scores)
    error = behind.std() / np.sqrt(behind.size)
    return behind.size >= _FEWEST_ROWS and bool(behind.mean() > _STANDARD_ERRORS * error)
