"""Components of a pilot sample, refined by Gauss-Newton steps over all rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.models.contract.script import Script, Solved
from bigtensor.models.linear_mixture.located import LinearPreparation, Located
from bigtensor.models.moment_tensors.sample_tensor import Refined, refined
from bigtensor.statistics.base import Statistic
from bigtensor.statistics.moments.covariances import CovariancesResult


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
    total: CovariancesResult | None = None,
) -> Script:
    """Ask for contractions with terms, and take Gauss-Newton steps between them.

    Parameters
    ----------
    preparation : LinearPreparation
    terms : Terms
    told : dict
        Of the search for the terms in all rows; empty without.
    solve : callable
    total : CovariancesResult, optional
        Of all rows. Without it the covariances are summed in the first pass.

    Returns
    -------
    Located
    """
    settings, tensor = preparation.settings, preparation.tensor
    beside: dict[str, Statistic[Any]] = {}
    if total is None:
        beside["total"] = tensor.covariances()

    def located(found: Refined) -> Located:
        known = found if total is None else replace(found, first={"total": total})
        return Located(known, told)

    found: Refined = yield from refined(
        terms,
        tensor,
        settings.gauss_newton_steps,
        beside,
        lambda _: None,
        lambda found: solve(located(found)),
    )
    return located(found)
