"""A mixture whose views share their components, from its augmented triple moments."""

from functools import partial

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview.candidate_choice import CandidatePool, settle_mixture
from bigtensor.decomposition.multiview.mixture_candidates import (
    SHARED,
    Method,
    WhitenedTriple,
    symmetric_candidate,
    tied_candidate,
)
from bigtensor.decomposition.multiview.mixture_checks import check_arguments, check_rank
from bigtensor.decomposition.multiview.subspaces import symmetric_subspace
from bigtensor.decomposition.solution import MultiviewMixture


def solve_symmetric_mixture(
    moments: AugmentedMoments,
    n_components: int,
    mass: FloatArray,
    *,
    method: Method = "jacobi",
    random_state: int = 0,
) -> MultiviewMixture:
    """Estimate weights and the one set of mean features of views that share their components.

    All moments are averaged over the orders of the groups, so that every row counts three times.
    The pair moment is then whitened and the triple moment decomposed without any change of
    coordinates between groups (Song et al. 2014, algorithm 1; Anandkumar et al. 2014, sec. 4.3).
    This estimate is polished by alternating least squares on the augmented triple moment; the one
    of the two with the smaller residual is brought to mass one, and its weights are fitted to the
    first moment.

    Parameters
    ----------
    moments : AugmentedMoments
        Moments of three groups whose features are the same function of their views.
    n_components : int
        Number of components k.
    mass : ndarray of shape (q,)
        Linear functional that is one on every true component mean.
    method : {"jacobi", "power"}
        Joint diagonalisation of the slices, or the robust tensor power method.
    random_state : int
        Seed of the power method's initialisations.

    Returns
    -------
    MultiviewMixture
        Three times the same embeddings; diagnostics as of
        :func:`bigtensor.decomposition.multiview.multiview_mixture.solve_multiview_mixture`, with
        eigenvalues of the mean pair moment as ``singular_values``.

    Raises
    ------
    ParameterError
        If an argument is out of range or of the wrong shape, or the groups have different numbers
        of features.
    IdentifiabilityError
        If the moments do not support `n_components`, or no candidate is finite.
    """
    shared = moments.symmetrised()
    check_arguments(shared, n_components, (mass, mass, mass), method)
    scales = shared.feature_scales()
    shared = shared.scaled(scales)
    masses = (mass * scales[0],) * 3
    subspaces = symmetric_subspace(shared.pairs(), n_components)
    check_rank(subspaces, n_components)
    projected = shared.project(subspaces.bases)
    whitened = WhitenedTriple(projected)
    pool = CandidatePool()
    raw = pool.attempt(
        f"{SHARED}, raw",
        partial(symmetric_candidate, projected, whitened, method=method, random_state=random_state),
    )
    if raw is not None:
        pool.attempt(f"{SHARED}, polished", partial(tied_candidate, whitened, raw))
    return settle_mixture(pool, projected, whitened, subspaces, masses, method).scaled(scales)
