"""Judgement of fitted sparse sources: what should worry, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.errors import ConditioningWarning, Message, Setting
from bigtensor.models.contract.script import Solved, with_verdict
from bigtensor.models.pilot.outliers import MOST_NAMED, outlier_faults
from bigtensor.models.sources.faults import (
    constant_features,
    fewer_sources,
    nearly_parallel,
    unsettled,
)
from bigtensor.models.sources.sparse_ica.settings import SparseSettings
from bigtensor.models.sources.sparse_ica.solution import SparseComponents
from bigtensor.models.words.faults import Fault

MOST_ACTIVE_BY_KURTOSIS = 1 / 3
MOST_ACTIVE = 0.21
"""Sources of a row that are not zero, over the rank, above which codes mislead the columns: by the
kurtosis of Gaussian heights and by codes, of which both have to speak against sparse sources.

Spikes of equal height in a tenth of the rows have .37 and .11, or .50 and .17 if there are more of
them than features, and right columns. Gaussian heights in a fifth of the rows have .20 and .20.
Laplace sources have at least .30 and .22.
"""

MANY_LIGHT = 0.25
"""Share of sources with light tails that is a warning."""


def judged(
    components: SparseComponents, settings: SparseSettings, diagnostics: dict[str, Any]
) -> Solved:
    """Return a solution with the verdict on it, and warn of faults.

    Parameters
    ----------
    components : SparseComponents
        The sources.
    settings : SparseSettings
        Resolved parameters of the fit.
    diagnostics : dict
        With ``rank``, ``varying``, ``light_tails``, ``redundant``, ``outlying_rows``,
        ``active_by_kurtosis``, ``further_sources``, and ``turns`` of polish passes.
    """
    k = components.n_components
    varying = diagnostics["varying"]
    light, redundant = diagnostics["light_tails"], diagnostics["redundant"]
    is_fewer = k < (settings.n_components or 0)
    active = float(components.activity.sum())
    faults = [
        *constant_features(settings, varying),
        *outlier_faults(diagnostics),
        *fewer_sources(settings, diagnostics["rank"], k, light + redundant),
        *nearly_parallel(diagnostics, Message("Use the model ICA, or more rows.")),
        *_light_tails(light, k + light, is_fewer=is_fewer),
        *_redundant(redundant, is_fewer=is_fewer),
        *_not_sparse(components.kurtosis),
        *_further_sources(
            diagnostics["further_sources"],
            k,
            may_be_sparse=k == settings.n_components and k < diagnostics["rank"],
        ),
        *_many_active(diagnostics["active_by_kurtosis"], active, diagnostics["rank"]),
        *unsettled(diagnostics),
    ]
    confirmation = f"{k} source{'s' * (k > 1)}, of which {active:.1f} are active in a typical row."
    diagnostics = {"n_components": k, **diagnostics, "active": active, "noise": components.noise}
    return with_verdict(components, faults, confirmation, diagnostics)


def _light_tails(light: int, n_terms: int, *, is_fewer: bool) -> list[Fault]:
    """Return a sentence on sources that are left out because they are not sparse.

    Parameters
    ----------
    light : int
        Number of terms of the cumulant that are left out.
    n_terms : int
        Number of all terms.
    is_fewer : bool
        True if more sources were asked for than are returned.
    """
    if not light:
        return []
    # few of many are common in real data
    many = light >= MANY_LIGHT * n_terms
    plural = light > 1
    return [
        (
            ConditioningWarning if many or is_fewer else None,
            Message(
                f"{light} source{'s have' if plural else ' has'} lighter tails than a Gaussian, "
                "which no sparse source has, and had to be left out. "
                f"{'They are' if plural else 'It is'} for the model ICA, or "
                f"{'sampling errors' if plural else 'a sampling error'} of the cumulant of sources "
                "with heavy tails, which more rows reduce."
            ),
        )
    ]


def _redundant(n_columns: int, *, is_fewer: bool) -> list[Fault]:
    """Return a sentence on columns that are left out because other columns explain their rows.

    Parameters
    ----------
    n_columns : int
        Number of columns that are left out.
    is_fewer : bool
        True if more sources were asked for than are returned.
    """
    if not n_columns:
        return []
    plural = n_columns > 1
    return [
        (
            ConditioningWarning if is_fewer else None,
            Message(
                f"{n_columns} short column{'s' * plural} of the fourth cumulant had to be left "
                f"out, because the other columns explain {'their' if plural else 'its'} rows as "
                "well. Sampling errors of the cumulant make such mixtures of sources, and more "
                "rows reduce them."
            ),
        )
    ]


def _not_sparse(kurtosis: FloatArray) -> list[Fault]:
    """Return a sentence that names returned sources which are not sparse."""
    light = np.flatnonzero(kurtosis <= 0).tolist()
    if not light:
        return []
    plural = len(light) > 1
    listed = ", ".join(map(str, light[:MOST_NAMED])) + ", ..." * (len(light) > MOST_NAMED)
    many = len(light) >= MANY_LIGHT * len(kurtosis)
    return [
        (
            ConditioningWarning if many else None,
            Message(
                f"Source{'s' * plural} {listed} {'are' if plural else 'is'} not sparse: sparse "
                "sources are near zero in most rows and large in a few, so that their excess "
                f"kurtosis is above 0 (smallest here: {kurtosis.min():.2f}). Use the model ICA "
                "for sources that are not sparse."
            ),
        )
    ]


def _further_sources(further: bool, n_components: int, *, may_be_sparse: bool) -> list[Fault]:
    """Return a sentence on sources that are not among the returned ones.

    Parameters
    ----------
    further : bool
        True if there are further sources.
    n_components : int
        Number of sources that are returned.
    may_be_sparse : bool
        True if a fit of more components may return them.
    """
    if not further:
        return []
    remedy = (
        "Use more sources (" + Setting("n_components") + ") for more precise columns."
        if may_be_sparse
        else Message(
            "No further source stands out as sparse. Use the model ICA for sources that are not "
            "sparse."
        )
    )
    return [
        (
            None,
            "The rows vary by more than "
            + ("this source" if n_components == 1 else f"these {n_components} sources")
            + " and Gaussian noise. Codes would turn the columns towards the other sources, so "
            "that these columns are those of the fourth cumulant. " + remedy,
        )
    ]


def _many_active(by_kurtosis: float, active: float, rank: int) -> list[Fault]:
    """Return a sentence on rows that are made of many sources."""
    if by_kurtosis <= MOST_ACTIVE_BY_KURTOSIS * rank or active <= MOST_ACTIVE * rank:
        return []
    return [
        (
            ConditioningWarning,
            Message(
                f"By their kurtosis, {by_kurtosis:.1f} sources are active in a typical row of "
                f"{rank} axes: they are hardly sparse, and codes of few sources turn the columns "
                "away from them. Use the model ICA, or "
            )
            + Setting("max_iter", 0)
            + ".",
        )
    ]
