"""A three-group mixture from its augmented triple moments: the whole solve."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from bigtensor.decomposition.augmented_moments import AugmentedMoments
from bigtensor.decomposition.mixture_candidates import (
    DECOMPOSITIONS,
    Candidate,
    Method,
    WhitenedTriple,
    polished_candidate,
    spectral_candidate,
)
from bigtensor.decomposition.nonnegative_weights import nonnegative_weights
from bigtensor.decomposition.solution import Diagnostics, FloatArray, MultiviewMixture, Outcome
from bigtensor.decomposition.subspaces import GROUPS, Subspaces, cross_covariance_subspaces
from bigtensor.errors import IdentifiabilityError, ParameterError

__all__ = ["AugmentedMoments", "Method", "MultiviewMixture", "solve_multiview_mixture"]

# Expressing a triple moment in one view divides twice by a cross moment, which turns a rounding
# error of 1 eps into eps / (relative singular value)^2: at the square root of eps nothing is left.
# Sampling noise, of relative size n^(-1/2), is far above this for any number of rows.
RANK_CUT = float(np.sqrt(np.finfo(np.float64).eps))

# A singular value counts as signal when it exceeds this multiple of the largest one of noise; the
# first value left out stands for the latter.
CLEAR_GAP = 1.5

# Polished candidates usually reach one and the same optimum, and differ in where on the last
# step to it they stopped. Among equals the first is taken, or rounding errors of the sums over
# rows would decide, and the estimate would change with the chunking of the data.
EQUAL_RESIDUALS = 1e-4
ROUNDING_RESIDUAL = 1e-12

NEGLIGIBLE_MASS = 1e-3

_TARGETS = (2, 0, 1)


def solve_multiview_mixture(
    moments: AugmentedMoments,
    n_components: int,
    masses: Sequence[FloatArray],
    *,
    method: Method = "jacobi",
    random_state: int = 0,
) -> MultiviewMixture:
    """Estimate weights and conditional mean features of a mixture of independent groups of views.

    The features are projected to k dimensions; with each group in turn as target, the pair and
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
        Seed of the power method's starts.

    Returns
    -------
    MultiviewMixture
        Components by descending weight. `diagnostics` holds ``rows``, ``method``, ``chosen``,
        ``candidates`` (name to residual, spectrum and iteration figures), ``discarded`` (name to
        reason), ``singular_values`` and ``spectral_gap`` of the stacked pair moments of each group
        (the gap is None where no direction is left out), ``condition_numbers`` of the projected
        pair and second moments, ``masses`` before normalisation, ``weights_before_fit`` and
        ``concerns``.

    Raises
    ------
    ParameterError
        If an argument is out of range or of the wrong shape.
    IdentifiabilityError
        If the moments do not support `n_components`, or no candidate is finite.
    """
    _check_arguments(moments, n_components, masses, method)
    subspaces = _component_subspaces(moments, n_components)
    projected = moments.project(subspaces.bases)
    whitened = WhitenedTriple(projected)
    candidates, discarded = _candidates(projected, whitened, method, random_state)
    if not candidates:
        raise IdentifiabilityError(
            f"no decomposition into {n_components} components is finite "
            f"({'; '.join(f'{name}: {reason}' for name, reason in discarded.items())}); use fewer "
            "components, more rows, or views that tell the components apart better"
        )
    solution = _settle(candidates, projected, subspaces, masses)
    diagnostics: Diagnostics = {
        "rows": int(moments.count),
        "method": method,
        **solution.diagnostics,
        "discarded": discarded,
        "condition_numbers": _condition_numbers(projected, whitened),
    }
    return replace(solution, diagnostics=diagnostics)


def _settle(
    candidates: Sequence[Candidate],
    projected: AugmentedMoments,
    subspaces: Subspaces,
    masses: Sequence[FloatArray],
) -> MultiviewMixture:
    """Choose a candidate, bring it to mass one, fit its weights and order its components."""
    best = _choose(candidates)
    means, raw_masses = _normalise_masses(best.embeddings, subspaces.bases, masses)
    weights = nonnegative_weights([projected.first(group) for group in GROUPS], means)
    order = np.argsort(-weights, kind="stable")
    embedding_0, embedding_1, embedding_2 = (
        basis @ mean[:, order] for basis, mean in zip(subspaces.bases, means, strict=True)
    )
    gaps = [_spectral_gap(values, len(weights)) for values in subspaces.singular_values]
    concerns = _concerns(best, gaps)
    return MultiviewMixture(
        weights[order],
        (embedding_0, embedding_1, embedding_2),
        concerns[0] if concerns else Outcome.CONVERGED,
        {
            "chosen": best.name,
            "candidates": {
                one.name: {"residual": one.residual, **one.diagnostics} for one in candidates
            },
            "singular_values": [values.tolist() for values in subspaces.singular_values],
            "spectral_gap": gaps,
            "masses": [mass[order].tolist() for mass in raw_masses],
            "weights_before_fit": best.weights[order].tolist(),
            "concerns": [concern.value for concern in concerns],
        },
    )


def _candidates(
    projected: AugmentedMoments, whitened: WhitenedTriple, method: Method, random_state: int
) -> tuple[list[Candidate], dict[str, str]]:
    """Raw and polished candidates of all targets, and the reasons why some were discarded."""
    kept: list[Candidate] = []
    discarded: dict[str, str] = {}

    def attempt(name: str, estimate: Callable[[], Candidate]) -> Candidate | None:
        """Keep the estimate if it succeeds and is finite."""
        try:
            candidate = estimate()
        except (IdentifiabilityError, np.linalg.LinAlgError) as error:
            discarded[name] = str(error)
            return None
        if not candidate.is_finite:
            discarded[name] = "not finite"
            return None
        kept.append(candidate)
        return candidate

    for target in _TARGETS:
        raw = attempt(
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
            attempt(f"group {target}, polished", partial(polished_candidate, whitened, raw))
    return kept, discarded


def _choose(candidates: Sequence[Candidate]) -> Candidate:
    """Pick the first of the candidates whose residual is as good as the least."""
    least = min(candidate.residual for candidate in candidates)
    good = least * (1.0 + EQUAL_RESIDUALS) + ROUNDING_RESIDUAL
    return next(candidate for candidate in candidates if candidate.residual <= good)


def _component_subspaces(moments: AugmentedMoments, n_components: int) -> Subspaces:
    """Find the k directions of every group; refused where the moments have a smaller rank."""
    subspaces = cross_covariance_subspaces(moments.pairs(), n_components)
    ranks = [
        int(np.count_nonzero(values > RANK_CUT * values[0])) for values in subspaces.singular_values
    ]
    weakest = int(np.argmin(ranks))
    if ranks[weakest] < n_components:
        leading = ", ".join(
            f"{value:.3g}" for value in subspaces.singular_values[weakest][:n_components]
        )
        raise IdentifiabilityError(
            f"the moments support {ranks[weakest]} component{'s' * (ranks[weakest] != 1)}, but "
            f"{n_components} were asked for: the cross moments of group {weakest} with the other "
            f"two have the singular values {leading}. Use n_components={max(ranks[weakest], 1)} or "
            "fewer, or give the views of that group more distinct values or finer features"
        )
    return subspaces


def _normalise_masses(
    embeddings: Sequence[FloatArray], bases: Sequence[FloatArray], masses: Sequence[FloatArray]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Embeddings of mass one, and the masses they had; a negligible mass is left as it is."""
    means, raw_masses = [], []
    for mean, basis, mass in zip(embeddings, bases, masses, strict=True):
        raw = (basis.T @ mass) @ mean
        raw_masses.append(raw)
        means.append(mean / np.where(np.abs(raw) < NEGLIGIBLE_MASS, 1.0, raw))
    return means, raw_masses


