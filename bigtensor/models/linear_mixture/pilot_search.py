"""Components of a pilot sample: searched for, or started from labelled rows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtensor.data.block import Block
from bigtensor.decomposition.sample_tensors.discovery import DiscoverySettings, left_weight
from bigtensor.decomposition.sample_tensors.gauss_newton import descended
from bigtensor.decomposition.sample_tensors.subspace_solution import MOST_TERMS, subspace_terms
from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.errors import IdentifiabilityError
from bigtensor.models.component_shapes import component_shapes
from bigtensor.models.labelled_fit import check_label_means
from bigtensor.models.linear_mixture.columns import (
    components_of,
    heaviest,
    is_valid,
    no_component,
    terms_of,
    valid_terms,
)
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.pilot_tensor import sample_starts
from bigtensor.models.sample_tensor import SampleTensor, discover_terms, nearest
from bigtensor.models.script import Script, Step
from bigtensor.statistics.base import Pass
from bigtensor.statistics.covariances import Covariances
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.label_means import LabelMeans, LabelMeansResult

_MORE = 2
"""Terms that are searched for where those asked for are no components, for each of them."""

UPDATES = 4
"""Power updates from rows of the sample, which are close to columns already."""


@dataclass(frozen=True, eq=False)
class PilotTerms:
    """Terms of a pilot sample.

    Attributes
    ----------
    terms : Terms
    diagnostics : dict
        ``start``, ``rounds`` of the search, ``components_seen``, which may be more than asked for,
        ``left_weight``: the largest weight that starts find once the terms are subtracted, over the
        median of the terms, and ``tails``: the excess kurtosis of the lengths of residuals.
    """

    terms: Terms
    diagnostics: dict[str, Any]


def searched_terms(
    tensor: SampleTensor, rows: Block, settings: LinearSettings
) -> Generator[Step, None, PilotTerms]:
    """Find terms from rows, by whitening too where it is possible, and keep the nearest."""
    contract, k = tensor.contract_in_memory(rows), settings.n_components
    starts = sample_starts(tensor, rows, settings.random_state)
    search = DiscoverySettings(k, UPDATES)
    none = Terms.empty(tensor.sizes, tensor.orders)
    found = yield from discover_terms(contract, starts, none, search)
    candidates = {"power updates": found.terms}
    if k <= min(*tensor.sizes, MOST_TERMS):
        try:
            spectral = subspace_terms(tensor.rows(rows), tensor.constants, k, settings.random_state)
            candidates["whitening"] = descended(contract, spectral)
        except IdentifiabilityError:
            pass  # the power updates say how many components there are
    names = list(candidates)
    start = names[nearest(contract, list(candidates.values()))]
    terms, weight = candidates[start], rows.total_weight()
    if k > 1 and not is_valid(terms, tensor, weight).all():
        terms = valid_terms(contract, terms, tensor, weight)
        if terms.n_terms <= k // 2:
            # fewer terms than components are mixtures of them: what more terms would be tells
            wider = replace(search, n_terms=_MORE * k)
            more = yield from discover_terms(contract, starts, none, wider)
            seen = valid_terms(contract, more.terms, tensor, weight)
            terms = max(seen, terms, key=lambda found: found.n_terms)
    if not terms.n_terms:
        raise no_component()
    told: dict[str, Any] = {"start": start, "rounds": found.rounds}
    told["components_seen"] = terms.n_terms
    terms = heaviest(terms, tensor, k)
    left = left_weight(contract, starts, terms, search)
    told["left_weight"] = left
    told["tails"] = _tails(terms, tensor, rows, settings)
    return PilotTerms(terms, told)


def labelled_terms(tensor: SampleTensor, rows: Block, settings: LinearSettings) -> Script:
    """Ask for the means of labelled rows, and move them towards the moment of the sample.

    Power updates would lead away from them.
    """
    found: LabelMeansResult = yield label_pass(settings, np.concatenate(tensor.references))
    check_label_means(found, settings.labels)
    contract = tensor.contract_in_memory(rows)
    terms = descended(contract, terms_of(found.means, tensor))
    told: dict[str, Any] = {"start": "labels", "rounds": 0, "components_seen": terms.n_terms}
    starts = sample_starts(tensor, rows, settings.random_state)
    left = left_weight(contract, starts, terms, DiscoverySettings(settings.n_components, UPDATES))
    told["left_weight"] = left
    told["tails"] = _tails(terms, tensor, rows, settings)
    return PilotTerms(terms, told)


def label_pass(settings: LinearSettings, point: np.ndarray) -> Pass[LabelMeansResult]:
    """Return the pass that sums labelled rows."""
    return Pass("labels", LabelMeans(settings.n_components, point))


def _tails(terms: Terms, tensor: SampleTensor, rows: Block, settings: LinearSettings) -> float:
    """Return the excess kurtosis of the lengths of residuals about the components of the sample."""
    point = np.concatenate(tensor.references)
    moments = sum_in_memory(Covariances(settings.columns, point, settings.dtype), rows)
    components = components_of(terms, tensor, moments, settings.views, settings.dtype)
    return component_shapes(components, rows).tails
