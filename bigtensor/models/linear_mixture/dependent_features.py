"""Features of a view that depend linearly on each other, in words."""

from __future__ import annotations

import numpy as np

from bigtensor.decomposition.gaussian.shared_covariance_m_step import LEAST_VARIANCE, TotalMoments
from bigtensor.errors import Setting
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian.mixture_faults import dependent_parts
from bigtensor.statistics.moments.covariances import CovariancesResult

_FLOOR = 1.01 * LEAST_VARIANCE
"""Eigenvalue of the noise, relative to all rows, up to which it is the smallest that is allowed."""

_MOST_NAMES = 6


def dependent_features(components: GaussianComponents, total: CovariancesResult) -> list[str]:
    """Return a sentence for every view with features that depend linearly on each other.

    Parameters
    ----------
    components : GaussianComponents
        With a covariance within views.
    total : CovariancesResult
        Of all rows, whose covariance within views is used. Constant features are left out.
    """
    variances = TotalMoments(total.mean, total.covariance).variances
    sentences: list[str] = []
    for (view, members), columns in zip(components.views, components.slices.values(), strict=True):
        varying = np.flatnonzero(variances[columns] > 0)
        scale = np.sqrt(variances[columns][varying])
        noise = components.covariance[columns, columns][np.ix_(varying, varying)]
        parts = dependent_parts(noise / np.outer(scale, scale), _FLOOR)
        if len(parts) < 2:
            continue
        names = [members[varying[part]] for part in parts]
        listed = ", ".join(map(repr, names[:_MOST_NAMES])) + ", ..." * (len(names) > _MOST_NAMES)
        sentences.append(
            f"Features {listed} of the view {view!r} depend linearly on each other within the "
            "components, and log-densities are too large: they rest on the smallest variance that "
            "is allowed. Leave features out of the view that follow from others ("
            + Setting("views")
            + ")."
        )
    return sentences
