"""Tensor train from moments of what lies on both sides of every cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.tensor_train.kernel_svd import SignedTrain

Floats = NDArray[np.float64]


def sketched_train(
    pairs: Sequence[tuple[Floats, Floats]],
    triples: Sequence[Floats],
    rank: int,
    multiple: float = 1.0,
) -> SignedTrain:
    """Return a train whose cuts have the singular values that stand out from noise.

    With the singular value decomposition ``U S V'`` of the moments at every cut, a core is
    ``S^-1 U' B V`` of the moments around its variable. It is exact where the rank suffices. A
    singular value counts if it is larger than the difference of the halves of the rows, without
    which a train of too many noisy directions is worse than independence.

    Parameters
    ----------
    pairs : sequence of two (l, r) float64 arrays
        Of every cut: moments of both halves of the rows, divided by the number of all rows.
    triples : sequence of (l, p, r) float64 arrays
        Moments around every variable, divided by the number of all rows.
    rank : int
        At most, of every cut.
    multiple : float, default 1.0
        Of the difference of the halves that a singular value has to exceed.
    """
    lefts: list[Floats] = [np.eye(1)]
    rights: list[Floats] = []
    for first, second in pairs:
        u, values, vt = np.linalg.svd(first + second, full_matrices=False)
        noise = multiple * np.linalg.norm(first - second, 2)
        kept = max(1, min(rank, int(np.count_nonzero(values > noise))))
        rights.append(vt[:kept].T)
        lefts.append(u[:, :kept] / values[:kept])
    rights.append(np.eye(1))
    cores = [
        np.einsum("lz,lpr,rw->zpw", left, moments, right, optimize=True)
        for left, moments, right in zip(lefts, triples, rights, strict=True)
    ]
    return SignedTrain(tuple(cores))
