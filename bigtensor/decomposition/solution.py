"""Solutions of the small problems of a fit: estimates, a named outcome and diagnostics."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.descending_order import descending_order

Diagnostics: TypeAlias = dict[str, Any]
"""Names of figures to floats, integers, strings, ``None``, or lists and dicts of these (JSON)."""


class Outcome(Enum):
    """Outcome of a decomposition. Every outcome but ``CONVERGED`` is a reason to warn."""

    CONVERGED = "converged"
    SMALL_SPECTRAL_GAP = "small spectral gap"
    RANK_DEFICIENT = "rank deficient"
    NOT_CONVERGED = "not converged"

    @property
    def advice(self) -> str:
        """Advice to the user; empty after convergence."""
        return _ADVICE[self]


_ADVICE = {
    Outcome.CONVERGED: "",
    Outcome.SMALL_SPECTRAL_GAP: (
        "the last component asked for hardly stands out from the directions left out: compare "
        "with fewer (and with more) components, or use more rows"
    ),
    Outcome.RANK_DEFICIENT: (
        "the pair moments have fewer clearly positive eigenvalues than components: use fewer "
        "components, more rows, or views that tell the components apart better"
    ),
    Outcome.NOT_CONVERGED: (
        "an iteration used up its steps before it settled: take the estimates as an "
        "initialisation of refinement, use more rows, or use fewer components"
    ),
}


class OrthogonalDecomposition(NamedTuple):
    r"""A symmetric tensor as :math:`\sum_h \lambda_h\, v_h \otimes v_h \otimes v_h`.

    Attributes
    ----------
    eigenvalues : ndarray of shape (k,)
        Nonnegative, in descending order.
    vectors : ndarray of shape (k, k)
        Column h is the unit vector that belongs to eigenvalue h.
    diagnostics : dict
        ``converged`` (bool), ``iterations`` (int), ``negative_eigenvalues`` (int, before the
        signs were flipped) and ``residual`` (relative Frobenius norm of what is not explained).
    """

    eigenvalues: FloatArray
    vectors: FloatArray
    diagnostics: Diagnostics


@dataclass(frozen=True)
class MultiviewMixture:
    """Weights and conditional mean features of a three-group mixture.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        Positive, descending, summing to one.
    embeddings : tuple of three ndarrays of shape (q_g, k)
        Column h of entry g is the mean feature vector of group g in component h; the order of the
        components is that of `weights` in all three.
    outcome : Outcome
        The gravest concern, or ``Outcome.CONVERGED``.
    diagnostics : dict
        Every figure that a decision rested on; see
        :func:`bigtensor.decomposition.multiview.multiview_mixture.solve_multiview_mixture`.
    """

    weights: FloatArray
    embeddings: tuple[FloatArray, FloatArray, FloatArray]
    outcome: Outcome
    diagnostics: Diagnostics

    def scaled(self, scales: tuple[float, float, float]) -> "MultiviewMixture":
        """Mixture of the features of group g times ``scales[g]``; diagnostics stay as they are."""
        embedding_0, embedding_1, embedding_2 = (
            mean * scale for mean, scale in zip(self.embeddings, scales, strict=True)
        )
        return replace(self, embeddings=(embedding_0, embedding_1, embedding_2))


def ordered_decomposition(
    tensor: FloatArray,
    eigenvalues: FloatArray,
    vectors: FloatArray,
    *,
    iterations: int,
    converged: bool,
) -> OrthogonalDecomposition:
    """Make eigenvalues nonnegative and descending, and record how the iteration ended.

    The order of the tensor is odd, so (-lambda, v) and (lambda, -v) are the same term.

    Parameters
    ----------
    tensor : ndarray of shape (k, k, k)
        The decomposed tensor.
    eigenvalues : ndarray of shape (k,)
        Of either sign.
    vectors : ndarray of shape (k, k)
        Unit vectors as columns.
    iterations : int
        Steps or sweeps taken.
    converged : bool
        Whether the iteration settled.
    """
    order = descending_order(np.abs(eigenvalues))
    signs = np.where(eigenvalues < 0, -1.0, 1.0)
    ordered = np.abs(eigenvalues)[order]
    columns = (vectors * signs)[:, order]
    model = np.einsum("h,ih,jh,kh->ijk", ordered, columns, columns, columns, optimize=True)
    scale = float(np.linalg.norm(tensor))
    diagnostics: Diagnostics = {
        "converged": converged,
        "iterations": iterations,
        "negative_eigenvalues": int(np.count_nonzero(eigenvalues < 0)),
        "residual": float(np.linalg.norm(tensor - model)) / scale if scale > 0 else 0.0,
    }
    return OrthogonalDecomposition(ordered, columns, diagnostics)
