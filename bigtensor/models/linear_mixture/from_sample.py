"""Components of a pilot sample, refined by Gauss-Newton steps over all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.models.linear_mixture.located import LinearPreparation, Located
from bigtensor.models.sample_tensor import Refined, refined
from bigtensor.models.script import Script, Solved
from bigtensor.statistics.covariances import Covariances


def from_sample(preparation: LinearPreparation, solve: Callable[[Located], Solved]) -> Script:
    """Ask for contractions with the components of the sample, and take steps between them.

    Parameters
    ----------
    preparation : LinearPreparation
    solve : callable
        Makes the solution that holds if no further pass follows.

    Returns
    -------
    Located
    """
    return (yield from stepped(preparation, preparation.terms, {}, solve))


def stepped(
    preparation: LinearPreparation,
    terms: Terms,
    told: dict[str, Any],
    solve: Callable[[Located], Solved],
) -> Script:
    """Ask for contractions with terms, and take Gauss-Newton steps between them.

    Parameters
    ----------
    preparation : LinearPreparation
    terms : Terms
    told : dict
        Of the search for the terms in all rows; empty without.
    solve : callable

    Returns
    -------
    Located
    """
    settings, tensor = preparation.settings, preparation.tensor
    total = Covariances(settings.columns, np.concatenate(tensor.references), settings.dtype)
    found: Refined = yield from refined(
        terms,
        tensor,
        settings.gauss_newton_steps,
        {"total": total},
        lambda _: None,
        lambda found: solve(Located(found, told)),
    )
    return Located(found, told)
