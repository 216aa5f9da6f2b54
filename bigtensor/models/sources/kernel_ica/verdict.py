"""Judgement of fitted sources of a kernel: what should worry, in words."""

from __future__ import annotations

from typing import Any

from bigtensor.errors import ConditioningWarning, Message, Setting
from bigtensor.models.contract.script import Solved, with_verdict
from bigtensor.models.pilot.outliers import outlier_faults
from bigtensor.models.sources.faults import (
    constant_features,
    gaussian_among,
    unsettled,
)
from bigtensor.models.sources.kernel_ica.settings import KernelICASettings
from bigtensor.models.sources.kernel_ica.solution import KernelComponents
from bigtensor.models.words.faults import Fault

LEAST_EXPLAINED = 0.05
"""Share of the variance in the feature space that is little for the sources to explain."""


def judged(
    components: KernelComponents, settings: KernelICASettings, diagnostics: dict[str, Any]
) -> Solved:
    """Return a solution with the verdict on it, and warn of faults.

    Parameters
    ----------
    components : KernelComponents
        The sources.
    settings : KernelICASettings
        Resolved parameters of the fit.
    diagnostics : dict
        With ``rank``, ``varying``, ``outlying_rows``, ``turns`` and ``gaussian_sources``.
    """
    k = components.n_components
    explained = float(components.explained.sum() / components.variance)
    faults = [
        *constant_features(settings, diagnostics["varying"]),
        *outlier_faults(diagnostics),
        *_few_axes(settings, k),
        *_little_explained(settings, explained),
        *gaussian_among(diagnostics, k),
        *unsettled(diagnostics),
    ]
    confirmation = (
        f"{k} source{'s' * (k > 1)}, which explain {100 * explained:.0f} % of the variance in the "
        "feature space of the kernel."
    )
    return with_verdict(
        components, faults, confirmation, {"n_components": k, **diagnostics, "explained": explained}
    )


def _few_axes(settings: KernelICASettings, axes: int) -> list[Fault]:
    """Return a sentence on features of the kernel that depend linearly on each other."""
    if axes >= settings.most_components:
        return []
    return [
        (
            ConditioningWarning,
            f"The features of the kernel vary along {axes} "
            f"ax{'e' if axes > 1 else 'i'}s only, and there are at most as many sources: use "
            + Setting("n_components", axes)
            + ", a narrower kernel ("
            + Setting("bandwidth")
            + ") or more distinct rows.",
        )
    ]


def _little_explained(settings: KernelICASettings, explained: float) -> list[Fault]:
    """Return a sentence on a kernel for which most rows are alike or strangers to each other."""
    if explained >= LEAST_EXPLAINED or settings.kernel == "linear":
        return []
    return [
        (
            ConditioningWarning,
            Message(
                f"The sources explain {100 * explained:.1f} % of the variance in the feature space "
                "of the kernel, which is narrow beside the distances between rows: use a wider "
                "kernel ("
            )
            + Setting("bandwidth")
            + ") or more components ("
            + Setting("n_components")
            + ").",
        )
    ]
