"""Choice between whitened sources and the fourth cumulant, by the dependence of the sources."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.models.contract.script import Step
from bigtensor.models.sources.ica.dependence import SourceProducts, source_products
from bigtensor.models.sources.whitened_sample import WhitenedSample, cumulant_terms

MOST_OF_INDEPENDENT = 2.0
"""Dependence relative to that of independent sources, up to which there is nothing to gain."""

LEAST_RATIO = 2.0
"""Dependence of whitened sources relative to that of the cumulant, above which there is noise."""

LEAST_AGREEMENT = 0.9
"""Share of the drawn blocks of rows that agree with the choice of the cumulant."""

LEAST_KURTOSIS = -2.5
"""No kurtosis is below -2, but its estimate may be."""

_DRAWS = 200


@dataclass(frozen=True)
class MethodChoice:
    """Method, the terms of the cumulant for that method, and the evidence.

    Attributes
    ----------
    method : {"whitened", "cumulant"}
        Estimator of the sources.
    terms : Terms, optional
        Terms of the cumulant, if that was chosen.
    evidence : dict
        ``whitened`` and ``cumulant``, the dependence of their sources, ``independent``, that of
        independent sources, and ``agreement``, the share of the draws of rows in which the
        sources of the cumulant are less dependent. Empty where nothing was compared.
    """

    method: str
    terms: Terms | None
    evidence: dict[str, Any]


def chosen_method(
    sample: WhitenedSample, rotation: FloatArray, random_state: int
) -> Generator[Step, None, MethodChoice]:
    """Return the estimator whose sources depend less on each other; on ties, whitened sources.

    Parameters
    ----------
    sample : WhitenedSample
        Along all axes.
    rotation : (q, k) array
        Orthonormal columns, along all axes.
    random_state : int
        Seed of the search for terms of the cumulant.
    """
    n_components = rotation.shape[1]
    evidence: dict[str, Any] = {}
    if n_components < 2:
        return MethodChoice("whitened", None, evidence)
    yield Step("judging the sources")
    whitened = source_products(sample, rotation)
    evidence["independent"] = whitened.of_independent_sources()
    evidence["whitened"] = whitened.dependence()
    if evidence["whitened"] <= MOST_OF_INDEPENDENT * evidence["independent"]:
        return MethodChoice("whitened", None, evidence)
    yield Step("comparing with the fourth cumulant")
    terms = yield from cumulant_terms(sample, n_components, rotation, random_state)
    if terms.n_terms < n_components or (terms.weights < LEAST_KURTOSIS).any():
        return MethodChoice("whitened", None, evidence)
    cumulant = source_products(sample, terms.factors[0])
    evidence["cumulant"] = cumulant.dependence()
    evidence["agreement"] = _agreement(whitened, cumulant)
    clear = (
        evidence["whitened"] >= LEAST_RATIO * evidence["cumulant"]
        and evidence["agreement"] >= LEAST_AGREEMENT
    )
    return MethodChoice("cumulant" if clear else "whitened", terms if clear else None, evidence)


def _agreement(whitened: SourceProducts, cumulant: SourceProducts) -> float:
    """Return the share of draws of blocks in which the sources of the cumulant depend less."""
    blocks = len(whitened.weight)
    random = np.random.default_rng(17)
    draws = random.multinomial(blocks, np.full(blocks, 1 / blocks), size=_DRAWS).astype(np.float64)
    less = [whitened.dependence(times) > cumulant.dependence(times) for times in draws]
    return float(np.mean(less))
