"""Joint table of three discrete views in scaled and projected coordinates, and its factors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.multiview.mixture_checks import RANK_CUT
from bigtensor.decomposition.multiview.subspaces import GROUPS, cross_covariance_subspaces
from bigtensor.decomposition.multiview.symmetrisation import multiply_modes
from bigtensor.descending_order import descending_order
from bigtensor.errors import IdentifiabilityError, ParameterError

ByView: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""One array for each of the three views."""

PAIRS = ((0, 1), (0, 2), (1, 2))
"""Order of the pair tables in a core."""

SUM_TOLERANCE = 1e-6
"""Largest distance from one of a sum of probabilities, for sums made in float32."""


@dataclass(frozen=True, eq=False)
class DiscreteCore:
    r"""Joint table of three discrete views, scaled and projected.

    The scaled table is :math:`X_{ijl} = M_{ijl} / (s_{1i} s_{2j} s_{3l})`. A mixture with the
    probabilities U and the weights w has the factors :math:`A_t = \mathrm{diag}(1/s_t) U_t` there,
    and with :math:`s_t^2 = m_t` the squared distance of X from it is that of the tables, weighted
    by 1 / (m_1 m_2 m_3).

    Attributes
    ----------
    tensor : ndarray of shape (r_1, r_2, r_3)
        Scaled table, projected on the bases along every mode.
    bases : tuple of three ndarrays of shape (n_t, r_t)
        Orthonormal columns, most informative direction first.
    scales : tuple of three ndarrays of shape (n_t,)
        Square roots of the damped marginals. A symbol of scale zero was never seen.
    marginals : tuple of three ndarrays of shape (n_t,)
        Marginal probabilities m_t; each sums to one.
    pairs : tuple of three ndarrays
        Scaled and projected pair tables P_12, P_13 and P_23.
    """

    tensor: FloatArray
    bases: ByView
    scales: ByView
    marginals: ByView
    pairs: ByView

    def leading(self, k: int) -> "DiscreteCore":
        """Core of the first k columns of every basis."""
        return DiscreteCore(
            np.ascontiguousarray(self.tensor[:k, :k, :k]),
            by_view(lambda t: np.ascontiguousarray(self.bases[t][:, :k])),
            self.scales,
            self.marginals,
            by_view(lambda p: np.ascontiguousarray(self.pairs[p][:k, :k])),
        )

    def pair(self, a: int, b: int) -> FloatArray:
        """Pair table of two views, with the directions of view `a` as rows."""
        if a < b:
            return self.pairs[PAIRS.index((a, b))]
        return self.pairs[PAIRS.index((b, a))].T

    @property
    def means(self) -> ByView:
        """Scaled and projected marginals."""
        return by_view(lambda t: self.bases[t].T @ self.targets[t])

    @property
    def targets(self) -> ByView:
        """Scaled marginals: the factors of a component in which the views are independent."""
        return by_view(lambda t: self.marginals[t] * inverse_scale(self.scales[t]))

    @property
    def sum_functionals(self) -> ByView:
        """Linear functionals that are one on every projected factor."""
        return by_view(lambda t: self.bases[t].T @ self.scales[t])

    @property
    def subspace_defects(self) -> list[float]:
        """Part of the squared sum functional of every view that the basis does not hold."""
        return [
            1.0 - float(np.sum(functional**2) / np.sum(scale**2))
            for functional, scale in zip(self.sum_functionals, self.scales, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class DiscreteFactors:
    """Weights and symbol probabilities of the components of a discrete three-view mixture.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        May be negative before :meth:`clipped`.
    probabilities : tuple of three ndarrays of shape (n_t, k)
        Column h of entry t holds the probabilities of the symbols of view t in component h.
        Entries may be negative before :meth:`clipped`.
    """

    weights: FloatArray
    probabilities: ByView

    @property
    def negative_mass(self) -> float:
        """Sum of the magnitudes of all negative entries."""
        arrays = (self.weights, *self.probabilities)
        return float(sum(np.maximum(-array, 0.0).sum() for array in arrays))

    def clipped(
        self, floor: float = 0.0, *, weight_floor: float | None = None
    ) -> "DiscreteFactors":
        """Nearest valid factors by clipping: entries reach the floor and distributions sum to one.

        Parameters
        ----------
        floor : float
            Smallest probability of a symbol.
        weight_floor : float, optional
            Smallest weight; `floor` by default.

        Raises
        ------
        ParameterError
            If a floor is negative, or larger than the probability of uniform symbols.
        """
        weight_floor = floor if weight_floor is None else weight_floor
        return DiscreteFactors(
            distributions(self.weights[:, None], weight_floor)[:, 0],
            by_view(lambda t: distributions(self.probabilities[t], floor)),
        )

    def by_weight(self) -> "DiscreteFactors":
        """Factors with the components in the order of descending weight."""
        order = descending_order(self.weights)
        return DiscreteFactors(
            self.weights[order], by_view(lambda t: self.probabilities[t][:, order])
        )

    @property
    def is_finite(self) -> bool:
        """True if no entry is NaN or infinite."""
        return all(np.isfinite(array).all() for array in (self.weights, *self.probabilities))


def core_of_table(
    table: FloatArray, r: int, *, damping: float = 0.0, common_scale: bool = False
) -> DiscreteCore:
    """Scale the joint table of three views and project it on its leading directions.

    Parameters
    ----------
    table : ndarray of shape (n_1, n_2, n_3)
        Joint probabilities.
    r : int
        Directions of every view. A view of fewer symbols with rows keeps all of its directions.
    damping : float
        Added to the marginals as ``damping / n_t`` before the scaling. Without damping a pair of
        rare symbols that were only seen together stands out as much as a component does.
    common_scale : bool
        If True, all views have the same symbols, as the steps of a sequence have, and one scale:
        the root of the mean of their marginals.

    Raises
    ------
    ParameterError
        If the table holds no joint probabilities of three views, views of different symbols are
        to have a common scale, or a number is out of range.
    """
    _check_table(table)
    marginals = _marginals(table)
    scaling = _common(marginals) if common_scale else marginals
    scales = by_view(lambda t: _scales(scaling[t], damping))
    inverses = by_view(lambda t: inverse_scale(scales[t]))
    sums = _pair_sums(table)
    scaled = by_view(lambda p: sums[p] * inverses[PAIRS[p][0]][:, None] * inverses[PAIRS[p][1]])
    directions = cross_covariance_subspaces(dict(zip(PAIRS, scaled, strict=True)), r).bases
    bases = by_view(lambda t: _of_occurring_symbols(directions[t], marginals[t]))
    tensor = multiply_modes(table, *by_view(lambda t: bases[t] * inverses[t][:, None]))
    return DiscreteCore(tensor, bases, scales, marginals, _projected_pairs(scaled, bases))


def bases_of_sketches(
    sketches: ByView, marginals: ByView, damping: float, r: int
) -> tuple[ByView, ByView]:
    """Bases and scales of the views from sketches of their pair tables.

    Parameters
    ----------
    sketches : tuple of three ndarrays of shape (n_t, q)
        Pair tables of view t with both other views, each multiplied by a random matrix, side by
        side. Their sum in place of the concatenation would lose signal.
    marginals : tuple of three ndarrays of shape (n_t,)
        Marginal counts or probabilities.
    damping : float
        As for :func:`core_of_table`.
    r : int
        Columns of every basis, of at most q and the number of symbols with rows.

    Returns
    -------
    bases : tuple of three ndarrays of shape (n_t, r)
        Orthonormal columns in scaled symbols.
    scales : tuple of three ndarrays of shape (n_t,)
        Square roots of the damped marginals.

    Raises
    ------
    ParameterError
        If `r` or `damping` is out of range.
    """
    _check_directions(r)
    scales = by_view(lambda t: _scales(marginals[t] / marginals[t].sum(), damping))

    def basis(t: int) -> FloatArray:
        scaled = sketches[t] * inverse_scale(scales[t])[:, None]
        vectors = np.linalg.svd(scaled, full_matrices=False)[0]
        return _of_occurring_symbols(vectors[:, :r], marginals[t])

    return by_view(basis), scales


def rotated(core: DiscreteCore) -> DiscreteCore:
    """Core with every basis rotated so that its most informative direction comes first.

    Parameters
    ----------
    core : DiscreteCore
        Bases with orthonormal columns in any order, such as those of sketches.

    Returns
    -------
    DiscreteCore
        Of the same subspaces.
    """
    rotations = cross_covariance_subspaces(
        dict(zip(PAIRS, core.pairs, strict=True)), max(core.tensor.shape)
    ).bases
    return DiscreteCore(
        multiply_modes(core.tensor, *rotations),
        by_view(lambda t: core.bases[t] @ rotations[t]),
        core.scales,
        core.marginals,
        _projected_pairs(core.pairs, rotations),
    )


def by_view(function: Callable[[int], FloatArray]) -> ByView:
    """Values of a function of the three views, or of the three pairs of views."""
    return function(0), function(1), function(2)


def inverse_scale(scale: FloatArray) -> FloatArray:
    """One over the scale; zero for symbols that were never seen."""
    return np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)


def distributions(columns: FloatArray, floor: float) -> FloatArray:
    """Distributions whose entries reach a floor, from columns of any sign, by clipping.

    Parameters
    ----------
    columns : ndarray of shape (n, m)
        A column without a positive entry becomes uniform.
    floor : float
        Smallest entry of a distribution.

    Returns
    -------
    ndarray of shape (n, m)
        Columns that sum to one.

    Raises
    ------
    ParameterError
        If the floor is not between 0 and 1/n.
    """
    size = len(columns)
    if not 0 <= floor * size <= 1:
        raise ParameterError(f"a floor between 0 and 1/{size} is needed, got {floor}")
    positive = _normalised(np.maximum(columns, 0.0))
    excess = _normalised(np.maximum(positive - floor, 0.0))
    return floor + (1.0 - floor * size) * excess


def check_components(core: DiscreteCore, k: int) -> None:
    """Raise where a core does not support a number of components.

    Parameters
    ----------
    core : DiscreteCore
        Scaled table of three views.
    k : int
        Number of components.

    Raises
    ------
    ParameterError
        If `k` is below one, or exceeds the directions of the core.
    IdentifiabilityError
        If a view has fewer than `k` symbols with rows, or a pair table has a rank below `k`.
    """
    if k < 1:
        raise ParameterError(f"the number of components must be at least 1, got {k}")
    symbols = [int(np.count_nonzero(marginal)) for marginal in core.marginals]
    if k > min(symbols):
        raise IdentifiabilityError(
            f"the three views have {symbols[0]}, {symbols[1]} and {symbols[2]} symbols with rows, "
            f"which support at most {min(symbols)} components, but {k} were asked for: use fewer "
            "components or views of more symbols"
        )
    if k > min(core.tensor.shape):
        raise ParameterError(
            f"the core has {core.tensor.shape} directions, but {k} components need as many in "
            "every view: make the core with a larger r"
        )
    for (a, b), pair in zip(PAIRS, core.pairs, strict=True):
        values = np.linalg.svd(pair, compute_uv=False)
        rank = int(np.count_nonzero(values > RANK_CUT * values[0]))
        if rank < k:
            raise IdentifiabilityError(
                f"the joint table of views {a} and {b} has rank {rank}, so that it supports at "
                f"most {rank} component{'s' * (rank != 1)}, but {k} were asked for: use fewer "
                "components, more rows, or views that tell more of each other"
            )


def _check_table(table: FloatArray) -> None:
    """Raise unless a table holds joint probabilities of three views."""
    if table.ndim != 3:
        raise ParameterError(f"a table of three views is needed, got the shape {table.shape}")
    total = float(table.sum())
    # a comparison with NaN is false
    if not abs(total - 1.0) <= SUM_TOLERANCE or float(table.min()) < 0:
        raise ParameterError(
            "joint probabilities must not be negative and must sum to one, got the sum "
            f"{total:.6g} and the minimum {float(table.min()):.6g}: divide counts by their sum"
        )


def _check_directions(r: int) -> None:
    """Raise unless at least one direction is wanted."""
    if r < 1:
        raise ParameterError(f"r must be at least 1, got {r}")


def _marginals(table: FloatArray) -> ByView:
    """Marginal probabilities of the three views."""
    return by_view(lambda t: table.sum(axis=tuple(other for other in GROUPS if other != t)))


def _pair_sums(table: FloatArray) -> ByView:
    """Joint probabilities of every pair of views."""
    return table.sum(axis=2), table.sum(axis=1), table.sum(axis=0)


def _common(marginals: ByView) -> ByView:
    """Mean of the marginals, for every view."""
    sizes = [len(marginal) for marginal in marginals]
    if len(set(sizes)) != 1:
        raise ParameterError(
            "a common scale needs the same symbols in all three views, got "
            f"{sizes[0]}, {sizes[1]} and {sizes[2]}"
        )
    mean = np.mean(marginals, axis=0)
    return mean, mean, mean


def _scales(marginal: FloatArray, damping: float) -> FloatArray:
    """Square roots of the damped marginal probabilities."""
    if damping < 0:
        raise ParameterError(f"damping must not be negative, got {damping}")
    return np.asarray(np.sqrt(marginal + damping / len(marginal)), dtype=np.float64)


def _of_occurring_symbols(basis: FloatArray, marginal: FloatArray) -> FloatArray:
    """Directions of a basis, of at most as many as there are symbols with rows.

    Further directions hold nothing. An eigenvalue of zero there would stand before the negative
    ones that noise has made.
    """
    return np.ascontiguousarray(basis[:, : np.count_nonzero(marginal)])


def _projected_pairs(pairs: ByView, bases: ByView) -> ByView:
    """Pair tables in the coordinates of the bases."""
    return by_view(lambda p: bases[PAIRS[p][0]].T @ pairs[p] @ bases[PAIRS[p][1]])


def _normalised(columns: FloatArray) -> FloatArray:
    """Columns that sum to one; a column of zeros becomes uniform."""
    sums = columns.sum(axis=0)
    return np.where(sums > 0, columns / np.where(sums > 0, sums, 1.0), 1.0 / len(columns))
