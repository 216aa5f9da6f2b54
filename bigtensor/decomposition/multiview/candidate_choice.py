"""From the candidates of a mixture to the one that is returned."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview.mixture_candidates import Candidate, Method, WhitenedTriple
from bigtensor.decomposition.multiview.nonnegative_weights import nonnegative_weights
from bigtensor.decomposition.multiview.subspaces import GROUPS, Subspaces
from bigtensor.decomposition.solution import Diagnostics, MultiviewMixture, Outcome
from bigtensor.descending_order import descending_order
from bigtensor.errors import IdentifiabilityError

CLEAR_GAP = 1.5
"""Smallest ratio of a singular value of signal to the largest one of noise.

The first value left out stands for the latter.
"""

EQUAL_RESIDUALS = 1e-4
"""Relative difference of residuals that rounding errors of the sums over rows could reverse.

Improved candidates usually reach one and the same optimum, and differ in where on the last step to
it they stopped. Among equals the first is taken, so that the chunking of the data does not choose
the estimate.
"""

ROUNDING_RESIDUAL = 1e-12
"""Relative residual below which only rounding errors are compared."""

NEGLIGIBLE_MASS = 1e-3
"""Mass of a component below which its embedding is not divided by it."""


@dataclass
class CandidatePool:
    """Candidates in the order of the attempts, and why some attempts gave none.

    Attributes
    ----------
    kept : list of Candidate
        All finite.
    discarded : dict of str to str
        Name to reason.
    """

    kept: list[Candidate] = field(default_factory=list)
    discarded: dict[str, str] = field(default_factory=dict)

    def attempt(self, name: str, estimate: Callable[[], Candidate]) -> Candidate | None:
        """Keep the estimate if it succeeds and is finite."""
        try:
            candidate = estimate()
        except (IdentifiabilityError, np.linalg.LinAlgError) as error:
            self.discarded[name] = str(error)
            return None
        if not candidate.is_finite:
            self.discarded[name] = "not finite"
            return None
        self.kept.append(candidate)
        return candidate


def settle_mixture(
    pool: CandidatePool,
    projected: AugmentedMoments,
    whitened: WhitenedTriple,
    subspaces: Subspaces,
    masses: Sequence[FloatArray],
    method: Method,
) -> MultiviewMixture:
    """Choose a candidate, bring it to mass one, fit its weights and order its components.

    Parameters
    ----------
    pool : CandidatePool
        Candidates to choose from.
    projected : AugmentedMoments
        Moments of k features in each group.
    whitened : WhitenedTriple
        Of the same moments.
    subspaces : Subspaces
        The bases of the k features in those of the groups.
    masses : sequence of three ndarrays of shape (q_g,)
        Integral of every feature of a group.
    method : {"jacobi", "power"}
        How the candidates were found, for the diagnostics.

    Returns
    -------
    MultiviewMixture
        Components by descending weight.

    Raises
    ------
    IdentifiabilityError
        If there is no candidate.
    """
    if not pool.kept:
        raise IdentifiabilityError(
            f"no decomposition into {projected.triple.shape[0] - 1} components is finite "
            f"({'; '.join(f'{name}: {reason}' for name, reason in pool.discarded.items())}); use "
            "fewer components, more rows, or views that tell the components apart better"
        )
    best = _choose(pool.kept)
    means, raw_masses = _normalise_masses(best.embeddings, subspaces.bases, masses)
    weights = nonnegative_weights([projected.first(group) for group in GROUPS], means)
    order = descending_order(weights)
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
            "rows": int(projected.count),
            "method": method,
            "chosen": best.name,
            "candidates": {
                one.name: {"residual": one.residual, **one.diagnostics} for one in pool.kept
            },
            "discarded": pool.discarded,
            "singular_values": [values.tolist() for values in subspaces.singular_values],
            "signal_to_noise": _signal_to_noise(projected, subspaces),
            "spectral_gap": gaps,
            "condition_numbers": _condition_numbers(projected, whitened),
            "masses": [mass[order].tolist() for mass in raw_masses],
            "weights_before_fit": best.weights[order].tolist(),
            "concerns": [concern.value for concern in concerns],
        },
    )


def _choose(candidates: Sequence[Candidate]) -> Candidate:
    """Pick the first of the candidates whose residual is as good as the least."""
    least = min(candidate.residual for candidate in candidates)
    good = least * (1.0 + EQUAL_RESIDUALS) + ROUNDING_RESIDUAL
    return next(candidate for candidate in candidates if candidate.residual <= good)


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


def _signal_to_noise(projected: AugmentedMoments, subspaces: Subspaces) -> list[float]:
    """Ratio of the last singular value kept to its standard error, for every group.

    The sampling noise of the stacked pair moments in direction u of group a has about the variance
    ``u' S_a u (tr S_b + tr S_c) / n`` with the second moments S of the projected features. A ratio
    near one is noise; it grows with the square root of the rows.
    """
    seconds = [second[1:, 1:] for second in projected.seconds]
    last = len(seconds[0]) - 1
    total = sum(float(np.trace(second)) for second in seconds)
    ratios = []
    for second, values in zip(seconds, subspaces.singular_values, strict=True):
        others = total - float(np.trace(second))
        noise = np.sqrt(max(second[last, last] * others, 0.0) / projected.count)
        ratios.append(float(values[last] / max(noise, np.finfo(np.float64).tiny)))
    return ratios


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
