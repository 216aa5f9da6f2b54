"""Terms of a moment of three views with at most as many components as features, by whitening."""

from __future__ import annotations

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview.multiview_mixture import solve_multiview_mixture
from bigtensor.decomposition.multiview.subspaces import cross_covariance_subspaces
from bigtensor.decomposition.sample_tensors.terms import Factors, Terms

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
        Constant feature of every view.
    n_terms : int
        At most the smallest d_m.
    random_state : int
        Seed of the decomposition.

    Raises
    ------
    IdentifiabilityError
        When the moments do not support so many terms.
    """
    views = range(3)
    pairs = {(a, b): rows[a] @ rows[b].T / rows[a].shape[1] for a in views for b in views if a < b}
    bases = cross_covariance_subspaces(pairs, n_terms).bases
    projected = [basis.T @ of_view for basis, of_view in zip(bases, rows, strict=True)]
    return whitened_terms(_augmented_moments(projected), bases, constants, n_terms, random_state)


def whitened_terms(
    moments: AugmentedMoments,
    bases: Factors,
    constants: FloatArray,
    n_terms: int,
    random_state: int,
) -> Terms:
    """Return the terms of moments of rows in the coordinates of some bases.

    Parameters
    ----------
    moments : AugmentedMoments
        Of the projected rows with a one before them.
    bases : tuple of three (d_m, q) float64 arrays
        Orthonormal columns, of rows with the constant first.
    constants, n_terms, random_state
        As for `subspace_terms`.

    Raises
    ------
    IdentifiabilityError
        When the moments do not support so many terms.
    """
    masses = [basis[0] / constant for basis, constant in zip(bases, constants, strict=True)]
    mixture = solve_multiview_mixture(moments, n_terms, masses, random_state=random_state)
    columns = tuple(b @ embedding for b, embedding in zip(bases, mixture.embeddings, strict=True))
    return Terms.of_columns(mixture.weights, columns, (1, 1, 1))


def _augmented_moments(projected: list[FloatArray]) -> AugmentedMoments:
    """Return the moments of projected rows with a constant before them."""
    n = projected[0].shape[1]
    extended = [np.vstack([np.ones(n), of_view]) for of_view in projected]
    first, second, third = extended
    triple = np.stack([(first * line) @ second.T for line in third], axis=-1) / n
    seconds = tuple(of_view @ of_view.T / n for of_view in extended)
    return AugmentedMoments(triple, (seconds[0], seconds[1], seconds[2]), n)
