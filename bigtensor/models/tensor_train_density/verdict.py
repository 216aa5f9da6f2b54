"""Judgement of a fitted density: what should worry, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtensor.errors import ConditioningWarning, ConstantFeatureWarning, Message, Setting
from bigtensor.models.contract.script import Solved, with_verdict
from bigtensor.models.pilot.outliers import sample_outliers
from bigtensor.models.tensor_train_density.embedded_density import EmbeddedDensity
from bigtensor.models.tensor_train_density.options import TensorTrainOptions
from bigtensor.models.tensor_train_density.sample.coordinate_systems import is_rotated
from bigtensor.models.tensor_train_density.settings import TrainSettings
from bigtensor.models.tensor_train_density.solution import TrainDensity
from bigtensor.models.words.faults import Fault
from bigtensor.models.words.wording import percent

_LARGE_LOSS = 1.0
"""Nats by which rotated coordinates fit better, above which a warning tells it."""


def judged(
    density: TrainDensity | EmbeddedDensity, settings: TrainSettings, diagnostics: dict[str, Any]
) -> Solved:
    """Return a density with the verdict on it, and warn of faults.

    Parameters
    ----------
    density : TrainDensity or EmbeddedDensity
        The fitted density.
    settings : TrainSettings
        Resolved parameters of the fit.
    diagnostics : dict
        With ``constant``, ``all_missing``, ``repeated``, ``duplicated``, ``rank`` and ``system``.
    """
    faults = [
        *_constant(diagnostics["constant"]),
        *_all_missing(diagnostics["all_missing"]),
        *_repeated(diagnostics["repeated"]),
        *_duplicated(diagnostics["duplicated"]),
        *_rotated(diagnostics),
        *sample_outliers(diagnostics),
    ]
    d = len(settings.features)
    trains = density.n_trains
    confirmation = (
        f"A density of {d} variable{'s' * (d > 1)}: {trains} tensor "
        f"train{'s' * (trains > 1)} of rank {diagnostics['rank']}."
    )
    if shares := shares_in_words(diagnostics):
        confirmation += f" The density is {shares}."
    diagnostics = {"n_components": density.n_components, **diagnostics}
    return with_verdict(density, faults, confirmation, diagnostics)


def shares_in_words(diagnostics: Mapping[str, Any]) -> str:
    """Return the shares of the trains and of the Gaussian components; empty for trains alone."""
    count = diagnostics.get("gaussian_components")
    if not count:
        return ""
    share = diagnostics["gaussian_share"]
    beside = f"a Gaussian mixture of {count} component{'s' * (count > 1)}"
    if diagnostics.get("kernels"):
        beside = f"an estimate from the nearest of {count:,} rows (Gaussian kernels)"
    return f"{percent(share)} {beside} and {percent(1 - share)} tensor trains"


def _rotated(diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a sentence on rotated coordinates that were left out, and fit better."""
    if is_rotated(diagnostics["system"]):
        return []
    rotated = [one["log_density"] for one in diagnostics["tried"] if is_rotated(one["system"])]
    gain = max(rotated, default=-np.inf) - diagnostics["validation_log_density"]
    if gain <= _LARGE_LOSS:
        return []
    return [
        (
            ConditioningWarning,
            f"Rotated coordinates give held-out rows a log-density that is {gain:.1f} nats larger: "
            "the variables are strongly correlated. For log-densities and draws, fit with "
            + Setting("coordinates", "density")
            + ". Marginals, conditionals and missing entries need the coordinates of this fit.",
        )
    ]


def _constant(names: list[str]) -> list[Fault]:
    """Return a sentence on variables with one value."""
    if not names:
        return []
    return [
        (
            ConstantFeatureWarning,
            f"Constant in the sample: {', '.join(names)}. A constant variable is categorical, with "
            "this value and any other: leave it out ("
            + Setting("views")
            + ") if its other values are not rare.",
        )
    ]


def _all_missing(names: list[str]) -> list[Fault]:
    """Return a sentence on variables without a value."""
    if not names:
        return []
    return [
        (
            ConstantFeatureWarning,
            f"Without any value in the sample: {', '.join(names)}. Nothing is known about such a "
            "variable: leave it out (" + Setting("views") + ").",
        )
    ]


def _repeated(names: list[str]) -> list[Fault]:
    """Return a sentence on variables with a value that comes again and again."""
    if not names:
        return []
    return [
        (
            ConditioningWarning,
            f"One value has more than a third of the entries of {', '.join(names)}. The density "
            "at this value depends on the least width of the densities that the model adds up, so "
            "compare log-densities of rows, not of models, or set "
            + TensorTrainOptions.setting("least_width")
            + ".",
        )
    ]


def _duplicated(pairs: list[list[str]]) -> list[Fault]:
    """Return a sentence on variables that are functions of each other."""
    if not pairs:
        return []
    named = "; ".join(f"{left} and {right}" for left, right in pairs)
    return [
        (
            ConditioningWarning,
            Message(
                f"Linear functions of each other: {named}. Their joint density is as large as the "
                "narrowest bumps allow: leave one of them out ("
            )
            + Setting("views")
            + ").",
        )
    ]
