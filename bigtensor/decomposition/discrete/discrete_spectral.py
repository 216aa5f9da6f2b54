"""Spectral solution of a discrete three-view mixture with one view as target."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.discrete.discrete_core import (
    ByView,
    DiscreteCore,
    DiscreteFactors,
    by_view,
    check_components,
)
from bigtensor.decomposition.joint_diagonalisation import joint_diagonalisation
from bigtensor.decomposition.multiview.subspaces import GROUPS
from bigtensor.decomposition.multiview.symmetrisation import multiply_modes, symmetrise
from bigtensor.decomposition.solution import Diagnostics
from bigtensor.decomposition.tensor_power import tensor_power
from bigtensor.decomposition.whitening import Whitening, whiten
from bigtensor.errors import ParameterError

Rotation: TypeAlias = Literal["single", "joint", "power"]

ROOT_FLOOR = 0.03
"""Smallest root of a weight, relative to that of equal weights."""

SUM_FLOOR = 3e-2
"""Smallest sum of a singular vector. In scaled coordinates the true one is at least sqrt(w)."""

LEAST_EIGENVALUE = 0.5
"""Smallest eigenvalue of the whitened tensor that is inverted. True ones are at least one."""

ROTATION_TOLERANCE = 1e-5
"""Largest sine of a rotation in the last sweep of the joint diagonalisation.

