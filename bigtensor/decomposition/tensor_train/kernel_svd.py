"""Low-rank kernel embedding of a density by nested singular value decompositions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray


@dataclass(frozen=True, eq=False)
class SignedTrain:
    """Cores of a tensor train of any sign, in the order of the variables.

    Attributes
    ----------
    cores : tuple of (r, p, r') float64 arrays
        A function of rows is the product over variables of ``sum_a G[:, a, :] phi_a(x)``.
    """

    cores: tuple[FloatArray, ...]

    def values(self, functions: Sequence[FloatArray]) -> FloatArray:
        """Return the function of rows, (n,).

        Parameters
        ----------
        functions : sequence of (n, p) float64 arrays
            Basis functions of every variable; their integrals sum a variable out.
        """
        state = np.ones((len(functions[0]), 1))
        for core, at_rows in zip(self.cores, functions, strict=True):
            state = np.einsum("nz,zaw,na->nw", state, core, at_rows, optimize=True)
        return state[:, 0]

    def mass(self, masses: Sequence[FloatArray]) -> float:
        """Return the integral over all variables.

        Parameters
        ----------
        masses : sequence of (p,) float64 arrays
            Integrals of the basis functions.
        """
        return float(self.values([of_variable[None] for of_variable in masses])[0])


def nested_kernel_svd(
    functions: Sequence[FloatArray], rank: int, *, keeps_mass: bool = False
) -> SignedTrain:
    """Return the low-rank approximation of a kernel density estimate.

    At every split of the variables the embedding of the earlier ones is projected on its leading
    directions, given the kernel of the later ones (Song and Dai 2013, Algorithm 3). Two of its
    lines are corrected: the features of a step are ``theta (K o Gamma)`` with the elementwise
    product, and 1/n enters once, in the last core.

    Parameters
    ----------
    functions : sequence of (n, p_j) float64 arrays
        Basis functions of every variable at the rows, whose inner products are the kernel.
    rank : int
        At most, of every split.
    keeps_mass : bool, default False
        Spend one rank on the mean of the features, so that the integral stays one.

    Notes
    -----
    Costs of order ``n^2 (d + r p)`` and memory of ``n^2``: for a few thousand rows.
    """
    n = len(functions[0])
    # kernel of all variables after each one
    laters = [np.ones((n, n))]
    for at_rows in functions[:0:-1]:
        laters.append(laters[-1] * (at_rows @ at_rows.T))
    features = np.ones((1, n))
    cores = []
    for at_rows, later in zip(functions[:-1], laters[:0:-1], strict=True):
        both = (features[:, None, :] * at_rows.T[None]).reshape(-1, n)
        directions = _leading(both, later, rank, keeps_mass=keeps_mass)
        cores.append(directions.reshape(len(features), at_rows.shape[1], -1))
        features = directions.T @ both
    cores.append((features @ functions[-1] / n)[:, :, None])
    return SignedTrain(tuple(cores))


def _leading(features: FloatArray, later: FloatArray, rank: int, *, keeps_mass: bool) -> FloatArray:
    """Return orthonormal directions of features that matter most to the later variables.

    ``later`` is the kernel of the later variables, (n, n). With ``keeps_mass`` the first direction
    is that of the mean feature.
    """
    moment = features @ later @ features.T / features.shape[1] ** 2
    rank = min(rank, len(moment))
    if not keeps_mass:
        return np.asarray(np.linalg.eigh(moment)[1][:, ::-1][:, :rank])
    mean = features.mean(axis=1)
    mean /= np.linalg.norm(mean)
    rest = np.eye(len(mean)) - np.outer(mean, mean)
    others = np.linalg.eigh(rest @ moment @ rest)[1][:, ::-1][:, : rank - 1]
    return np.asarray(np.linalg.qr(np.column_stack([mean, others]))[0])
