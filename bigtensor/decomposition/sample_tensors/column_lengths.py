"""Lengths of columns and mixing weights from the pair moments of three views."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.terms import Terms


def lengths_from_pairs(terms: Terms, second: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
    r"""Return weights and columns of a mixture of three views from unit columns.

    The second moment of views u and v is :math:`\sum_j w_j a_{uj} a_{vj}^T`. With unit columns its
    coefficients are found by least squares, and with the weights of the third moment the length of
    every column and its sign follow.

    Parameters
    ----------
    terms : Terms
        Of the third moment.
    second : (d, d) float64 array
        Second moment of all views side by side. Only its parts between views count.

    Returns
    -------
    weights : (k,) float64 array
        Positive; terms without a valid length are left out.
    columns : list of three (d_v, k) float64 arrays
        Columns with their lengths, one array a view.
    """
    stops = np.cumsum([len(factor) for factor in terms.factors]).tolist()
    parts = [slice(b - len(f), b) for f, b in zip(terms.factors, stops, strict=True)]
    coefficients = np.empty((3, terms.n_terms))
    for u, v in combinations(range(3), 2):
        first, other = terms.factors[u], terms.factors[v]
        values = np.einsum("ij,ij->j", first, second[parts[u], parts[v]] @ other)
        gram = (first.T @ first) * (other.T @ other)
        # in the place of the view that is left out, whose length it tells
        coefficients[3 - u - v] = np.linalg.lstsq(gram, values, rcond=None)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = terms.weights / coefficients
        weights = terms.weights / lengths.prod(axis=0)
    valid = np.isfinite(weights) & np.isfinite(lengths).all(axis=0) & (weights > 0)
    columns = [(f * length)[:, valid] for f, length in zip(terms.factors, lengths, strict=True)]
    return weights[valid], columns
