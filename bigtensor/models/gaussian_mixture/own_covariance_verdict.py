"""Judgement of a fitted mixture whose components have a covariance each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import Setting
from bigtensor.models.contract.script import Solved, with_verdict
from bigtensor.models.gaussian_mixture.own_covariance_components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.own_covariance_ridge import CANDIDATES
from bigtensor.models.gaussian_mixture.settings import GaussianSettings
from bigtensor.models.gaussian_mixture.verdict import common_notes, empty_components
from bigtensor.models.pilot.outliers import outlier_faults
from bigtensor.models.words.convergence_warning import ConvergenceWarning
from bigtensor.models.words.faults import Fault, as_warnings, confirmation_before_notes

STILL_RISING = 1e-3
"""Gain of the mean penalised log-likelihood in the last EM iteration, in nats, that is told."""

_FLAT = 10.0
"""Times the least regularisation below which a variance of standardised features is due to it."""


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
    flat = np.flatnonzero(_least_variances(components) < _FLAT * CANDIDATES[0])
    faults += [(None, note) for note in _flat(flat)]
    faults += [(None, note) for note in common_notes(diagnostics, settings)]
    confirmation = f"{k} component{'s' * (k > 1)}, none almost empty."
    return with_verdict(
        components, confirmation_before_notes(faults, confirmation), confirmation, diagnostics
    )


def _least_variances(components: OwnCovarianceComponents) -> NDArray[np.float64]:
    """Return the smallest variance of every component, of standardised features."""
    covariances, means = components.covariances, components.means
    between = components.weights @ np.square(means - components.weights @ means)
    total = components.mean_variances + between
    if covariances.ndim == 3:
        scales = np.sqrt(total)
        return np.asarray(np.linalg.eigvalsh(covariances / np.outer(scales, scales))[:, 0])
    if covariances.ndim == 2:
        return np.asarray((covariances / total).min(axis=1))
    return np.asarray(covariances / total.mean())


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
        f"The rows of {whose} do not vary in some direction, such as equal values of a feature or "
        "fewer rows than features. Densities then depend on the regularisation. Use a larger "
        + Setting("reg_covar")
        + ", fewer components, or another "
        + Setting("covariance_type")
        + "."
    ]
