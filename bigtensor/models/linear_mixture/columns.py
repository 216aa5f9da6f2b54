"""Weights, means and noise of a linear mixture from the terms of its moment tensor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.gaussian.shared_covariance_m_step import (
    TotalMoments,
    within_covariance,
)
from bigtensor.decomposition.sample_tensors.gauss_newton import descended
from bigtensor.decomposition.sample_tensors.joint_least_squares import joint_sweeps
from bigtensor.decomposition.sample_tensors.terms import Contract, Terms
from bigtensor.descending_order import largest_in_place
from bigtensor.errors import IdentifiabilityError, Setting
from bigtensor.models.contract.data_shape import GroupLabels, NamedViews, view_slices
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.moment_tensors.sample_tensor import Refined, SampleTensor
from bigtensor.statistics.moments.covariances import CovariancesResult

LEAST_ROWS = 3.0
"""A component of fewer rows is an outlier."""

_SWEEPS = 3


@dataclass(frozen=True, eq=False)
class LinearTerms:
    """Mixture of the terms of a tensor, and what became of them.

    Attributes
    ----------
    components : GaussianComponents
        Components by descending weight.
    diagnostics : dict
        ``weight_sum`` and ``invalid_components``; empty for a single component.
    """

    components: GaussianComponents
    diagnostics: dict[str, Any]


def mixture_of(
    refinement: Refined,
    tensor: SampleTensor,
    moments: CovariancesResult,
    views: NamedViews,
    n_components: int,
    labels: GroupLabels,
    dtype: str,
) -> LinearTerms:
    """Return weights and means from terms with a constant feature, and the noise that is left.

    A term with the unit column u and the weight W is the column ``r + c u[1:] / u[0]`` of a
    component of weight ``W prod(u[0] / c)`` over the views, with the point r and constants c. One
    component alone has the mean of all rows.

    Raises
    ------
    IdentifiabilityError
        When no term is a component.
    """
    if n_components == 1:
        return LinearTerms(
            mixture_of_means(np.ones(1), moments.mean[None], moments, views, dtype), {}
        )
    weights, columns = columns_of(refinement.terms, tensor)
    valid = (weights * refinement.weight >= LEAST_ROWS) & np.isfinite(weights)
    if not valid.any():
        raise no_component()
    total = float(weights[valid].sum())
    means = np.concatenate(columns)[:, valid].T
    components = mixture_of_means(weights[valid] / total, means, moments, views, dtype)
    if labels:
        kept = tuple(label for label, is_valid in zip(labels, valid, strict=True) if is_valid)
        components = replace(components, names=kept)
    diagnostics = {"weight_sum": total, "invalid_components": int(np.count_nonzero(~valid))}
    return LinearTerms(components.by_weight(), diagnostics)


def components_of(
    terms: Terms,
    tensor: SampleTensor,
    moments: CovariancesResult,
    views: NamedViews,
    dtype: str,
) -> GaussianComponents:
    """Return components of the terms that are valid; one alone has the mean of the rows.

    Parameters
    ----------
    terms : Terms
        Terms of the tensor, of which some may be invalid.
    tensor : SampleTensor
        Tensor of the terms, which fixes their units.
    moments : CovariancesResult
        Of the rows that the terms were found in.
    views : tuple of (name, features)
        Names of the views and of their features.
    dtype : str
        Floating-point type of the components.
    """
    weights, columns = columns_of(terms, tensor)
    valid = (weights * moments.weight >= LEAST_ROWS) & np.isfinite(weights)
    if terms.n_terms < 2 or not valid.any():
        return mixture_of_means(np.ones(1), moments.mean[None], moments, views, dtype)
    shares, means = weights[valid] / weights[valid].sum(), np.concatenate(columns)[:, valid].T
    return mixture_of_means(shares, means, moments, views, dtype)


def mixture_of_means(
    shares: FloatArray,
    means: FloatArray,
    moments: TotalMoments | CovariancesResult,
    views: NamedViews,
    dtype: str,
) -> GaussianComponents:
    """Return components with the covariance that their means leave of the views.

    Parameters
    ----------
    shares : (k,) float64 array
        Mixing weights.
    means : (k, d) float64 array
        Means of the components.
    moments : TotalMoments or CovariancesResult
        Mean and covariance of the rows.
    views : tuple of (name, features)
        Names of the views and of their features.
    dtype : str
        Floating-point type of the components.
    """
    covariance, _ = within_covariance(
        TotalMoments(moments.mean, moments.covariance),
        shares,
        means - moments.mean,
        None,
        tuple(view_slices(views).values()),
    )
    return GaussianComponents(shares, means, covariance, views, dtype)


def valid_terms(contract: Contract, terms: Terms, tensor: SampleTensor, weight: float) -> Terms:
    """Drop terms that are no components, and solve for the others anew, until all are.

    Parameters
    ----------
    contract : callable
        Of the rows that the driver holds.
    terms : Terms
        Terms from which to drop.
    tensor : SampleTensor
        Tensor of the terms, which fixes their units.
    weight : float
        Of these rows.
    """
    while terms.n_terms > 1:
        invalid = int(np.count_nonzero(~is_valid(terms, tensor, weight)))
        if not invalid:
            break
        # the others may become valid without the worst of them
        kept = heaviest(terms, tensor, terms.n_terms - (invalid + 1) // 2)
        terms = descended(contract, joint_sweeps(contract, kept, _SWEEPS))
    return terms


def adds_up(weight_sum: float) -> bool:
    """Return True if the mixing weights of all components add up to about one."""
    return 0.8 <= weight_sum <= 1.25


def is_valid(terms: Terms, tensor: SampleTensor, weight: float) -> NDArray[np.bool_]:
    """Return which terms are components of some rows, of so much weight."""
    weights, _ = columns_of(terms, tensor)
    return np.asarray(weights * weight >= LEAST_ROWS)


def heaviest(terms: Terms, tensor: SampleTensor, n_terms: int) -> Terms:
    """Return the `n_terms` terms with the largest mixing weights, or all if there are fewer."""
    weights, _ = columns_of(terms, tensor)
    return terms.take(largest_in_place(weights, n_terms))


def no_component() -> IdentifiabilityError:
    """Return the error of a moment without a component."""
    return IdentifiabilityError(
        "no component stands out from the noise in the third moment of the three views: use "
        "fewer components (" + Setting("n_components") + "), more rows, or views that depend "
        "on each other more"
    )


def terms_of(means: FloatArray, tensor: SampleTensor, weights: FloatArray | None = None) -> Terms:
    """Return terms with the columns of components.

    Parameters
    ----------
    means : (k, d) float64 array
        Means of the components.
    tensor : SampleTensor
        Tensor of the terms, which fixes their units.
    weights : (k,) float64 array, optional
        Without them components are equally probable.
    """
    shares = np.full(len(means), 1 / len(means)) if weights is None else weights
    factors = []
    parts = zip(tensor.columns, tensor.references, tensor.scales, tensor.constants, strict=True)
    for (start, stop), reference, scale, constant in parts:
        features = (means[:, start:stop] - reference) / scale
        factors.append(np.vstack([np.full(len(means), constant), features.T]))
    return Terms.of_columns(shares, tuple(factors), tensor.orders)


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
