"""The methods that are compared on mixtures of three views with a known joint table."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor import DiscreteMixture
from bigtensor.decomposition.discrete.discrete_spectral import spectral_factors
from bigtensor.errors import ConditioningWarning, IdentifiabilityError
from tests.benchmarks.baselines.count_em import (
    Factors,
    best_of_random_starts,
    expectation_maximisation,
)
from tests.benchmarks.discrete.small_alphabets import Drawn, table_of
from tests.decomposition.discrete_tables import unscaled_core

FloatArray = NDArray[np.float64]
Method = Callable[[Drawn], FloatArray | None]

EX = "ex"
EX_NONE = "ex, ridge none"
EX_LITERAL = "ex_literal"
SVD, SVD_JOINT, STD = "svd", "svd_joint", "std"
EM_LOOSE, EM_TIGHT = "EM(10) 1e-4", "EM(10) 1e-7"
EM_MAP = "EM-MAP(10)"
EM_SVD = "EM&SVD 1e-4"
EM_TRUTH = "EM from the truth"

LEAST_SHARE = 1e-6
"""Smallest entry of a projected spectral solution: EM never leaves a zero."""


def fitted(drawn: Drawn, **parameters: Any) -> DiscreteMixture:
    """Fit the counts of a model as distinct rows with weights."""
    rows, weights = drawn.distinct
    with warnings.catch_warnings():
        # a component of the truth may have hardly any row
        warnings.simplefilter("ignore", ConditioningWarning)
        model = DiscreteMixture(drawn.components, **parameters)
        return model.fit(rows, sample_weight=weights)


def _ours(drawn: Drawn, **parameters: Any) -> FloatArray | None:
    """Return the table of a fit; None where the counts support no spectral solution."""
    try:
        return table_of(fitted(drawn, **parameters))
    except IdentifiabilityError:
        return None


def random_em(drawn: Drawn, tolerance: float, pseudo_count: float = 0.0) -> FloatArray:
    """Return the table of the best of ten random starts."""
    rng = np.random.default_rng(0)
    k = drawn.components
    return best_of_random_starts(drawn.counts, k, tolerance, rng, pseudo_count).table


def _em_after_svd(drawn: Drawn) -> FloatArray | None:
    """Return the table of EM from the projected spectral solution."""
    core = unscaled_core(drawn.counts / drawn.counts.sum())
    rng = np.random.default_rng(0)
    try:
        found = spectral_factors(core, drawn.components, view=1, rotation="single", rng=rng)
    except IdentifiabilityError:
        return None
    first, second, third = map(on_simplex, found.factors.probabilities)
    weights = on_simplex(found.factors.weights[:, None])[:, 0]
    return _em_from(drawn, (weights, first, second, third), 1e-4)


def _em_from(drawn: Drawn, start: Factors, tolerance: float) -> FloatArray:
    """Return the table of EM from one start."""
    return expectation_maximisation(drawn.counts, [start], tolerance)[0].table


def on_simplex(columns: FloatArray) -> FloatArray:
    """Return the nearest distributions to columns, with a small share of the uniform one."""
    ordered = -np.sort(-columns, axis=0)
    places = np.arange(1, len(columns) + 1)[:, None]
    excess = (np.cumsum(ordered, axis=0) - 1.0) / places
    last = np.count_nonzero(ordered > excess, axis=0) - 1
    projected = np.maximum(columns - excess[last, np.arange(columns.shape[1])], LEAST_SHARE)
    return projected / projected.sum(axis=0)


METHODS: dict[str, Method] = {
    EX: _ours,
    EX_NONE: partial(_ours, ridge=None),
    EX_LITERAL: partial(_ours, method="ex_literal"),
    SVD: partial(_ours, method="svd"),
    SVD_JOINT: partial(_ours, method="svd_joint"),
    STD: partial(_ours, method="std"),
    EM_LOOSE: partial(random_em, tolerance=1e-4),
    EM_TIGHT: partial(random_em, tolerance=1e-7),
    EM_MAP: partial(random_em, tolerance=1e-6, pseudo_count=0.5),
    EM_SVD: _em_after_svd,
    EM_TRUTH: lambda drawn: _em_from(drawn, drawn.factors, 1e-7),
}
"""Name of a method to the joint probabilities it estimates, None where it has no estimate."""
