"""Populations of a user, found again among the components of the next round of a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from bigtensor.data.rows.block import Block
from bigtensor.models.answers.fitted_mixture import FittedMixture
from bigtensor.models.answers.populations import Populations
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.in_memory import outputs_in_memory

_ROWS = 500
"""Rows drawn from every component. Its largest share is then off by at most .02 (one sd)."""


def kept_populations(previous: FittedMixture, new: FittedMixture) -> Populations | None:
    """Return the populations of the next round. Populations made by hand are kept.

    A round may change the order and the number of components. A component of the new mixture
    belongs to the population of the previous component that its rows are most probable for. If both
    have as many components, no two are matched with the same one.

    Parameters
    ----------
    previous, new : fitted mixture
        Mixtures after two consecutive rounds.
    """
    populations = previous.populations
    if populations is None or not populations.by_hand:
        return new.populations
    shares = _shares(previous, new)
    if shares.shape[0] == shares.shape[1]:
        _, match = linear_sum_assignment(-shares)
    else:
        match = shares.argmax(axis=1)
    return _of_matched(populations, match, new)


def _shares(previous: FittedMixture, new: FittedMixture) -> NDArray[np.float64]:
    """Return mean probabilities of previous components for rows of new ones: ``(new, old)``."""
    k = new.mixture().n_components
    label = np.repeat(np.arange(k, dtype=np.int32), _ROWS)
    values = new.draw_rows(label, np.random.default_rng(0))
    block = Block(values, previous.slices, 0, len(label))
    out = outputs_in_memory(Responsibilities(previous.mixture(), ("probability",)), block)
    return np.asarray(out["probability"].reshape(k, _ROWS, -1).mean(axis=1), np.float64)


def _of_matched(
    populations: Populations, match: NDArray[np.intp], new: FittedMixture
) -> Populations:
    """Return the populations of matched components, without those that have none left."""
    kept, of_component = np.unique(populations.of_component[match], return_inverse=True)
    weights = np.bincount(of_component, weights=new.mixture().weights)
    names = np.array(populations.names or ("",) * populations.count, object)[kept]
    own = new.populations
    return replace(
        populations,
        tree=None if own is None else own.tree,
        of_component=of_component,
        weights=weights / weights.sum(),
        temperature=populations.temperature if own is None else own.temperature,
        names=tuple(names) if any(names) else (),
    )
