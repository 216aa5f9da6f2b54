"""The bandwidth of the moments, chosen by the data: by a spectral gap, or by cross-validation."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.models.contract.script import Step
from bigtensor.models.kernel_mixture.groups import (
    Groups,
    SampleFeatures,
    projected_views,
)
from bigtensor.models.kernel_mixture.preparation import KernelMixturePreparation
from bigtensor.models.kernel_mixture.solve import mixture_of_moments
from bigtensor.models.kernel_mixture.stages import moments_windows
from bigtensor.statistics.base import Pass, Statistic
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.densities.log_likelihood import LogLikelihood
from bigtensor.statistics.densities.view_densities import MixtureDensities
from bigtensor.statistics.folds import OfFold, fold_of_rows
from bigtensor.statistics.moments.triple_moments import TripleMoments

FACTORS = (0.25, 0.5, 1.0, 2.0)
"""Bandwidths to choose from, relative to the rule's: half the rule of thumb to four times it."""

FOLDS = 5

CHOICES = ("gap", "cross-validation")
"""How the data can choose a bandwidth."""

Choice = tuple[float, dict[str, Any]]
"""The factor that was chosen, and what it was chosen by."""


def factor_of_largest_gap(
    preparation: KernelMixturePreparation,
) -> Generator[Step, None, Choice]:
    """Choose the bandwidth whose k-th singular value stands out most from the next one.

    Parameters
    ----------
    preparation : KernelMixturePreparation
        Preparation of the pilot sample.
    """
    k = preparation.n_components
    gaps = []
    for number, factor in enumerate(FACTORS):
        yield Step("choosing the bandwidth", number + 1, len(FACTORS))
        features = preparation.features_with_bandwidth(factor)
        _, subspaces = features.projected()
        gaps.append(min(_gap(values, k) for values in subspaces.singular_values))
    return FACTORS[int(np.argmax(gaps))], {"factors": list(FACTORS), "spectral_gaps": gaps}


def factor_by_cross_validation(
    preparation: KernelMixturePreparation,
) -> Generator[Pass[Any] | Step, Any, Choice]:
    """Choose the bandwidth whose spectral mixture gives rows it has not seen the best likelihood.

    Two passes, whatever the number of bandwidths and folds: moments of all rows but those of a
    fold, and the log-likelihood of the rows of that fold. The directions of the features of a fold
    come from the rows of the sample outside the fold: directions that have seen the rows they are
    scored by make narrow bandwidths look good. The landmarks are shared, which is harmless.

    Parameters
    ----------
    preparation : KernelMixturePreparation
        Preparation of the pilot sample. Its own groups are not used.

    Yields
    ------
    Pass or Step
        The passes are ``"cross-validation moments"`` and ``"cross-validation scores"``.
    """
    sample, settings = preparation.pilot, preparation.settings
    assert sample is not None
    seed, windows = settings.random_state, moments_windows(settings)
    fold_of_row = fold_of_rows(sample.index, FOLDS, seed)
    candidates: dict[str, Groups] = {}
    for position, factor in enumerate(FACTORS):
        yield Step("preparing the features of every bandwidth", position + 1, len(FACTORS))
        features = preparation.features_with_bandwidth(factor)
        for fold in range(FOLDS):
            candidates[_name(position, fold)], _ = features.projected(fold_of_row != fold)
    moments = yield Pass(
        "cross-validation moments",
        training_moments(candidates, seed),
        windows,
    )
    yield Step("decomposing the moments of every bandwidth")
    supported = {
        name: mixture_of_moments(moments[name], replace(preparation, groups=groups))
        for name, groups in candidates.items()
    }
    mixtures = {name: mixture for name, mixture in supported.items() if mixture is not None}
    scores = {}
    if mixtures:
        scores = yield Pass("cross-validation scores", held_out_scores(mixtures, seed), windows)
    totals = [
        sum(
            scores[name].log_likelihood if name in scores else -np.inf
            for name in (_name(position, fold) for fold in range(FOLDS))
        )
        / max(
            sum(score.weight for name, score in scores.items() if _has_bandwidth(name, position)),
            1.0,
        )
        for position in range(len(FACTORS))
    ]
    best = FACTORS[int(np.argmax(totals))] if np.isfinite(totals).any() else 1.0
    return best, {
        "factors": list(FACTORS),
        "held_out_log_likelihood": [total if np.isfinite(total) else None for total in totals],
    }


def training_moments(candidates: Mapping[str, Groups], random_state: int) -> Together:
    """Return the moments of all rows outside a fold, for every candidate."""
    moments = {name: TripleMoments(groups) for name, groups in candidates.items()}
    return _of_folds(moments, random_state, inside=False)


def held_out_scores(mixtures: Mapping[str, MixtureDensities], random_state: int) -> Together:
    """Return the log-likelihood of the rows of a fold, for every candidate."""
    scores = {name: LogLikelihood(mixture) for name, mixture in mixtures.items()}
    return _of_folds(scores, random_state, inside=True)


def _of_folds(
    statistics: Mapping[str, Statistic[Any]], random_state: int, *, inside: bool
) -> Together:
    """Return statistics of the rows inside or outside the fold of every candidate."""
    return Together(
        tuple(
            (name, OfFold(one, FOLDS, _fold(name), inside=inside, random_state=random_state))
            for name, one in statistics.items()
        )
    )


def candidate_names() -> list[str]:
    """Return the names of all pairs of a bandwidth and a fold."""
    return [_name(position, fold) for position in range(len(FACTORS)) for fold in range(FOLDS)]


def _name(position: int, fold: int) -> str:
    """Return the name of a bandwidth and a fold."""
    return f"bandwidth {position} fold {fold}"


def _fold(name: str) -> int:
    """Return the fold in a name."""
    return int(name.rsplit(" ", 1)[1])


def _has_bandwidth(name: str, position: int) -> bool:
    """Return True if the candidate uses this bandwidth."""
    return name.startswith(f"bandwidth {position} ")


def _gap(values: FloatArray, k: int) -> float:
    """Return by how much the k-th singular value exceeds the next one, over the largest."""
    following = values[k] if len(values) > k else 0.0
    return float((values[k - 1] - following) / values[0])


def with_chosen_bandwidth(
    preparation: KernelMixturePreparation,
) -> Generator[Pass[Any] | Step, Any, KernelMixturePreparation]:
    """Choose the bandwidth of the moments as the settings say, and prepare their features again."""
    settings = preparation.settings
    if preparation.groups is None or settings.bandwidth not in CHOICES:
        return preparation
    if settings.bandwidth == "gap":
        factor, figures = yield from factor_of_largest_gap(preparation)
    else:
        factor, figures = yield from factor_by_cross_validation(preparation)
    features = SampleFeatures.of_sample(
        preparation.rows, preparation.scale, replace(settings, bandwidth=factor)
    )
    groups, others, of_features = projected_views(features)
    choice = {"bandwidth_choice": {"chosen": factor, **figures}}
    diagnostics = {**preparation.diagnostics, **choice, **of_features}
    return replace(preparation, groups=groups, others=others, diagnostics=diagnostics)
