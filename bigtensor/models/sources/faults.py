"""Faults of fitted sources, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bigtensor.errors import (
    ConditioningWarning,
    ConstantFeatureWarning,
    Message,
    Setting,
)
from bigtensor.models.sources.settings import SourceSettings
from bigtensor.models.words.convergence_warning import ConvergenceWarning
from bigtensor.models.words.faults import Fault

_MOST_NAMES = 6

_NOT_SETTLED = 0.05
"""Mean sine of the turn by the last pass, above which the sources have not settled."""


def constant_features(settings: SourceSettings, varying: Sequence[bool]) -> list[Fault]:
    """Return a sentence on features without variance.

    Parameters
    ----------
    settings : SourceSettings
        Settings with the names of the features.
    varying : sequence of bool
        For every feature, whether its values differ.
    """
    named = zip(settings.features, varying, strict=True)
    names = [name for name, varies in named if not varies]
    if not names:
        return []
    listed = ", ".join(map(repr, names[:_MOST_NAMES])) + (", ..." * (len(names) > _MOST_NAMES))
    plural = "s" * (len(names) > 1)
    return [
        (
            ConstantFeatureWarning,
            Message(
                f"Feature{plural} {listed} ha{'ve' if plural else 's'} one value only, and no part "
                "in any source."
            ),
        )
    ]


def dependent_features(
    settings: SourceSettings, varying: int, rank: int, remedy: Message
) -> list[Fault]:
    """Return a sentence on features that depend linearly on others.

    Parameters
    ----------
    settings : SourceSettings
        Settings with the number of sources that was asked for.
    varying, rank : int
        Number of features that vary, and rank of their correlations.
    remedy : Message
        Added where a number of sources was asked for; may be empty.
    """
    asked = settings.n_components
    if rank >= varying or (asked is not None and asked <= rank):
        return []
    return [
        (
            None if asked is None else ConditioningWarning,
            f"The {varying} features that vary depend linearly on each other and have the rank "
            f"{rank}: there are at most {rank} sources without noise."
            + (Message("") if asked is None else remedy),
        )
    ]


def fewer_sources(
    settings: SourceSettings, rank: int, n_sources: int, left_out: int = 0
) -> list[Fault]:
    """Return a sentence on sources that were asked for and do not stand out.

    Parameters
    ----------
    settings : SourceSettings
        Settings with the number of sources that was asked for.
    rank : int
        Of the data, the number of sources where none is given.
    n_sources : int
        Number of sources that are returned.
    left_out : int, default 0
        Number of sources that stand out and are left out, which another sentence says.
    """
    asked = settings.n_components or rank
    outstanding = n_sources + left_out
    if outstanding >= asked:
        return []
    return [
        (
            None if settings.n_components is None else ConditioningWarning,
            f"{outstanding} of {asked} sources stand out from Gaussian noise in the fourth "
            "cumulant, and the others are not returned. Use "
            + Setting("n_components", outstanding)
            + ", or more rows.",
        )
    ]


def sources_in_noise(diagnostics: dict[str, Any], n_components: int) -> list[Fault]:
    """Return a sentence on sources that were kept though noise might have made them.

    Parameters
    ----------
    diagnostics : dict
        With ``sources_in_noise``, or without where whitened sources were fitted.
    n_components : int
        Number of sources of the fit.
    """
    hidden = diagnostics.get("sources_in_noise", 0)
    if not hidden:
        return []
    most = 2 * hidden >= n_components
    return [
        (
            ConditioningWarning if most else None,
            Message(
                f"{hidden} of the {n_components} sources do{'es' * (hidden == 1)} not stand out "
                "from Gaussian noise in the fourth cumulant: more rows make them more precise."
            ),
        )
    ]


def nearly_parallel(diagnostics: dict[str, Any], remedy: Message) -> list[Fault]:
    """Return a sentence on columns of which one may follow the sampling error of another source.

    Parameters
    ----------
    diagnostics : dict
        With ``nearly_parallel``, or without where whitened sources were fitted.
    remedy : Message
        What to do, in the imperative.
    """
    if not diagnostics.get("nearly_parallel"):
        return []
    return [
        (
            ConditioningWarning,
            "Two sources have nearly the same column although there are fewer sources than "
            "features: one source with heavy tails may be there twice, in the place of another "
            "source. " + remedy,
        )
    ]


def gaussian_among(diagnostics: dict[str, Any], n_components: int) -> list[Fault]:
    """Return a sentence on sources that no rotation tells apart.

    Parameters
    ----------
    diagnostics : dict
        With ``gaussian_sources``, or without where no rotation was looked for.
    n_components : int
        Number of sources of the fit.
    """
    gaussian = diagnostics.get("gaussian_sources", 0)
    if gaussian < 2:
        return []
    # few of many are common in real data
    most = 2 * gaussian >= n_components
    return [
        (
            ConditioningWarning if most else None,
            Message(
                f"{gaussian} of the {n_components} sources are Gaussian within the noise, and "
                "Gaussian sources cannot be told apart: these may be mixtures of each other. "
                "Compare them with the sources of half of the rows, or use more rows."
            ),
        )
    ]


def unsettled(diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a sentence on passes that ended too early.

    Parameters
    ----------
    diagnostics : dict
        With ``turns`` of the passes, if there were any.
    """
    turns = diagnostics.get("turns", [])
    if not turns or turns[-1] <= _NOT_SETTLED or diagnostics.get("gaussian_sources", 0) >= 2:
        return []
    return [
        (
            ConvergenceWarning,
            f"The last pass turned the sources by {turns[-1]:.2f} radians: they have not settled. "
            "Use more passes ("
            + Setting("max_iter")
            + ") or a larger sample ("
            + Setting("pilot_rows")
            + ").",
        )
    ]