def _spectral_gap(values: FloatArray, n_components: int) -> float | None:
    """Ratio of the last singular value kept to the first left out, at most 1/eps."""
    if len(values) <= n_components:
        return None
    floor = float(np.finfo(np.float64).eps * values[0])
    return float(values[n_components - 1] / max(values[n_components], floor))


def _concerns(best: Candidate, gaps: Sequence[float | None]) -> list[Outcome]:
    """List what is doubtful about a solution, gravest first."""
    concerns = []
    if best.diagnostics["floored_eigenvalues"]:
        concerns.append(Outcome.RANK_DEFICIENT)
    if any(gap is not None and gap < CLEAR_GAP for gap in gaps):
        concerns.append(Outcome.SMALL_SPECTRAL_GAP)
    if not best.diagnostics["converged"]:
        concerns.append(Outcome.NOT_CONVERGED)
    return concerns


def _condition_numbers(projected: AugmentedMoments, whitened: WhitenedTriple) -> Diagnostics:
    """Condition numbers of the projected pair moments and of the second moments."""
    return {
        "pairs": {
            f"{a}-{b}": float(np.linalg.cond(pair))
            for (a, b), pair in projected.pairs().items()
            if a < b
        },
        "seconds": [root.condition for root in whitened.roots],
    }


def _check_arguments(
    moments: AugmentedMoments, n_components: int, masses: Sequence[FloatArray], method: str
) -> None:
    """Raise unless the arguments fit together."""
    features = [size - 1 for size in moments.triple.shape]
    if method not in DECOMPOSITIONS:
        raise ParameterError(f"method must be 'jacobi' or 'power', got {method!r}")
    if n_components < 1:
        raise ParameterError(f"n_components must be at least 1, got {n_components}")
    if [np.shape(mass) for mass in masses] != [(size,) for size in features]:
        raise ParameterError(
            f"masses of shapes {[(size,) for size in features]} are needed, got "
            f"{[np.shape(mass) for mass in masses]}"
        )
    if min(features) < n_components:
        raise IdentifiabilityError(
            f"the three groups of views have {features[0]}, {features[1]} and {features[2]} "
            f"features, which support at most {min(features)} components, but {n_components} were "
            "asked for: use fewer components, or more landmarks or directions"
        )
