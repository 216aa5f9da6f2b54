"""Weights, means and noise of a linear mixture from the terms of its moment tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.decomposition.shared_covariance_em import TotalMoments, within_covariance
from bigtensor.decomposition.solution import FloatArray
from bigtensor.errors import IdentifiabilityError, Setting
from bigtensor.models.data_shape import NamedViews, view_slices
from bigtensor.models.gaussian_components import GaussianComponents
from bigtensor.models.sample_tensor import Refined, SampleTensor
from bigtensor.statistics.covariances import CovariancesResult

LEAST_ROWS = 3.0
"""A component of fewer rows is an outlier."""


@dataclass(frozen=True, eq=False)
class LinearTerms:
    """Mixture of the terms of a tensor, and what became of them.

    Attributes
    ----------
    components : GaussianComponents
    diagnostics : dict
    """

    components: GaussianComponents
    diagnostics: dict[str, Any]


def mixture_of(
    found: Refined,
    tensor: SampleTensor,
    moments: CovariancesResult,
    views: NamedViews,
    dtype: str,
) -> LinearTerms:
    """Return weights and means from terms with a constant feature, and the noise that is left.

    A term with the unit column u and the weight W is the column ``r + c u[1:] / u[0]`` of a
    component of weight ``W prod(u[0] / c)`` over the views, with the point r and constants c.

    Raises
    ------
    IdentifiabilityError
        When no term is a component.
    """
    weights, columns = columns_of(found.terms, tensor)
    valid = (weights * found.weight >= LEAST_ROWS) & np.isfinite(weights)
    if not valid.any():
        raise IdentifiabilityError(
            "no component stands out from the noise in the third moment of the three views: use "
            "fewer components (" + Setting("n_components") + "), more rows, or views that depend "
            "on each other more"
        )
    total = float(weights[valid].sum())
    shares = weights[valid] / total
    means = np.concatenate(columns)[:, valid].T
    covariance, _ = within_covariance(
        TotalMoments(moments.mean, moments.covariance),
        shares,
        means - moments.mean,
        None,
        tuple(view_slices(views).values()),
    )
    told = {"weight_sum": total, "invalid_components": int(np.count_nonzero(~valid))}
    components = GaussianComponents(shares, means, covariance, views, dtype)
    return LinearTerms(components.by_weight(), told)


def columns_of(terms: Terms, tensor: SampleTensor) -> tuple[FloatArray, list[FloatArray]]:
    """Return the weight of every term as a component, and its columns in the units of the data.

    The weight of a term without a valid column is zero or negative.
    """
    weights, columns = terms.weights.copy(), []
    parts = zip(terms.factors, tensor.references, tensor.scales, tensor.constants, strict=True)
    for factor, reference, scale, constant in parts:
        head = factor[0]
        weights *= head / constant
        safe = np.where(head == 0, 1.0, head)
        columns.append(reference[:, None] + scale[:, None] * (constant * factor[1:] / safe))
    return weights, columns
