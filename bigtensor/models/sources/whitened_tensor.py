"""Fourth moment of rows along principal axes, from sums over the rows as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.terms import Factors
from bigtensor.models.moment_tensors.sample_tensor import SampleTensor
from bigtensor.models.sources.whitened_sample import ORDERS
from bigtensor.statistics.moments.tensor_contractions import Contractions, TensorContractions
from bigtensor.statistics.within_reach import Reach


@dataclass(frozen=True, eq=False)
class WhitenedTensor(SampleTensor):
    """Fourth moment along principal axes.

    The contraction of the moment of whitened rows ``(x - m) @ W`` with columns b is W.T times the
    contraction of the moment of the rows with ``W @ b``, so that no row is whitened.

    Attributes
    ----------
    whitening : (d, q) float64 array
        Rows along it have the identity as covariance.
    """

    whitening: FloatArray

    @classmethod
    def about(
        cls, mean: FloatArray, whitening: FloatArray, counted: Reach, dtype: str
    ) -> WhitenedTensor:
        """Return the tensor about a mean.

        Parameters
        ----------
        mean : (d,) array
            Point that is subtracted from the rows.
        whitening : (d, q) array
            Rows along it have the identity as covariance.
        counted : Reach
            Largest distances of the rows that count.
        dtype : str
            Of products.
        """
        d = len(mean)
        return cls(
            columns=((0, d),),
            orders=ORDERS,
            references=(mean,),
            constants=np.zeros(1),
            within=counted,
            dtype=dtype,
            scales=(np.ones(d),),
            whitening=whitening,
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of axes."""
        return (self.whitening.shape[1],)

    def statistic(self, factors: Factors) -> TensorContractions:
        """Return the sums over rows that tell the contraction with columns along the axes."""
        (columns,) = factors
        return super().statistic((self.whitening @ columns,))

    def moments(self, sums: Contractions) -> Factors:
        """Return the contraction along the axes, from its sums."""
        (moment,) = super().moments(sums)
        return (self.whitening.T @ moment,)
