"""Moments of three groups of views, each with a constant feature in front."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.multiview.subspaces import GROUPS
from bigtensor.decomposition.multiview.symmetrisation import multiply_modes, symmetrise
from bigtensor.errors import DataError, ParameterError


@dataclass(frozen=True)
class AugmentedMoments:
    """Means over rows of products of the augmented features ``[1, y_g]`` of three groups of views.

    Attributes
    ----------
    triple : ndarray of shape (q_0 + 1, q_1 + 1, q_2 + 1)
        Mean of the outer products of the three augmented features. It holds the first moments
        (``triple[1:, 0, 0]``, ...) and the pair moments (``triple[1:, 1:, 0]``, ...) as well.
    seconds : tuple of three ndarrays of shape (q_g + 1, q_g + 1)
        Mean of the outer product of each group's augmented features with itself.
    count : float
        Number of rows behind the means, or the sum of their weights.

    Raises
    ------
    ParameterError
        If the shapes do not fit together.
    DataError
        If a moment is not finite, or there are no rows.
    """

    triple: FloatArray
    seconds: tuple[FloatArray, FloatArray, FloatArray]
    count: float

    def __post_init__(self) -> None:
        expected = [(size, size) for size in self.triple.shape]
        received = [second.shape for second in self.seconds]
        if self.triple.ndim != 3 or min(self.triple.shape) < 2 or expected != received:
            raise ParameterError(
                f"a triple moment of three groups of at least one feature and second moments of "
                f"shapes {expected} are needed, got shapes {self.triple.shape} and {received}"
            )
        if not self.count > 0:
            raise DataError(f"moments of at least one row are needed, got {self.count} rows")
        if not all(np.isfinite(moment).all() for moment in (self.triple, *self.seconds)):
            raise DataError(
                "the moments hold values that are not finite: look for missing, infinite or "
                "huge values in the data"
            )

    def first(self, group: int) -> FloatArray:
        """Mean features of a group, shape (q_g,)."""
        return np.moveaxis(self.triple, group, 0)[1:, 0, 0]

    def pairs(self) -> dict[tuple[int, int], FloatArray]:
        """Cross moments of all six ordered pairs of groups, shapes (q_a, q_b)."""
        return {
            (a, b): np.moveaxis(self.triple, (a, b), (0, 1))[1:, 1:, 0]
            for a in GROUPS
            for b in GROUPS
            if a != b
        }

    def symmetrised(self) -> "AugmentedMoments":
        """Moments of views that share their components: means over all orders of the groups.

        Returns
        -------
        AugmentedMoments
            Its pairs are the mean of the six ordered pairs.

        Raises
        ------
        ParameterError
            If the groups have different numbers of features.
        """
        if len(set(self.triple.shape)) != 1:
            raise ParameterError(
                "views that share their components need one map to features for all, got groups "
                f"of {', '.join(str(size - 1) for size in self.triple.shape)} features"
            )
        second = (self.seconds[0] + self.seconds[1] + self.seconds[2]) / 3
        return AugmentedMoments(symmetrise(self.triple), (second, second, second), self.count)

    def feature_scales(self) -> tuple[float, float, float]:
        """Root of the largest second moment of every group's features; one where all are zero.

        In these units features are as large as the constant beside them, so that cuts relative to
        the largest second moment treat features of any size alike.
        """
        scale_0, scale_1, scale_2 = (
            float(np.sqrt(max(np.linalg.eigvalsh(second[1:, 1:])[-1], 0.0))) or 1.0
            for second in self.seconds
        )
        return scale_0, scale_1, scale_2

    def scaled(self, scales: Sequence[float]) -> "AugmentedMoments":
        """Moments of the features ``y_g / scale_g``."""
        return self.project(
            [
                np.eye(len(second) - 1) / scale
                for second, scale in zip(self.seconds, scales, strict=True)
            ]
        )

    def project(self, bases: Sequence[FloatArray]) -> "AugmentedMoments":
        """Moments of the features ``E_g' y_g`` for bases E_g of shapes (q_g, k)."""
        extended = [_extend(basis) for basis in bases]
        second_0, second_1, second_2 = (
            basis.T @ second @ basis for basis, second in zip(extended, self.seconds, strict=True)
        )
        return AugmentedMoments(
            multiply_modes(self.triple, extended[0], extended[1], extended[2]),
            (second_0, second_1, second_2),
            self.count,
        )


def _extend(basis: FloatArray) -> FloatArray:
    """``[1, 0; 0, E]``: a basis for features with a leading constant."""
    rows, columns = basis.shape
    extended = np.zeros((rows + 1, columns + 1))
    extended[0, 0] = 1.0
    extended[1:, 1:] = basis
    return extended
