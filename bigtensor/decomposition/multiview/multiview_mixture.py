"""A three-group mixture from its augmented triple moments: the whole solve."""

from collections.abc import Sequence
from functools import partial

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview.candidate_choice import CandidatePool, settle_mixture
from bigtensor.decomposition.multiview.mixture_candidates import (
    Method,
    WhitenedTriple,
    polished_candidate,
    spectral_candidate,
)
from bigtensor.decomposition.multiview.mixture_checks import check_arguments, check_rank
from bigtensor.decomposition.multiview.subspaces import cross_covariance_subspaces
from bigtensor.decomposition.solution import MultiviewMixture

__all__ = ["AugmentedMoments", "Method", "MultiviewMixture", "solve_multiview_mixture"]

_TARGETS = (2, 0, 1)
"""Groups that the two others are symmetrised towards, one candidate each."""


def solve_multiview_mixture(
    moments: AugmentedMoments,
    n_components: int,
    masses: Sequence[FloatArray],
    *,
    method: Method = "jacobi",
    random_state: int = 0,
) -> MultiviewMixture:
    """Estimate weights and conditional mean features of a mixture of independent groups of views.

    The features of every group are divided by the root of their largest second moment, and
    projected to k dimensions; with each group in turn as target, the pair and
    triple moments are made symmetric in the target's coordinates, whitened and decomposed, and the
    means of the other groups follow by regression, in the same order of components (Song et al.
    2014, sec. 3; Anandkumar et al. 2014, sec. 4). Each of these three estimates is also polished
    by alternating least squares on the augmented triple moment. The one with the least residual
    is brought to mass one, and its weights are fitted to the first moments.

    Parameters
    ----------
    moments : AugmentedMoments
        Moments of three groups with q_0, q_1 and q_2 features.
    n_components : int
        Number of components k.
    masses : sequence of three ndarrays of shape (q_g,)
        Linear functionals that are one on every true component mean: the integral of the density
        that a mean embedding stands for.
    method : {"jacobi", "power"}
        Joint diagonalisation of the slices, or the robust tensor power method.
    random_state : int
        Seed of the power method's initialisations.

    Returns
    -------
    MultiviewMixture
        Components by descending weight. `diagnostics` holds ``rows``, ``method``, ``chosen``,
        ``candidates`` (name to residual, spectrum and iteration figures), ``discarded`` (name to
        reason), ``singular_values``, ``signal_to_noise`` of the last one kept and ``spectral_gap``
        of the stacked pair moments of each group (the gap is None where no direction is left out),
        ``condition_numbers`` of the projected pair and second moments, ``masses`` before
        normalisation, ``weights_before_fit`` and ``concerns``.

    Raises
    ------
    ParameterError
        If an argument is out of range or of the wrong shape.
    IdentifiabilityError
        If the moments do not support `n_components`, or no candidate is finite.
    """
    check_arguments(moments, n_components, masses, method)
    scales = moments.feature_scales()
    moments = moments.scaled(scales)
    masses = [mass * scale for mass, scale in zip(masses, scales, strict=True)]
    subspaces = cross_covariance_subspaces(moments.pairs(), n_components)
    check_rank(subspaces, n_components)
    projected = moments.project(subspaces.bases)
    whitened = WhitenedTriple(projected)
    pool = _candidates(projected, whitened, method, random_state)
    mixture = settle_mixture(pool, projected, whitened, subspaces, masses, method)
    return mixture.scaled(scales)


def _candidates(
    projected: AugmentedMoments, whitened: WhitenedTriple, method: Method, random_state: int
) -> CandidatePool:
    """Raw and polished candidates of all targets."""
    pool = CandidatePool()
    for target in _TARGETS:
        raw = pool.attempt(
            f"group {target}, raw",
            partial(
                spectral_candidate,
                projected,
                whitened,
                target,
                method=method,
                random_state=random_state,
            ),
        )
        if raw is not None:
            pool.attempt(f"group {target}, polished", partial(polished_candidate, whitened, raw))
    return pool
