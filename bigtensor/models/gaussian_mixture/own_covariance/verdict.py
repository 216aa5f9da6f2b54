"""Judgement of a fitted mixture whose components have a covariance each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import Message, Setting
from bigtensor.models.contract.script import Solved, with_verdict
from bigtensor.models.gaussian.mixture_faults import dependent_parts
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.regularisation import CANDIDATES
from bigtensor.models.gaussian_mixture.settings import GaussianSettings
from bigtensor.models.gaussian_mixture.verdict import (
    common_notes,
    empty_components,
    unlike_pilot,
)
from bigtensor.models.pilot.outliers import MOST_NAMED, outlier_faults
from bigtensor.models.words.convergence_warning import ConvergenceWarning
from bigtensor.models.words.faults import Fault, as_warnings, confirmation_before_notes

STILL_RISING = 1e-3
"""Gain of the mean penalised log-likelihood in the last EM iteration, in nats, that is told."""

_FLAT = 2.0
"""Times the least regularisation below which a variance of standardised features is due to it.

Features with values of -999 in 5 % of the rows have variances of 3 times the least regularisation
in components of all other rows, because the variance of all rows is large.
"""

_ALIKE = 1.0
"""Distance of means, in standard deviations, below which components are alike.

Components of a binary feature that is noise hold several groups: three groups six standard
deviations apart gave components .8 standard deviations apart, and adjusted Rand indices of .17.
"""


def judged_own_covariances(
    components: OwnCovarianceComponents, settings: GaussianSettings, diagnostics: dict[str, Any]
) -> Solved:
    """Return a solution without empty components, with the verdict on it, and warn of a fault."""
    empty = empty_components(components, settings)
    if empty.any():
        components = components.taken(np.flatnonzero(~empty))
    k = components.n_components
    faults: list[Fault] = as_warnings(*_fewer(k, settings))
    faults += [(ConvergenceWarning, sentence) for sentence in _not_converged(diagnostics, settings)]
    faults += outlier_faults(diagnostics)
    faults += as_warnings(*unlike_pilot(diagnostics, settings))
    single = _variances(components) < _FLAT * CANDIDATES[0]
    # equal rows have no other features to find groups in
    single &= ~single.all(axis=1, keepdims=True)
    single &= _divides_alike(components, single)
    faults += as_warnings(*_single_valued(single, settings.features))
    dependent = _dependent(components, settings)
    faults += as_warnings(*dependent)
    flat = _least_variances(components) < _FLAT * CANDIDATES[0]
    if not dependent:
        faults += [(None, note) for note in _flat(np.flatnonzero(flat & ~single.any(axis=1)))]
    faults += [(None, note) for note in common_notes(k, diagnostics, settings)]
    confirmation = f"{k} component{'s' * (k > 1)}, none almost empty."
    return with_verdict(
        components, confirmation_before_notes(faults, confirmation), confirmation, diagnostics
    )


def _total_variances(components: OwnCovarianceComponents) -> FloatArray:
    """Return the variances of the features over all rows: ``(d,)``."""
    between = np.square(components.means - components.weights @ components.means)
    return np.asarray(components.mean_variances + components.weights @ between)


def _variances(components: OwnCovarianceComponents) -> FloatArray:
    """Return the variances of standardised features in every component: ``(k, d)``."""
    covariances, total = components.covariances, _total_variances(components)
    if covariances.ndim == 1:
        return np.asarray(covariances[:, None] / np.full(len(total), total.mean()))
    if covariances.ndim == 3:
        covariances = np.diagonal(covariances, axis1=1, axis2=2)
    return np.asarray(covariances / total)


def _least_variances(components: OwnCovarianceComponents) -> FloatArray:
    """Return the smallest variance of every component, of standardised features: ``(k,)``."""
    covariances = components.covariances
    if covariances.ndim < 3:
        return np.asarray(_variances(components).min(axis=1))
    scales = np.sqrt(_total_variances(components))
    return np.asarray(np.linalg.eigvalsh(covariances / np.outer(scales, scales))[:, 0])


def _dependent(components: OwnCovarianceComponents, settings: GaussianSettings) -> list[Message]:
    """Return a sentence on features that depend linearly on each other in all components.

    In no more rows than features, all features do.
    """
    if components.covariances.ndim < 3 or settings.shape.all_rows <= settings.n_features:
        return []
    scales = np.sqrt(_total_variances(components))
    within = np.tensordot(components.weights, components.covariances, axes=1)
    within = within / np.outer(scales, scales)
    # one value in every component is no dependence
    varying = np.flatnonzero(np.diagonal(within) >= _FLAT * CANDIDATES[0])
    parts = dependent_parts(within[np.ix_(varying, varying)], _FLAT * CANDIDATES[0])
    if len(parts) < 2:
        return []
    names = ", ".join(settings.features[place] for place in varying[parts][:MOST_NAMED])
    more = ", ..." * (len(parts) > MOST_NAMED)
    return [
        f"Features that depend linearly on each other, such as copies: {names}{more}. Densities "
        "then depend on the regularisation, and too many components may be chosen. Leave out "
        "features that follow from others (" + Setting("views") + ")."
    ]


def _fewer(k: int, settings: GaussianSettings) -> list[str]:
    """Return a sentence on components that were asked for and are not returned."""
    if k >= settings.n_components:
        return []
    return [
        f"{settings.n_components - k} of the {settings.n_components} components have fewer than "
        "two rows and are not returned. Use fewer components (" + Setting("n_components", k) + ")."
    ]


def _not_converged(diagnostics: dict[str, Any], settings: GaussianSettings) -> list[str]:
    """Return a sentence on a likelihood that still rises."""
    measures = diagnostics["mean_log_likelihood"]
    if diagnostics["converged"] or len(measures) < 2:
        return []
    gain = measures[-1] - measures[-2]
    if gain < STILL_RISING:
        return []
    return [
        f"The penalised likelihood still rises by {gain:.1e} nats a row after {settings.max_iter} "
        "EM iterations over all rows. Use more ("
        + Setting("max_iter", 3 * settings.max_iter)
        + ")."
    ]


def _flat(flat: NDArray[np.intp]) -> list[str]:
    """Return a sentence on components whose rows lie in fewer dimensions."""
    if not len(flat):
        return []
    whose = f"{len(flat)} components" if len(flat) > 1 else f"component {flat[0]}"
    return [
        f"The rows of {whose} do not vary in some direction, such as equal rows or fewer rows "
        "than features. Densities then depend on the regularisation. Use a larger "
        + Setting("reg_covar")
        + ", fewer components, or another "
        + Setting("covariance_type")
        + "."
    ]


def _divides_alike(
    components: OwnCovarianceComponents, single: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return True for features that divide components that are alike in all others: ``(d,)``.

    The distance between the means of two components is counted in standard deviations, in every
    feature those of the wider component.

    Parameters
    ----------
    components : OwnCovarianceComponents
        Components, without empty ones.
    single : (k, d) bool array
        True for features whose variance in a component is the regularisation.
    """
    means = components.means / np.sqrt(_total_variances(components))
    variances = _variances(components)
    dividing = np.zeros(means.shape[1], dtype=bool)
    for component in np.flatnonzero(single.any(axis=1)):
        squares = np.square(means[component] - means)
        squares /= np.maximum(variances[component], variances)
        others = squares.sum(axis=1, keepdims=True) - squares
        apart = (squares > _ALIKE**2) & (others < _ALIKE**2)
        dividing |= single[component] & apart.any(axis=0)
    return dividing


def _single_valued(single: NDArray[np.bool_], features: Sequence[str]) -> list[str]:
    """Return a sentence on features that have one value in a component and divide like components.

    A density of single values has no bound, so that components follow these features. A larger
    `reg_covar` does not change this: with .01, .1 and .3, three groups apart by six standard
    deviations beside a binary feature still had an adjusted Rand index of .5.

    Parameters
    ----------
    single : (k, d) bool array
        True for such features whose variance in a component is the regularisation.
    features : sequence of str
        Names of the features.
    """
    places = np.flatnonzero(single.any(axis=0))
    if not len(places):
        return []
    names = ", ".join(features[place] for place in places[:MOST_NAMED])
    more = ", ..." * (len(places) > MOST_NAMED)
    count = int(single.any(axis=1).sum())
    whose = f"{count} components" if count > 1 else "one component"
    return [
        f"Features with a single value in all rows of {whose}: {names}{more}. Components follow "
        "the values of a binary or rounded feature, because the density of equal values has no "
        "bound. To find groups in the other features, leave these features out."
    ]
