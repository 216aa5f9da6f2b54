"""StepMix, a package for latent class analysis (Morin et al. 2023), as its users call it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

STARTS = 10
"""Random starts for a known number of classes."""

STARTS_OF_CHOICE = 3
"""Random starts for every number of classes that is looked at."""

PATIENCE = 3
"""Numbers of classes without a better criterion after which the search ends."""


def fitted_latent_classes(
    codes: NDArray[np.float64], k: int, seed: int, starts: int = STARTS
) -> Any:
    """Return the best of some random starts; NaN are missing entries."""
    from stepmix.stepmix import StepMix

    complete = not np.isnan(codes).any()
    model = StepMix(
        k,
        measurement="categorical" if complete else "categorical_nan",
        n_init=starts,
        random_state=seed,
        progress_bar=0,
    )
    return model.fit(codes.astype(np.int64) if complete else codes)


def chosen_latent_classes(codes: NDArray[np.float64], most: int, seed: int) -> Any:
    """Return the fit of the least Bayesian information criterion."""
    best, best_k, best_criterion = None, 0, np.inf
    for k in range(1, most + 1):
        model = fitted_latent_classes(codes, k, seed, STARTS_OF_CHOICE)
        criterion = model.bic(codes)
        if criterion < best_criterion:
            best, best_k, best_criterion = model, k, criterion
        if k - best_k >= PATIENCE:
            break
    return best