The sweeps converge quadratically on population tables. On samples 1e-8 in its place changes the
solution by a millionth of its error and takes a third more sweeps.
"""

POWER_INITIALISATIONS = 30
"""Initialisations of the power iteration for every component."""

POWER_STEPS = 50
"""Power steps from every initialisation, and again from the best end."""


@dataclass(frozen=True, eq=False)
class SpectralFactors:
    """Factors of a spectral solution, and the figures that its decisions rested on.

    Attributes
    ----------
    factors : DiscreteFactors
        Components by descending weight. Entries may be negative.
    diagnostics : dict
        ``view``, ``rotation``, ``singular_values`` of the pair table of the other views and its
        ``condition_number`` at rank k, ``eigenvalues`` of the symmetrised pair table and the
        number ``eigenvalues_at_floor``, ``roots_at_floor`` and ``sums_at_floor`` likewise,
        ``factor_condition_number`` of the target's scaled columns, ``second_singular_ratio``
        (largest second singular value of the rank-one tables, relative to the first),
        ``decomposition`` (figures of the rotation) and ``negative_mass``.
    """

    factors: DiscreteFactors
    diagnostics: Diagnostics


class _Columns(NamedTuple):
    """Columns of one view or more, and the figures of their computation."""

    columns: FloatArray
    diagnostics: Diagnostics


class _Symmetrised(NamedTuple):
    """Moments of three views in the whitened coordinates of the target."""

    tensor: FloatArray
    whitening: Whitening
    diagnostics: Diagnostics


def spectral_factors(
    core: DiscreteCore, k: int, *, view: int, rotation: Rotation, rng: np.random.Generator
) -> SpectralFactors:
    """Estimate a discrete three-view mixture from eigenvectors in the coordinates of one view.

    The pair and triple tables are made symmetric in the target's coordinates, whitened and
    decomposed. The columns of the other views are the singular vectors of the table contracted
    with the target's dual vectors, so that all views have one order of components. Averages of
    solutions with different targets would mix components.

    Parameters
    ----------
    core : DiscreteCore
        Scaled table of three views.
    k : int
        Number of components.
    view : int
        The target: 0, 1 or 2.
    rotation : {"single", "joint", "power"}
        Eigenvectors of one random combination of the slices, joint diagonalisation of all slices,
        or the robust tensor power method.
    rng : numpy.random.Generator
        For the random combination and the initialisations of the power method.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    IdentifiabilityError
        If the table does not support `k` components.
    """
    check_components(core, k)
    if view not in GROUPS:
        raise ParameterError(f"view must be 0, 1 or 2, got {view}")
    symmetrised = _symmetrised(core, k, view)
    turned = _rotation(symmetrised, core.means[view], rotation, rng)
    target = symmetrised.whitening.unwhitening @ turned.columns
    others, sums = _other_columns(core, target, view)
    columns = by_view(lambda t: target if t == view else others[t])
    weights = _least_squares_weights(core, columns)
    factors = DiscreteFactors(
        weights, by_view(lambda t: core.scales[t][:, None] * (core.bases[t] @ columns[t]))
    )
    diagnostics: Diagnostics = {
        "view": view,
        "rotation": rotation,
        **symmetrised.diagnostics,
        **turned.diagnostics,
        "factor_condition_number": float(np.linalg.cond(target)),
        **sums,
        "negative_mass": factors.negative_mass,
    }
    return SpectralFactors(factors.by_weight(), diagnostics)


def _symmetrised(core: DiscreteCore, k: int, view: int) -> _Symmetrised:
    """Whiten the moments that are expressed in the coordinates of the target."""
    a, b = (other for other in GROUPS if other != view)
    left, values, right = np.linalg.svd(core.pair(a, b), full_matrices=False)
    # A full inverse would invert noise: the population table has rank k.
    inverse = (right[:k].T / values[:k]) @ left[:, :k].T
    from_a = core.pair(view, b) @ inverse
    from_b = core.pair(view, a) @ inverse.T
    pair = from_a @ core.pair(a, b) @ from_b.T
    whitening = whiten((pair + pair.T) / 2, k)
    maps = {a: from_a.T @ whitening.matrix, b: from_b.T @ whitening.matrix}
    maps[view] = whitening.matrix
    diagnostics: Diagnostics = {
        "singular_values": values.tolist(),
        "condition_number": float(values[0] / values[k - 1]),
        "eigenvalues": whitening.eigenvalues.tolist(),
        "eigenvalues_at_floor": whitening.n_floored,
    }
    tensor = symmetrise(multiply_modes(core.tensor, maps[0], maps[1], maps[2]))
    return _Symmetrised(tensor, whitening, diagnostics)


def _rotation(
    symmetrised: _Symmetrised, mean: FloatArray, rotation: Rotation, rng: np.random.Generator
) -> _Columns:
    """Whitened columns of the components in the target."""
    tensor = symmetrised.tensor
    k = len(tensor)
    figures: Diagnostics = {}
    if rotation == "single":
        vectors = np.linalg.eigh(tensor @ rng.standard_normal(k))[1]
    elif rotation == "joint":
        _, vectors, figures = joint_diagonalisation(tensor, tolerance=ROTATION_TOLERANCE)
    elif rotation == "power":
        values, vectors, figures = tensor_power(
            tensor,
            random_state=int(rng.integers(2**32)),
            n_starts=POWER_INITIALISATIONS,
            n_steps=POWER_STEPS,
        )
    else:
        raise ParameterError(f"rotation must be 'single', 'joint' or 'power', got {rotation!r}")
    if rotation == "power":
        roots = 1.0 / np.maximum(values, LEAST_EIGENVALUE)
    else:
        # The sign of an eigenvector is arbitrary, and the sign of its root undoes it.
        roots = vectors.T @ (symmetrised.whitening.matrix.T @ mean)
    floor = ROOT_FLOOR / np.sqrt(k)
    diagnostics: Diagnostics = {
        "decomposition": figures,
        "roots_at_floor": int(np.count_nonzero(np.abs(roots) < floor)),
    }
    return _Columns(vectors / _away_from_zero(roots, floor), diagnostics)


def _other_columns(
    core: DiscreteCore, target: FloatArray, view: int
) -> tuple[dict[int, FloatArray], Diagnostics]:
    """Columns of the two other views from tables of rank one, in the order of the target's."""
    a, b = (other for other in GROUPS if other != view)
    duals = np.linalg.pinv(target).T
    tables = np.tensordot(duals, core.tensor, axes=(0, view))
    left, values, right = np.linalg.svd(tables, full_matrices=False)
    functionals = core.sum_functionals
    columns, at_floor = {}, 0
    for other, vectors in ((a, left[:, :, 0]), (b, right[:, 0, :])):
        sums = vectors @ functionals[other]
        at_floor += int(np.count_nonzero(np.abs(sums) < SUM_FLOOR))
        columns[other] = (vectors / _away_from_zero(sums, SUM_FLOOR)[:, None]).T
    # a column of a view with one direction has no second value, and no table may be left
    ratios = values[:, 1:2] / np.maximum(values[:, :1], np.finfo(np.float64).tiny)
    ratio = float(ratios.max(initial=0.0))
    return columns, {"sums_at_floor": at_floor, "second_singular_ratio": ratio}


def _least_squares_weights(core: DiscreteCore, columns: ByView) -> FloatArray:
    """Weights of the rank-one terms that come nearest to the table."""
    first, second, third = columns
    gram = (first.T @ first) * (second.T @ second) * (third.T @ third)
    products = np.sum(first * np.sum((core.tensor @ third) * second, axis=1), axis=0)
    # Minimum norm: two equal components share their weight.
    return np.asarray(np.linalg.lstsq(gram, products, rcond=None)[0], dtype=np.float64)


def _away_from_zero(values: FloatArray, floor: float) -> FloatArray:
    """Values whose magnitude reaches a floor, with their signs."""
    return np.copysign(np.maximum(np.abs(values), floor), values)
