"""Components of a moment tensor that is formed over all rows, whole or in few directions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview.subspaces import cross_covariance_subspaces
from bigtensor.decomposition.multiview.symmetrisation import multiply_modes
from bigtensor.decomposition.sample_tensors.gauss_newton import objective
from bigtensor.decomposition.sample_tensors.projected_tensor import (
    ProjectedTensor,
    extended,
)
from bigtensor.decomposition.sample_tensors.subspace_solution import whitened_terms
from bigtensor.decomposition.sample_tensors.terms import Factors, Terms
from bigtensor.models.contract.script import Estimate, Script, Solved
from bigtensor.models.linear_mixture.from_sample import stepped
from bigtensor.models.linear_mixture.located import LinearPreparation, Located
from bigtensor.models.linear_mixture.search import drawn_from, search
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.moment_tensors.sample_tensor import Refined, SampleTensor
from bigtensor.statistics.base import Pass
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.moments.covariances import CovariancesResult
from bigtensor.statistics.moments.projected_moment import ProjectedMoment, ProjectedMomentResult
from bigtensor.statistics.within_reach import ResultWithin, WithinReach

VIEWS = (0, 1, 2)


def from_explicit_tensor(preparation: LinearPreparation) -> Script:
    """Ask for the whole tensor, and find its terms on the driver."""
    tensor, settings = preparation.tensor, preparation.settings
    sums: ResultWithin[dict[str, Any]] = yield explicit_pass(tensor)
    total: CovariancesResult = sums.result["total"]
    entries = sums.result["moment"].moment
    formed = ProjectedTensor(entries)

    def whitened() -> Terms:
        heads = tensor.constants
        pairs = {
            (a, b): np.moveaxis(entries, (a, b), (0, 1))[:, :, 0] / heads[3 - a - b]
            for a in VIEWS
            for b in VIEWS
            if a < b
        }
        bases = cross_covariance_subspaces(pairs, settings.n_components).bases
        wide = _extended(bases, tensor)
        triple = multiply_modes(entries, *wide)
        return _whitened(triple, wide, bases, total, tensor, settings)

    discovery = yield from search(
        formed.contract,
        drawn_from(preparation.terms.factors, settings.random_state),
        whitened,
        tensor,
        total,
        settings.shape.all_rows,
        settings,
    )
    return _located(discovery.terms, discovery.diagnostics, formed, total, sums.left_out)


def from_compressed_tensor(
    preparation: LinearPreparation, solve: Callable[[Located], Solved]
) -> Script:
    """Ask for pair moments, then for the tensor in the directions that they tell.

    The columns of at most as many components as features span the directions of a view that depend
    on the other views. Gauss-Newton steps on the whole tensor make up for the error of the
    directions, of up to 7 % of that of the columns.

    Parameters
    ----------
    preparation : LinearPreparation
        Settings, tensor, and the columns from which the search starts.
    solve : callable
        Makes the solution that holds if no further pass follows.
    """
    tensor, settings = preparation.tensor, preparation.settings
    first: ResultWithin[CovariancesResult] = yield pairs_pass(tensor)
    total = first.result
    second = second_moment(total, tensor)
    parts = _parts(tensor)
    pairs = {(a, b): second[parts[a], parts[b]] for a in VIEWS for b in VIEWS if a < b}
    bases = cross_covariance_subspaces(pairs, settings.n_components).bases
    wide = _extended(bases, tensor)
    sums: ResultWithin[ProjectedMomentResult] = yield compressed_pass(tensor, wide)
    triple = sums.result.moment
    formed = ProjectedTensor(np.ascontiguousarray(triple[1:, 1:, 1:]), bases)
    discovery = yield from search(
        formed.contract,
        drawn_from(preparation.terms.factors, settings.random_state),
        partial(_whitened, triple, wide, bases, total, tensor, settings),
        tensor,
        total,
        settings.shape.all_rows,
        settings,
    )
    located = _located(discovery.terms, discovery.diagnostics, formed, total, sums.left_out)
    if not settings.gauss_newton_steps:
        return located
    yield Estimate(partial(solve, located))
    return (yield from stepped(preparation, discovery.terms, discovery.diagnostics, solve, total))


def explicit_pass(tensor: SampleTensor) -> Pass[Any]:
    """Return the pass that forms the whole tensor."""
    whole = tuple(np.eye(size) for size in tensor.sizes)
    together = Together.named(
        moment=projected_moment(tensor, whole),
        total=tensor.covariances(),
    )
    return Pass("tensor", WithinReach(together, tensor.within))


def pairs_pass(tensor: SampleTensor) -> Pass[ResultWithin[CovariancesResult]]:
    """Return the pass that sums the products of all pairs of features."""
    every = tensor.covariances(((0, tensor.columns[-1][1]),))
    return Pass("pair moments", WithinReach(every, tensor.within))


def compressed_pass(
    tensor: SampleTensor, bases: Factors
) -> Pass[ResultWithin[ProjectedMomentResult]]:
    """Return the pass that forms the tensor in the coordinates of some bases."""
    return Pass("projected tensor", WithinReach(projected_moment(tensor, bases), tensor.within))


def projected_moment(tensor: SampleTensor, bases: Factors) -> ProjectedMoment:
    """Return the sums of a tensor in the coordinates of bases.

    Parameters
    ----------
    tensor : SampleTensor
        With a constant before the features of every view.
    bases : tuple of three (d_m + 1, q_m) arrays
        Bases of the three views, a row for the constant and for every feature.
    """
    return ProjectedMoment(
        tensor.columns,
        tensor.references,
        tuple(
            basis[1:] / scale[:, None] for basis, scale in zip(bases, tensor.scales, strict=True)
        ),
        tuple(scale * basis[0] for basis, scale in zip(bases, tensor.constants, strict=True)),
        tensor.dtype,
    )


def second_moment(total: CovariancesResult, tensor: SampleTensor) -> FloatArray:
    """Return the second moment of the rows of all views side by side, each after its constant.

    Parameters
    ----------
    total : CovariancesResult
        What it holds between views is all that is said of pairs of views.
    tensor : SampleTensor
        Tensor with the constants and the units of the views.
    """
    scales = np.concatenate(tensor.scales)
    mean = (total.mean - np.concatenate(tensor.references)) / scales
    place = np.concatenate([np.arange(part.start + 1, part.stop) for part in _parts(tensor)])
    first = np.zeros(sum(tensor.sizes))
    first[place] = mean
    first[[part.start for part in _parts(tensor)]] = tensor.constants
    moment = np.outer(first, first)
    moment[np.ix_(place, place)] += total.covariance / np.outer(scales, scales)
    return moment


def _parts(tensor: SampleTensor) -> list[slice]:
    """Return where the features of every view are, side by side with their constants."""
    stops = np.cumsum(tensor.sizes).tolist()
    return [slice(stop - size, stop) for size, stop in zip(tensor.sizes, stops, strict=True)]


def _extended(bases: Factors, tensor: SampleTensor) -> Factors:
    """Return bases with a column that is always one."""
    return tuple(
        extended(b, float(constant)) for b, constant in zip(bases, tensor.constants, strict=True)
    )


def _whitened(
    triple: FloatArray,
    wide: Factors,
    bases: Factors,
    total: CovariancesResult,
    tensor: SampleTensor,
    settings: LinearSettings,
) -> Terms:
    """Return the terms of the whitened tensor."""
    second = second_moment(total, tensor)
    first_second, second_second, third_second = (
        basis.T @ second[part, part] @ basis
        for basis, part in zip(wide, _parts(tensor), strict=True)
    )
    moments = AugmentedMoments(triple, (first_second, second_second, third_second), total.weight)
    k, seed = settings.n_components, settings.random_state
    return whitened_terms(moments, bases, tensor.constants, k, seed)


def _located(
    terms: Terms,
    diagnostics: dict[str, Any],
    formed: ProjectedTensor,
    total: CovariancesResult,
    left_out: int,
) -> Located:
    """Return the terms of a formed tensor, whose search ends with Gauss-Newton steps."""
    value = objective(terms, formed.contract(terms.factors))
    steps: dict[str, Any] = {"objective": [value], "accepted": [True], "movement": []}
    return Located(Refined(terms, {"total": total}, total.weight, left_out, steps), diagnostics)
