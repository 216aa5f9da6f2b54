"""Regularisation of covariances, chosen by the likelihood of held-out rows of the pilot sample."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

CANDIDATES = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3)
"""Values of ``reg_covar`` that are compared."""

FOLDS = 10
"""Parts of the sample, each of which is held out once."""

ENOUGH_ROWS_A_PARAMETER = 30
"""Rows for each parameter of the mixture, above which the smallest value is taken."""


def validated_ridge(
    n_rows: int,
    random_state: int,
    held_out: Callable[[NDArray[np.bool_], float], float],
) -> tuple[float, dict[str, float]]:
    """Return the regularisation with the best likelihood of held-out rows, and what was compared.

    Parameters
    ----------
    n_rows : int
        Rows of the pilot sample.
    random_state : int
        Seed of the folds.
    held_out : callable (train, reg_covar) -> float
        Returns the mean log-likelihood of the rows that are not in ``train``, an array of bool.
    """
    fold = np.random.default_rng(random_state).permutation(n_rows) % FOLDS
    # a mean, so that a value under which one held-out row lies far outside all components loses
    means = np.array(
        [
            np.mean([held_out(fold != part, candidate) for part in range(FOLDS)])
            for candidate in CANDIDATES
        ]
    )
    return CANDIDATES[int(np.argmax(means))], {
        str(candidate): float(mean) for candidate, mean in zip(CANDIDATES, means, strict=True)
    }
