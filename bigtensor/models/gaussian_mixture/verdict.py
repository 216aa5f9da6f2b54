"""Judgement of a fitted Gaussian mixture: what should worry, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from bigtensor.errors import Message, Setting
from bigtensor.models.contract.script import Solved, with_verdict
from bigtensor.models.gaussian.component_shapes import MOST_VARIANCE
from bigtensor.models.gaussian.fitted_components import GaussianComponents, joined
from bigtensor.models.gaussian.mixture_faults import (
    doubled_weights,
    heavy_tails,
    noise_in_words,
    noise_ratio,
)
from bigtensor.models.gaussian.sample_iterations import FEW_ROWS
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.settings import (
    MOST_CHOSEN,
    GaussianSettings,
    free_parameters,
    most_components,
)
from bigtensor.models.pilot.constant_features import described
from bigtensor.models.pilot.outliers import outlier_faults
from bigtensor.models.words.faults import Fault, as_warnings, confirmation_before_notes

ALIKE = 0.1
"""Distance of two means, in standard deviations of the noise, below which they are one."""

SKEWED = 2.0
"""Skewness of a feature given the component that is told: an exponential has 2."""

_FEW_FEATURES = 8
"""One in so many features with nearly all of the variance within components has other units."""

_MOST_NAMES = 3


def judged(
    components: GaussianComponents, settings: GaussianSettings, diagnostics: dict[str, Any]
) -> Solved:
    """Return a solution without empty components, with the verdict on it, and warn of a fault."""
    empty = empty_components(components, settings)
    if empty.any():
        components = _without(empty, components)
    diagnostics = {
        **diagnostics,
        "noise_ratio": noise_ratio(components),
        "rows_a_component": settings.shape.all_rows / settings.n_components,
    }
    k, shapes = components.n_components, diagnostics["pilot"]["shapes"]
    faults: list[Fault] = as_warnings(
        *_fewer(k, settings, diagnostics),
        *_two_groups(shapes["two_groups"], k),
        *_alike(components),
    )
    faults += outlier_faults(diagnostics)
    faults += as_warnings(*unlike_pilot(diagnostics, settings))
    notes = [
        *common_notes(k, diagnostics, settings),
        *doubled_weights(components.weights),
    ]
    notes += heavy_tails(shapes["tails"])
    notes += _skewed(shapes["most_skewed"])
    if not settings.tied:
        notes += _units(shapes["wide_features"], settings.n_features)
    faults += [(None, note) for note in notes]
    confirmation = f"{k} component{'s' * (k > 1)}, no two alike and none almost empty."
    return with_verdict(
        components, confirmation_before_notes(faults, confirmation), confirmation, diagnostics
    )


def empty_components(
    components: GaussianComponents | OwnCovarianceComponents, settings: GaussianSettings
) -> NDArray[np.bool_]:
    """Return True for the components that are left out: ``(k,)``.

    None is where all are empty, components have names, or no iteration emptied them.
    """
    empty = ~(components.weights * settings.shape.all_rows >= FEW_ROWS)
    kept = not settings.max_iter or empty.all() or bool(components.names)
    return np.zeros_like(empty) if kept else empty


def common_notes(
    k: int, diagnostics: dict[str, Any], settings: GaussianSettings
) -> list[Message | str]:
    """Return the notes on fits with covariances of any type."""
    return [
        *_no_better_than_one(k, diagnostics, settings),
        *_constant_features(diagnostics),
        *_larger_numbers(diagnostics, settings),
        *_not_iterated(settings),
    ]


def unlike_pilot(diagnostics: dict[str, Any], settings: GaussianSettings) -> list[str]:
    """Return a sentence on rows of a fit in rounds that are unlike the rows of its pilot sample.

    Their mean log-likelihood under the components of the pilot sample is compared before the first
    EM iteration over them. It is low if it is below `lowest_log_density` of the pilot rows by more
    than two nats for every parameter per pilot row: the rows that components are fitted to look
    more likely by about one. Nothing is compared if rows may have missing entries, because their
    likelihoods are of other features.

    No warning came in 236 shuffled streams of 600 to 12,000 rows (groups, heavy tails, lognormal
    features), and all of 20 in the order of a season had it. A group that later batches add, and
    that is half of their rows, had no warning at two standard deviations from the first one in
    five streams, a warning in three of five at three, and in all of five at four and six.
    """
    pilot, likelihoods = diagnostics["pilot"], diagnostics.get("mean_log_likelihood")
    lowest = pilot.get("lowest_log_density")
    if lowest is None or not likelihoods or settings.starts_from_all_arrays:
        return []
    parameters = free_parameters(
        settings.covariance_type, settings.n_components, settings.n_features
    )
    if likelihoods[0] >= lowest - 2 * parameters / pilot["rows"]:
        return []
    level = pilot["log_likelihood"][pilot["initialisation"]]
    return [
        f"Under the components of the pilot sample ({pilot['rows']:,} rows of those that prepared "
        f"the model), the rows of the fit have a mean log-likelihood of {likelihoods[0]:.2f} nats, "
        f"and the pilot rows have {level:.2f}: groups that the pilot sample lacks may be missing "
        "from the fit. Prepare the model with rows of all times and parts, such as a shuffled "
        "batch in the first call of partial_fit, or fit all rows with fit."
    ]


def _no_better_than_one(
    k: int, diagnostics: dict[str, Any], settings: GaussianSettings
) -> list[Message | str]:
    """Return a sentence on components that describe the pilot rows no better than one does."""
    pilot = diagnostics["pilot"]
    if k == 1 or pilot.get("gain_over_one_component", 1.0) > 0:
        return []
    if unlike_pilot(diagnostics, settings):
        # one group in the pilot rows may be one of several in all rows
        return []
    sample = f"the {pilot['rows']:,} rows of the pilot sample"
    comparison = (
        f"If some of {sample} are left out of a fit, they are as probable with one component as "
        f"with {k}"
        if "regularisations" in pilot
        else f"BIC prefers one component to {k} for {sample}"
    )
    return [
        f"{comparison}: they do not show separate groups. To compare numbers of components, use "
        + Setting("n_components", "auto")
        + "."
    ]


def _constant_features(diagnostics: dict[str, Any]) -> list[str]:
    """Return a sentence on constant features, which the fit left out."""
    left_out = diagnostics.get("constant_features")
    if not left_out:
        return []
    said = described(left_out, diagnostics["pilot"]["rows"])
    return [f"{said[0].upper()}{said[1:]}, and no part in the fit."]


def _larger_numbers(diagnostics: dict[str, Any], settings: GaussianSettings) -> list[Message]:
    """Return a sentence on a choice in which the largest number of components was the best."""
    choice = diagnostics["pilot"].get("component_choice")
    if choice is None or not choice["at_the_end"]:
        return []
    most = max(map(int, choice["by_number_of_components"]))
    rows, d = settings.shape.all_rows, settings.n_features
    limit = f"{rows:,.0f} rows of {d} features allow no larger one"
    if most_components(rows, d) == MOST_CHOSEN:
        # numbers go up in steps, of which none need be the limit itself
        limit = f"at most {MOST_CHOSEN} are compared"
    return [
        "The best of the numbers of components that were compared is the largest, "
        f"{most}, and {limit}. If you expect more, give their number ("
        + Setting("n_components")
        + ")."
    ]


def _not_iterated(settings: GaussianSettings) -> list[str]:
    """Return a sentence on a model that is its initialisation."""
    if settings.max_iter:
        return []
    return ["No EM iteration was asked for: the components are those of the initialisation."]


def _without(gone: NDArray[np.bool_], components: GaussianComponents) -> GaussianComponents:
    """Return components of which some are part of the one with the nearest mean."""
    points = components.mixture().factor[:-1].T.astype(np.float64)
    members = np.cumsum(~gone) - 1
    nearest = cdist(points[gone], points[~gone]).argmin(axis=1)
    members[gone] = nearest
    return joined(components, members)


def _fewer(k: int, settings: GaussianSettings, diagnostics: dict[str, Any]) -> list[str]:
    """Return a sentence on components that were asked for and are not returned."""
    asked, pilot = settings.n_components, diagnostics["pilot"]
    if k >= asked:
        return []
    more = (
        "more rows"
        if pilot["rows"] >= settings.shape.rows
        else "a larger sample (" + Setting("pilot_rows") + ")"
    )
    return [
        f"{k} of the {asked} components asked for are told apart by {pilot['rows']:,} rows, "
        "and only these are returned. "
        + noise_in_words(diagnostics)
        + " Use fewer components ("
        + Setting("n_components", k)
        + "), or "
        + more
        + "."
    ]


def _two_groups(split: int, k: int) -> list[str]:
    """Return a sentence on components whose rows are two groups."""
    if not split:
        return []
    of_many = f"{split} of the {k} components" if k > 1 else "the component"
    return [
        f"The rows of {of_many} are two groups, far apart. Use more components ("
        + Setting("n_components")
        + ")."
    ]


def _skewed(most: dict[str, Any]) -> list[str]:
    """Return a sentence on a feature whose noise is skewed."""
    if abs(most["skewness"]) < SKEWED:
        return []
    return [
        f"Feature {most['feature']!r} is skewed within components (skewness "
        f"{most['skewness']:.1f}), which a Gaussian is not. Transform skewed features, for example "
        "by the logarithm."
    ]


def _units(wide: list[str], n_features: int) -> list[str]:
    """Return a sentence on a few features that have nearly all of the variance in components."""
    if n_features == 1 or len(wide) > max(1, n_features // _FEW_FEATURES):
        return []
    names = ", ".join(map(repr, wide[:_MOST_NAMES])) + (", ..." * (len(wide) > _MOST_NAMES))
    have = f"s {names} have" if len(wide) > 1 else f" {names} has"
    return [
        f"Feature{have} {MOST_VARIANCE:.0%} of the variance within components, and the others "
        "hardly count. Standardise features of different units."
    ]


def _alike(components: GaussianComponents) -> list[str]:
    """Return a sentence on the two nearest components, if they are one."""
    if components.n_components < 2:
        return []
    points = components.mixture().factor[:-1].T.astype(np.float64)
    squares = np.square(points).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0)
    np.fill_diagonal(distances, np.inf)
    a, b = np.unravel_index(np.argmin(distances), distances.shape)
    nearest = float(np.sqrt(distances[a, b]))
    if nearest >= ALIKE:
        return []
    return [
        f"Components {min(a, b)} and {max(a, b)} are {nearest:.2f} standard deviations apart. Use "
        "fewer components (" + Setting("n_components") + ")."
    ]
