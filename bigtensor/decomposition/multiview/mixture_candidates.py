"""Estimates of a three-group mixture from k projected features, raw and polished."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.joint_diagonalisation import joint_diagonalisation
from bigtensor.decomposition.multiview.alternating_least_squares import (
    alternating_least_squares,
    residual_norm,
)
from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview.subspaces import GROUPS
from bigtensor.decomposition.multiview.symmetrisation import multiply_modes, symmetrise_on_target
from bigtensor.decomposition.solution import Diagnostics, OrthogonalDecomposition
from bigtensor.decomposition.tensor_power import tensor_power
from bigtensor.decomposition.whitening import SquareRoots, square_roots, whiten

Method: TypeAlias = Literal["jacobi", "power"]

EIGENVALUE_FLOOR = 1e-3
"""Smallest tensor eigenvalue; its inverse square is a weight."""

SHARED = "shared components"
"""Name, in place of a target group, of candidates with one set of embeddings."""


@dataclass(frozen=True)
class Candidate:
    """One estimate of the mixture in projected coordinates, before mass and order are settled.

    Attributes
    ----------
    name : str
        Target group and kind, such as ``"group 2, raw"``.
    weights : ndarray of shape (k,)
        Not normalised.
    embeddings : tuple of three ndarrays of shape (k, k)
        Mean features of the groups, components as columns.
    residual : float
        Relative norm of what the candidate leaves of the whitened augmented triple moment.
    diagnostics : dict
        Numbers of the decomposition.
    """

    name: str
    weights: FloatArray
    embeddings: tuple[FloatArray, FloatArray, FloatArray]
    residual: float
    diagnostics: Diagnostics

    @property
    def is_finite(self) -> bool:
        """True if all numbers of the candidate are finite."""
        arrays = (self.weights, self.residual, *self.embeddings)
        return all(bool(np.isfinite(array).all()) for array in arrays)


class WhitenedTriple:
    """The augmented triple moment in coordinates where every group's second moment is one.

    Parameters
    ----------
    moments : AugmentedMoments
        Moments of three groups of features.
    """

    def __init__(self, moments: AugmentedMoments) -> None:
        root_0, root_1, root_2 = (square_roots(second) for second in moments.seconds)
        self.roots: tuple[SquareRoots, SquareRoots, SquareRoots] = (root_0, root_1, root_2)
        self.tensor = multiply_modes(moments.triple, root_0.inverse, root_1.inverse, root_2.inverse)
        self.norm = float(np.linalg.norm(self.tensor))

    def factors(self, embeddings: Sequence[FloatArray]) -> list[FloatArray]:
        """Whitened augmented component means ``S_g^(-1/2) [1; m_g]``, shapes (q_g + 1, k)."""
        return [
            root.inverse @ np.vstack([np.ones((1, mean.shape[1])), mean])
            for root, mean in zip(self.roots, embeddings, strict=True)
        ]

    def residual(self, weights: FloatArray, embeddings: Sequence[FloatArray]) -> float:
        """Relative norm of what a mixture leaves unexplained."""
        return residual_norm(self.tensor, weights, self.factors(embeddings)) / self.norm


def spectral_candidate(
    projected: AugmentedMoments,
    whitened: WhitenedTriple,
    target: int,
    *,
    method: Method = "jacobi",
    random_state: int = 0,
) -> Candidate:
    """Mixture by whitening and decomposition in one group, and regression of the two others.

    Parameters
    ----------
    projected : AugmentedMoments
        Moments of k features in each group.
    whitened : WhitenedTriple
        The same moments, for the residual.
    target : int
        The group that is decomposed.
    method : {"jacobi", "power"}
        Joint diagonalisation or the tensor power method.
    random_state : int
        Seed of the power method's initialisations.

    Returns
    -------
    Candidate
        Weights are the inverse squared eigenvalues.

    Raises
    ------
    IdentifiabilityError
        If the symmetrised pair moment has no positive eigenvalue.
    numpy.linalg.LinAlgError
        If the cross moment of the two other groups is singular.
    """
    pairs = projected.pairs()
    pair, third = symmetrise_on_target(pairs, projected.triple[1:, 1:, 1:], target)
    mean, weights, diagnostics = decompose_pair(pair, third, method, random_state)
    regression = np.linalg.pinv(mean.T) / weights
    mean_0, mean_1, mean_2 = (
        mean if group == target else pairs[group, target] @ regression for group in GROUPS
    )
    return Candidate(
        f"group {target}, raw",
        weights,
        (mean_0, mean_1, mean_2),
        whitened.residual(weights, (mean_0, mean_1, mean_2)),
        diagnostics,
    )


def symmetric_candidate(
    projected: AugmentedMoments,
    whitened: WhitenedTriple,
    *,
    method: Method = "jacobi",
    random_state: int = 0,
) -> Candidate:
    """Mixture of views that share their components, by whitening and decomposition.

    Parameters
    ----------
    projected : AugmentedMoments
        Symmetric moments of k features; see :meth:`AugmentedMoments.symmetrised`.
    whitened : WhitenedTriple
        The same moments, for the residual.
    method : {"jacobi", "power"}
        Joint diagonalisation or the tensor power method.
    random_state : int
        Seed of the power method's initialisations.

    Returns
    -------
    Candidate
        With three times the same embeddings.

    Raises
    ------
    IdentifiabilityError
        If the pair moment has no positive eigenvalue.
    """
    mean, weights, diagnostics = decompose_pair(
        projected.pairs()[0, 1], projected.triple[1:, 1:, 1:], method, random_state
    )
    means = (mean, mean, mean)
    residual = whitened.residual(weights, means)
    return Candidate(f"{SHARED}, raw", weights, means, residual, diagnostics)


def tied_candidate(whitened: WhitenedTriple, start: Candidate) -> Candidate:
    """Improve a candidate of views that share their components, with one factor for all modes.

    From a symmetric initialisation on a symmetric tensor, the three factors of alternating least
    squares approach one another; their mean is the tied least squares solution.

    Parameters
    ----------
    whitened : WhitenedTriple
        Of symmetric moments.
    start : Candidate
        See :func:`symmetric_candidate`.

    Returns
    -------
    Candidate
        As of :func:`polished_candidate`, with three times the same embeddings.
    """
    polished = polished_candidate(whitened, start)
    if not polished.is_finite:
        return polished
    mean = np.mean(polished.embeddings, axis=0)
    means = (mean, mean, mean)
    residual = whitened.residual(polished.weights, means)
    return replace(polished, embeddings=means, residual=residual)


def decompose_pair(
    pair: FloatArray, third: FloatArray, method: Method, random_state: int
) -> tuple[FloatArray, FloatArray, Diagnostics]:
    r"""Component means and weights from symmetric moments of k features.

    Parameters
    ----------
    pair : ndarray of shape (k, k)
        :math:`\sum_h \pi_h m_h m_h'`.
    third : ndarray of shape (k, k, k)
        :math:`\sum_h \pi_h m_h \otimes m_h \otimes m_h`.
    method : {"jacobi", "power"}
        Joint diagonalisation or the tensor power method.
    random_state : int
        Seed of the power method's initialisations.

    Returns
    -------
    mean : ndarray of shape (k, k)
        Components as columns.
    weights : ndarray of shape (k,)
        The inverse squared eigenvalues.
    diagnostics : dict
        Numbers of the whitening and of the decomposition.

    Raises
    ------
    IdentifiabilityError
        If the pair moment has no positive eigenvalue.
    """
    whitening = whiten(pair, len(pair))
    core = multiply_modes(third, whitening.matrix, whitening.matrix, whitening.matrix)
    decomposition = DECOMPOSITIONS[method](core, random_state)
    floored = np.maximum(decomposition.eigenvalues, EIGENVALUE_FLOOR)
    mean = whitening.unwhitening @ (decomposition.vectors * floored)
    return (
        mean,
        floored**-2.0,
        {
            "pair_eigenvalues": whitening.eigenvalues.tolist(),
            "floored_eigenvalues": whitening.n_floored,
            "tensor_eigenvalues": decomposition.eigenvalues.tolist(),
            "negative_eigenvalues": decomposition.diagnostics["negative_eigenvalues"],
            "decomposition_residual": decomposition.diagnostics["residual"],
            "iterations": decomposition.diagnostics["iterations"],
            "converged": decomposition.diagnostics["converged"],
        },
    )


def polished_candidate(whitened: WhitenedTriple, start: Candidate) -> Candidate:
    """Improve a candidate by alternating least squares on the whitened augmented triple moment.

    Parameters
    ----------
    whitened : WhitenedTriple
        Moments that the candidate is fitted to.
    start : Candidate
        Candidate that the iteration begins with.

    Returns
    -------
    Candidate
        Not finite where a factor's first entry, the constant feature, came out as zero.
    """
    polished = alternating_least_squares(
        whitened.tensor, start.weights, whitened.factors(start.embeddings)
    )
    factors = [
        root.root @ factor for root, factor in zip(whitened.roots, polished.factors, strict=True)
    ]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean_0, mean_1, mean_2 = (factor[1:] / factor[0] for factor in factors)
        weights = polished.weights * np.prod([factor[0] for factor in factors], axis=0)
    return replace(
        start,
        name=start.name.replace("raw", "polished"),
        weights=weights,
        embeddings=(mean_0, mean_1, mean_2),
        residual=polished.diagnostics["residual"],
        diagnostics={
            **start.diagnostics,
            "polish_iterations": polished.diagnostics["iterations"],
            "converged": polished.diagnostics["converged"],
        },
    )


DECOMPOSITIONS: dict[Method, Callable[[FloatArray, int], OrthogonalDecomposition]] = {
    "jacobi": lambda core, _: joint_diagonalisation(core),
    "power": lambda core, random_state: tensor_power(core, random_state=random_state),
}
