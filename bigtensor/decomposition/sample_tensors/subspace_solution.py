"""Terms of a moment of three views with at most as many components as features, by whitening."""

from __future__ import annotations

import numpy as np

from bigtensor.decomposition.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview_mixture import solve_multiview_mixture
from bigtensor.decomposition.sample_tensors.terms import Factors, Terms
from bigtensor.decomposition.solution import FloatArray

MOST_TERMS = 32
"""Largest number of terms whose tensor of k x k x k numbers is formed."""


def subspace_terms(rows: Factors, constants: FloatArray, n_terms: int, random_state: int) -> Terms:
    """Return the terms of the moment of rows, projected to as many directions as terms.

    The explicit tensor of the projected rows is whitened and decomposed (Song et al. 2014, sec. 3;
    Anandkumar et al. 2014, sec. 4). With few features it is right where power updates from rows
    end between the columns.

    Parameters
    ----------
    rows : tuple of three (d_m, n) float64 arrays
        Rows as columns, with the constant first.
    constants : (3,) float64 array
    n_terms : int
        At most the smallest d_m.
    random_state : int

    Raises
    ------
    IdentifiabilityError
        When the moments do not support so many terms.
    """
    bases = [_directions(rows, view, n_terms) for view in range(3)]
    projected = [basis.T @ of_view for basis, of_view in zip(bases, rows, strict=True)]
    moments = _augmented_moments(projected)
    masses = [basis[0] / constant for basis, constant in zip(bases, constants, strict=True)]
    mixture = solve_multiview_mixture(moments, n_terms, masses, random_state=random_state)
    columns = tuple(b @ of for b, of in zip(bases, mixture.embeddings, strict=True))
    return Terms.of_columns(mixture.weights, columns, (1, 1, 1))


def _directions(rows: Factors, view: int, n_terms: int) -> FloatArray:
    """Return the directions of a view that depend most on the other views, (d_m, q)."""
    others = [of_view for other, of_view in enumerate(rows) if other != view]
    pairs = np.hstack([rows[view] @ other.T for other in others]) / rows[view].shape[1]
    left, _, _ = np.linalg.svd(pairs, full_matrices=False)
    return np.asarray(left[:, : min(n_terms, len(rows[view]))])


def _augmented_moments(projected: list[FloatArray]) -> AugmentedMoments:
    """Return the moments of projected rows with a constant before them."""
    n = projected[0].shape[1]
    extended = [np.vstack([np.ones(n), of_view]) for of_view in projected]
    first, second, third = extended
    triple = np.stack([(first * line) @ second.T for line in third], axis=-1) / n
    seconds = tuple(of_view @ of_view.T / n for of_view in extended)
    return AugmentedMoments(triple, (seconds[0], seconds[1], seconds[2]), n)
