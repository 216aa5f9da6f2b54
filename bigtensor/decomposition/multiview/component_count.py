"""The number of components, from how far groups of views depend on each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.errors import DataError, ParameterError

RATIO = 1.5
"""A singular value counts when it exceeds this multiple of what independence gives."""

PERMUTATIONS = 5
"""Random orders of the rows whose largest singular value stands for independence."""

# Singular values below this part of the scale of the features are rounding errors, which have no
# null of their own: views of few categories run out of directions.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class ComponentCount:
    """Number of components by the dependence between two sets of features.

    Attributes
    ----------
    count : int
        One more than the number of leading singular values that stand out.
    singular_values : ndarray of shape (min(r_1, r_2),)
        Of the centred cross-covariance, descending.
    null : ndarray of shape (m,)
        For each of the first m singular values the largest one that independent features give
        once the directions before it are taken out.
    ratio : float
        By which a singular value has to exceed its null.
    """

    count: int
    singular_values: FloatArray
    null: FloatArray
    ratio: float


@dataclass(frozen=True)
class GroupedComponentCount:
    """Number of components by the dependence of every view group on the others.

    Attributes
    ----------
    count : int
        The largest of the counts of the groups.
    by_group : tuple of ComponentCount
        In the order of the groups.
    """

    count: int
    by_group: tuple[ComponentCount, ...]


def permuted_null_count(
    features_1: FloatArray,
    features_2: FloatArray,
    *,
    ratio: float = RATIO,
    permutations: int = PERMUTATIONS,
    most: int = 20,
    random_state: int = 0,
    originals: IndexArray | None = None,
) -> ComponentCount:
    """Count the singular values that exceed the singular values of permuted rows.

    Views that are independent given k components have a centred cross-covariance of rank k - 1.
    Permuting the rows of one set leaves noise alone. The singular values are tested one after the
    other, each against the noise that is left without the directions found before it: those carry
    most of the variance of the features, and noise along them would hide weaker components
    (parallel analysis with deflation: Buja and Eyuboglu 1992; Dobriban and Owen 2019, sec. 3).

    Parameters
    ----------
    features_1 : ndarray of shape (n, r_1)
        Orthonormal kernel features or indicators, as `features_2`.
    features_2 : ndarray of shape (n, r_2)
        Orthonormal kernel features of the same rows, or indicators of categories.
    ratio : float
        At least 1; see `RATIO`.
    permutations : int
        Number of permutations.
    most : int
        Largest count that is looked for.
    random_state : int
        Seed of the permutations.
    originals : (n,) integer array, optional
        Number of every row among the original rows, of which others are copies. Copies stay
        together in permutations, because they tell no more than one of them does.

    Raises
    ------
    ParameterError
        If a number is out of range, or the features do not have the same rows.
    DataError
        If there are fewer than two rows, or features are not finite.
    """
    _check(features_1, features_2, ratio, permutations, most)
    rows = len(features_1)
    first, second = (part - part.mean(axis=0) for part in (features_1, features_2))
    left, values, right = np.linalg.svd(first.T @ second / rows, full_matrices=False)
    random = np.random.default_rng(random_state)
    originals = np.arange(rows) if originals is None else originals
    place = np.unique(originals, return_index=True)[1]
    noise = np.stack(
        [first.T @ second[random.permutation(place)[originals]] / rows for _ in range(permutations)]
    )
    floor = _ROUNDING * float(np.linalg.norm(first) * np.linalg.norm(second)) / rows
    null = np.empty(min(max(most - 1, 1), len(values)))
    for j in range(len(null)):
        largest = np.linalg.eigvalsh(noise @ noise.transpose(0, 2, 1))[:, -1].max()
        null[j] = max(float(np.sqrt(max(largest, 0.0))), floor)
        noise -= left[:, j, None] * (left[:, j] @ noise)[:, None, :]
        noise -= (noise @ right[j])[:, :, None] * right[j]
    stands_out = values[: min(most - 1, len(null))] > ratio * null[: most - 1]
    return ComponentCount(1 + int(np.cumprod(stands_out).sum()), values, null, ratio)


def count_components(
    groups: Sequence[FloatArray],
    *,
    permutations: int = PERMUTATIONS,
    most: int = 20,
    random_state: int = 0,
    originals: IndexArray | None = None,
) -> GroupedComponentCount:
    """Count the components that groups of views show, each group against all the others.

    Components that overlap in one group are lost to its own test only, so the largest count is
    taken.

    Parameters
    ----------
    groups : sequence of at least two ndarrays of shape (n, r_g)
        Features of the same rows; see :func:`permuted_null_count`.
    permutations, most, random_state, originals
        As for :func:`permuted_null_count`.

    Raises
    ------
    ParameterError
        If there are fewer than two groups, or as for :func:`permuted_null_count`.
    DataError
        As for :func:`permuted_null_count`.
    """
    if len(groups) < 2:
        raise ParameterError(
            f"dependence is between at least two groups of views, got {len(groups)}"
        )
    seeds = np.random.SeedSequence(random_state).generate_state(len(groups))
    counts = []
    for group, (features, seed) in enumerate(zip(groups, seeds, strict=True)):
        others = [part for place, part in enumerate(groups) if place != group]
        if {len(part) for part in others} != {len(features)}:
            raise ParameterError(
                "features of the same rows are needed, got groups of "
                f"{', '.join(str(len(part)) for part in groups)} rows"
            )
        counts.append(
            permuted_null_count(
                features,
                np.hstack(others),
                permutations=permutations,
                most=most,
                random_state=int(seed),
                originals=originals,
            )
        )
    return GroupedComponentCount(max(one.count for one in counts), tuple(counts))


def _check(
    features_1: FloatArray, features_2: FloatArray, ratio: float, permutations: int, most: int
) -> None:
    """Raise unless the arguments fit together."""
    shapes = features_1.shape, features_2.shape
    if features_1.ndim != 2 or features_2.ndim != 2 or len(features_1) != len(features_2):
        raise ParameterError(
            f"two matrices of features of the same rows are needed, got shapes {shapes[0]} and "
            f"{shapes[1]}"
        )
    if not (ratio >= 1 and permutations >= 1 and most >= 1):
        raise ParameterError(
            "ratio, permutations and most must be at least 1, got "
            f"{ratio:g}, {permutations} and {most}"
        )
    if len(features_1) < 2 or not all(np.isfinite(part).all() for part in (features_1, features_2)):
        raise DataError(
            f"finite features of at least two rows are needed to count components, got shapes "
            f"{shapes[0]} and {shapes[1]}; look for missing or infinite values"
        )
