"""Simulated studies: samples of unlike compositions with very different numbers of cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BASE = np.array([0.35, 0.2, 0.15, 0.1, 0.08, 0.05, 0.03, 0.02, 0.01, 0.005, 0.001, 0.001])
BASE = BASE / BASE.sum()
"""Shares of the populations, down to one in a thousand."""

CHANGED = {3: 1.0, 7: -1.0, 8: 1.0, 10: 1.0}
"""Direction of change of populations of 10, 2, 1 and .1 per cent, in studies with an effect."""

LEAST_CELLS, MOST_CELLS = 500, 50_000


@dataclass(frozen=True)
class Setting:
    """How studies are drawn.

    Attributes
    ----------
    name : str
    covariate : tuple of float
        Group or number of every sample.
    effect : float
        Change of log odds of the changed populations for a covariate of one.
    deviation : float
        Typical standard deviation of logits between samples.
    degrees : float
        Standard deviations of populations vary as those of a chi squared with so many degrees.
    least_cells : int
        Fewest cells of a sample.
    concentration : float, optional
        Compositions come from a Dirichlet distribution, by which logits of rare populations vary
        more. None for normal logits.
    """

    name: str
    covariate: tuple[float, ...]
    effect: float = 0.0
    deviation: float = 0.3
    degrees: float = 8.0
    least_cells: int = LEAST_CELLS
    concentration: float | None = None


def drawn_study(setting: Setting, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return counts (samples, populations) of one study."""
    covariate = np.array(setting.covariate)
    if setting.concentration is None:
        spread = np.sqrt(setting.degrees / rng.chisquare(setting.degrees, len(BASE)))
        noise = rng.standard_normal((len(covariate), len(BASE)))
        logits = np.log(BASE) + setting.deviation * spread * noise
    else:
        gamma = rng.gamma(setting.concentration * BASE, size=(len(covariate), len(BASE)))
        logits = np.log(np.maximum(gamma, np.finfo(np.float64).tiny))
    for population, sign in CHANGED.items():
        logits[:, population] += sign * setting.effect * covariate
    shares = np.exp(logits)
    shares /= shares.sum(axis=1, keepdims=True)
    limits = np.log([setting.least_cells, MOST_CELLS])
    cells = np.exp(rng.uniform(*limits, len(covariate))).astype(int)
    return rng.multinomial(cells, shares)
