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

    Clusters in the place of terms take no step.

    Parameters
    ----------
    preparation : LinearPreparation
        Components of the sample, from which the steps set out.
    solve : callable
        Makes the solution that holds if no further pass follows.
    """
    if preparation.clusters is not None:
        still = replace(preparation.settings, gauss_newton_steps=0)
        preparation = replace(preparation, settings=still)
    return (yield from stepped(preparation, preparation.terms, {}, solve))


def stepped(
    preparation: LinearPreparation,
    terms: Terms,
    search: dict[str, Any],
    solve: Callable[[Located], Solved],
    total: CovariancesResult | None = None,
) -> Script:
    """Ask for contractions with terms, and take Gauss-Newton steps between them.

    Parameters
    ----------
    preparation : LinearPreparation
        Settings and tensor.
    terms : Terms
        Terms from which the steps set out.
    search : dict
        Diagnostics of the search for the terms in all rows; empty without a search.
    solve : callable
        Makes the solution that holds if no further pass follows.
    total : CovariancesResult, optional
        Of all rows. Without it the covariances are summed in the first pass.
    """
    settings, tensor = preparation.settings, preparation.tensor
    beside: dict[str, Statistic[Any]] = {}
    if total is None:
        beside["total"] = tensor.covariances()

    def located(refinement: Refined) -> Located:
        with_total = refinement if total is None else replace(refinement, first={"total": total})
        return Located(with_total, search)

    refinement: Refined = yield from refined(
        terms,
        tensor,
        settings.gauss_newton_steps,
        beside,
        lambda _: None,
        lambda refinement: solve(located(refinement)),
    )
    return located(refinement)
