"""Joint alternating least squares of all columns of a factor, from contractions of the tensor."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.requests import Requests, answered
from bigtensor.decomposition.sample_tensors.terms import (
    Contract,
    Factors,
    Terms,
    grams,
    product_without,
    unit_columns,
)

_RIDGE = 1e-6
"""Of the mean diagonal entry of a matrix of inner products."""


def joint_sweeps(contract: Contract, terms: Terms, sweeps: int) -> Terms:
    """Solve for every factor with the others fixed, all from one contraction a sweep.

    Parameters
    ----------
    contract : callable
        Contraction of the tensor with columns; see `terms.Contract`.
    terms : Terms
        Terms that the first sweep begins with.
    sweeps : int
        Number of sweeps.
    """
    return answered(requested_sweeps(terms, sweeps), contract)


def requested_sweeps(terms: Terms, sweeps: int) -> Requests[Terms]:
    """Ask for the contractions of `joint_sweeps`."""
    for _ in range(sweeps):
        terms = least_squares_terms(terms, (yield terms.factors))
    return terms


def least_squares_terms(terms: Terms, moments: Factors) -> Terms:
    """Return the terms whose factors each solve a least squares problem with the others as given.

    Parameters
    ----------
    terms : Terms
        Terms whose factors are updated.
    moments : tuple of (d_m, k) arrays
        Contraction of the tensor with the columns of the terms.
    """
    products = grams(terms.factors)
    solved = tuple(
        _solve(product_without(products, terms.orders, mode), moment.T).T
        for mode, moment in enumerate(moments)
    )
    lengths = [np.linalg.norm(factor, axis=0) for factor in solved]
    weights = np.asarray(np.mean(lengths, axis=0))
    if any(order % 2 for order in terms.orders):
        # each solution carries the signs of the others' columns, so that their product is positive
        return Terms(weights, unit_columns(solved), terms.orders)
    inner = sum((s * f).sum(axis=0) for s, f in zip(solved, terms.factors, strict=True))
    signs = np.where(np.asarray(inner) < 0, -1.0, 1.0)
    return Terms(weights * signs, tuple(f * signs for f in unit_columns(solved)), terms.orders)


def least_squares_weights(terms: Terms, moments: Factors) -> FloatArray:
    """Return the weights that leave the least of the tensor, with all columns fixed, (k,).

    Parameters
    ----------
    terms : Terms
        Terms whose columns are kept.
    moments : tuple of (d_m, k) arrays
        Contraction of the tensor with the columns of the terms.
    """
    products = grams(terms.factors)
    matrix = product_without(products, terms.orders, 0) * products[0]
    return _solve(matrix, (terms.factors[0] * moments[0]).sum(axis=0))


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive semidefinite system with a small ridge."""
    ridge = _RIDGE * float(np.trace(matrix)) / len(matrix)
    return np.asarray(cho_solve(cho_factor(matrix + ridge * np.eye(len(matrix))), right))
