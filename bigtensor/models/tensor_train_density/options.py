"""Options of the tensor trains that a density is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bigtensor.models.contract.declarations import Options


@dataclass(frozen=True, kw_only=True, repr=False)
class TensorTrainOptions(Options):
    """Number of tensor trains of a `TensorTrainDensity`, and the least width of their bumps.

    Parameters
    ----------
    n_trains : int or "auto", default "auto"
        Number of tensor trains from different initialisations, whose average is the density, by
        default 3 up to 20,000 rows and 1 beyond.
    least_width : float or "auto", default "auto"
        Smallest standard deviation of the bumps that densities are sums of, in standard deviations
        of the variables, by default limited by ties in the data alone. Bumps are then not narrower
        than the distance of neighbouring values.

    Examples
    --------
    >>> from bigtensor import TensorTrainDensity, TensorTrainOptions
    >>> TensorTrainDensity(3, trains=TensorTrainOptions(n_trains=1))
    TensorTrainDensity(rank=3, trains=TensorTrainOptions(n_trains=1))
    """

    parameter: ClassVar[str] = "trains"

    n_trains: int | str = "auto"
    least_width: float | str = "auto"
