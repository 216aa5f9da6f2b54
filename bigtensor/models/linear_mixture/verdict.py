"""Judgement of a fitted linear mixture: what should worry, in words."""

from __future__ import annotations

from typing import Any

from bigtensor.errors import Setting
from bigtensor.models.contract.script import Solved, with_verdict
from bigtensor.models.gaussian.component_labels import lost_labels
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian.mixture_faults import (
    doubled_weights,
    heavy_tails,
    noise_in_words,
    noise_ratio,
)
from bigtensor.models.linear_mixture.columns import adds_up
from bigtensor.models.linear_mixture.dependent_features import dependent_features
from bigtensor.models.linear_mixture.labels import empty_components, labels_elsewhere
from bigtensor.models.linear_mixture.search import MOST_LEFT, OF_NOISE, noise_level
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.pilot.outliers import outlier_faults
from bigtensor.models.words.faults import as_warnings, confirmation_before_notes
from bigtensor.statistics.gaussian.label_means import LabelMeansResult
from bigtensor.statistics.moments.covariances import CovariancesResult

MOST_PER_FEATURE = 6
"""Components for every feature of a view, up to which searches from rows succeed.

At 50 features a view with noise as long as the columns, 6 succeed and 12 fail.
"""

MOST_NOISE = 0.28
"""Noise for the rows of a component above which columns are hardly determined.

Searches with z = 1 succeed with 50 rows a component (0.14), miss some with 20 (0.22) and fail with
10 (0.32). With z = 5 they fail with 1,600 (0.62).
"""


def judged(
    components: GaussianComponents,
    settings: LinearSettings,
    diagnostics: dict[str, Any],
    total: CovariancesResult,
    label_means: LabelMeansResult | None = None,
) -> Solved:
    """Return a solution with the verdict on it, and warn of a fault.

    Parameters
    ----------
    components : GaussianComponents
        Of all rows.
    settings : LinearSettings
        Resolved parameters of the fit.
    diagnostics : dict
        Facts of the fit.
    total : CovariancesResult
        Covariances of all rows within the views.
    label_means : LabelMeansResult, optional
        Means of labelled rows; None without labels.
    """
    k, asked, pilot = components.n_components, settings.n_components, diagnostics["pilot"]
    diagnostics = {
        **diagnostics,
        "noise_ratio": noise_ratio(components),
        "rows_a_component": settings.shape.all_rows / asked,
    }
    faults: list[str] = []
    if asked > 1:
        faults = _beyond_limit(components, settings, diagnostics) or _more(components, pilot, asked)
        faults = (
            faults or _fewer(k, settings, diagnostics) or _sum(diagnostics) or _noise(diagnostics)
        )
    faults = [*faults, *lost_labels(components.names, settings.shape.groups)]
    if label_means is not None:
        faults += empty_components(components, settings.shape.all_rows)
        faults += labels_elsewhere(components, label_means, settings.shape.groups)
    faults += dependent_features(components, total)
    notes = outlier_faults(diagnostics)
    notes += [(None, note) for note in doubled_weights(components.weights)]
    notes += [(None, note) for note in heavy_tails(pilot.get("tails"))]
    further = "whether there are more was not looked for"
    if pilot["left_weight"] is not None:
        further = "no further one stands out"
    confirmation = f"{k} component{'s' * (k > 1)}; {further}."
    return with_verdict(
        components,
        confirmation_before_notes([*as_warnings(*faults), *notes], confirmation),
        confirmation,
        {"n_components": k, **diagnostics},
    )


def _fewer(k: int, settings: LinearSettings, diagnostics: dict[str, Any]) -> list[str]:
    """Return a sentence on components that were asked for and not found."""
    asked = settings.n_components
    if k >= asked:
        return []
    return [
        f"{k} of the {asked} components asked for stand out from the noise, and only these are "
        "returned. "
        + noise_in_words(diagnostics)
        + " Use more rows, or fewer components ("
        + Setting("n_components", k)
        + ")."
    ]


def _beyond_limit(
    components: GaussianComponents, settings: LinearSettings, diagnostics: dict[str, Any]
) -> list[str]:
    """Return a sentence on more components than searches find, if this one did not."""
    asked, least = settings.n_components, min(len(members) for _, members in settings.shape.views)
    k = components.n_components
    missing = k < asked or is_too_few(components, diagnostics["pilot"], asked)
    if asked <= MOST_PER_FEATURE * least or not missing:
        return []
    return [
        f"{k} of the {asked} components asked for were found. More than "
        f"{MOST_PER_FEATURE * least} are hardly found in views of {least} features. Use fewer "
        "components (" + Setting("n_components") + "), views of more features, or labels of some "
        "rows."
    ]


def is_too_few(components: GaussianComponents, pilot: dict[str, Any], asked: int) -> bool:
    """Return True if the sample has components beyond those asked for.

    Parameters
    ----------
    components : GaussianComponents
        Of all rows.
    pilot : dict
        Diagnostics of the sample.
    asked : int
        Number of components in the parameters.
    """
    if pilot["components_seen"] > asked:
        return True
    ratio = noise_ratio(components)
    if asked == 1 or ratio is None:
        return False
    left = pilot["left_weight"]
    if left is None:
        return False  # power updates as they were published do not look for more
    noise = noise_level(ratio, pilot["rows"] / asked)
    return bool(left >= MOST_LEFT + OF_NOISE * noise)


def _more(components: GaussianComponents, pilot: dict[str, Any], asked: int) -> list[str]:
    """Return a sentence on components beyond those that were asked for."""
    # if fewer are found than asked for, more cannot be asked for
    if components.n_components < asked or not is_too_few(components, pilot, asked):
        return []
    if pilot["components_seen"] > asked:
        words = (
            "The sample has more components that stand out from the noise than the "
            f"{asked} asked for, and only the heaviest are returned."
        )
    else:
        words = (
            "The sample has components beyond those asked for, with "
            f"{pilot['left_weight']:.1f} times the median weight."
        )
    return [words + " Use more components (" + Setting("n_components") + ")."]


def _sum(diagnostics: dict[str, Any]) -> list[str]:
    """Return a sentence on weights that do not add up."""
    total = diagnostics["weight_sum"]
    if adds_up(total):
        return []
    return [
        f"The weights of the components add up to {total:.2f} in place of 1: rows far from all "
        "components, dependent views, too few components, or too few rows for the noise. "
        + noise_in_words(diagnostics)
    ]


def _noise(diagnostics: dict[str, Any]) -> list[str]:
    """Return a sentence on noise for which there are too few rows."""
    ratio = diagnostics["noise_ratio"]
    if ratio is None or noise_level(ratio, diagnostics["rows_a_component"]) <= MOST_NOISE:
        return []
    return [
        "There are few rows for so much noise, and components may be wrong or missing. "
        + noise_in_words(diagnostics)
        + " Use more rows, or fewer components ("
        + Setting("n_components")
        + ")."
    ]
