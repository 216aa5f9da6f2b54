"""Subspaces spanned by the component means, from cross-covariances between groups of views."""

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.errors import ParameterError, Setting

GROUPS = (0, 1, 2)
"""Numbers of the three groups of views."""


class Subspaces(NamedTuple):
    """Orthonormal bases of the component means of three groups.

    Attributes
    ----------
    bases : tuple of three ndarrays of shape (r_a, min(q, r_a))
        Orthonormal columns, most informative direction first.
    singular_values : tuple of three ndarrays
        All singular values of the stacked cross-covariances of each group, descending; the gap
        after entry k tells how clearly k components stand out.
    """

    bases: tuple[FloatArray, FloatArray, FloatArray]
    singular_values: tuple[FloatArray, FloatArray, FloatArray]


def cross_covariance_subspaces(
    covariances: Mapping[tuple[int, int], FloatArray], n_directions: int
) -> Subspaces:
    """Leading left singular vectors of the stacked cross-covariances of each group.

    With three conditionally independent groups, the cross moments of group a with b and with c
    have the span of a's component means as column space, whereas the leading directions of a
    alone also hold the variation within components (Song et al. 2014, sec. 3, work with the
    latter; at narrow bandwidths it loses the components).

    Parameters
    ----------
    covariances : mapping of (a, b) to ndarray of shape (r_a, r_b)
        Cross moments between groups 0, 1 and 2, centred or not. One of (a, b) and (b, a) is
        enough for each of the three pairs.
    n_directions : int
        Number of directions q wanted in each group. A group of fewer than q features gives a
        basis of all of its space.

    Raises
    ------
    ParameterError
        If `n_directions` is below one, a pair is missing, or the shapes do not fit together.
    """
    _check_directions(n_directions)
    decompositions = [_decompose_group(covariances, group) for group in GROUPS]
    (u0, s0), (u1, s1), (u2, s2) = decompositions
    bases = (u0[:, :n_directions], u1[:, :n_directions], u2[:, :n_directions])
    return Subspaces(bases, (s0, s1, s2))


def symmetric_subspace(
    covariances: Mapping[tuple[int, int], FloatArray], n_directions: int
) -> Subspaces:
    """Leading eigenvectors of the mean cross-covariance of views that share their components.

    The mean of the six ordered pairs is ``sum_h pi_h m_h m_h'`` in the population, with
    nonnegative eigenvalues: the algebraically largest are taken, for a negative one is noise
    however large it is. All pairs together have less noise than the one pair of Song et al.
    (2014), algorithm 1.

    Parameters
    ----------
    covariances : mapping of (a, b) to ndarray of shape (r, r)
        As for :func:`cross_covariance_subspaces`, in the same features for all three groups.
    n_directions : int
        Number of directions q wanted, of at most r.

    Returns
    -------
    Subspaces
        Three times the same. The singular values are the eigenvalues of the directions in the
        basis, negative ones as zero, and after them the magnitudes of all others.

    Raises
    ------
    ParameterError
        If `n_directions` is below one, a pair is missing, or the groups differ in their number
        of features.
    """
    _check_directions(n_directions)
    pairs = [_pair(covariances, a, b) for a, b in combinations(GROUPS, 2)]
    sizes = {size for pair in pairs for size in pair.shape}
    if len(sizes) != 1:
        raise ParameterError(
            "views that share their components need one map to features for all, got cross "
            f"moments of shapes {[pair.shape for pair in pairs]}"
        )
    mean = sum(pair + pair.T for pair in pairs) / 6
    values, vectors = np.linalg.eigh(mean)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept, left = np.maximum(values[:n_directions], 0.0), np.abs(values[n_directions:])
    spectrum = np.concatenate([kept, np.sort(left)[::-1]])
    basis = np.ascontiguousarray(vectors[:, :n_directions])
    return Subspaces((basis, basis, basis), (spectrum, spectrum, spectrum))


def _check_directions(n_directions: int) -> None:
    """Raise unless at least one direction is wanted."""
    if n_directions < 1:
        raise ParameterError(Setting("n_directions") + f" must be at least 1, got {n_directions}")


def _decompose_group(
    covariances: Mapping[tuple[int, int], FloatArray], group: int
) -> tuple[FloatArray, FloatArray]:
    """Left singular vectors and singular values of one group's stacked cross moments."""
    first, second = (_pair(covariances, group, other) for other in GROUPS if other != group)
    if first.shape[0] != second.shape[0]:
        raise ParameterError(
            f"the cross moments of group {group} disagree on its number of features: "
            f"{first.shape[0]} and {second.shape[0]}"
        )
    vectors, values, _ = np.linalg.svd(np.hstack([first, second]), full_matrices=False)
    return vectors, values


def _pair(covariances: Mapping[tuple[int, int], FloatArray], a: int, b: int) -> FloatArray:
    """Cross moment of groups a and b, by transposition if it is held as (b, a)."""
    if (a, b) in covariances:
        return covariances[a, b]
    if (b, a) in covariances:
        return covariances[b, a].T
    raise ParameterError(
        f"the cross moment of groups {a} and {b} is missing: three groups have the pairs "
        f"(0, 1), (0, 2) and (1, 2), got {sorted(covariances)}"
    )
