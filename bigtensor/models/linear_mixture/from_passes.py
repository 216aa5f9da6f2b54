"""Components that are searched for in passes over all rows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from bigtensor.decomposition.sample_tensors.column_lengths import lengths_from_pairs
from bigtensor.decomposition.sample_tensors.discovery import (
    Discovery,
    DiscoverySettings,
    requested_discovery,
    requested_left_weight,
)
from bigtensor.decomposition.sample_tensors.gauss_newton import requested_descent
from bigtensor.decomposition.sample_tensors.power_method import requested_power_method
from bigtensor.decomposition.sample_tensors.terms import Factors, Terms
from bigtensor.models.contract.script import Script, Step
from bigtensor.models.linear_mixture.columns import columns_of, heaviest, no_component, terms_of
from bigtensor.models.linear_mixture.from_formed_tensor import pairs_pass
from bigtensor.models.linear_mixture.located import LinearPreparation, Located
from bigtensor.models.linear_mixture.search import UPDATES, drawn_from
from bigtensor.models.moment_tensors.sample_tensor import Refined, SampleTensor, contraction_pass
from bigtensor.statistics.base import Pass
from bigtensor.statistics.moments.covariances import CovariancesResult
from bigtensor.statistics.within_reach import ResultWithin, WithinReach

PUBLISHED_UPDATES = 30
"""Power updates from every initialisation, and again from every centre of a cluster."""

_Result = TypeVar("_Result")


def from_passes(preparation: LinearPreparation) -> Script:
    """Ask for every contraction of the search, and of Gauss-Newton steps until they settle.

    The search is the first one in a sample, by power updates alone; its initialisations are from
    the sample.
    """
    tensor, settings = preparation.tensor, preparation.settings
    search = DiscoverySettings(settings.n_components, UPDATES)
    starts = drawn_from(preparation.terms.factors, settings.random_state)
    none = Terms.empty(tensor.sizes, tensor.orders)
    discovery: Discovery = yield from by_passes(requested_discovery(starts, none, search), tensor)
    if not discovery.terms.n_terms:
        raise no_component()
    settled = yield from by_passes(requested_descent(discovery.terms), tensor)
    terms = heaviest(settled, tensor, settings.n_components)
    left = yield from by_passes(requested_left_weight(starts, terms, search), tensor)
    sums = yield within_pass(tensor)
    total: CovariancesResult = sums.result
    diagnostics = {
        "initialisation": "power updates",
        "rounds": discovery.rounds,
        "left_weight": left,
    }
    return Located(
        Refined(terms, {"total": total}, total.weight, sums.left_out, no_steps()),
        diagnostics | {"components_seen": settled.n_terms},
    )


def from_power_updates(preparation: LinearPreparation) -> Script:
    """Ask for power updates of the raw moment, and cluster their ends.

    Algorithm 1 with procedure 2 of Anandkumar, Ge and Janzamin (2015), in the units of the data and
    about the origin. Lengths and weights follow from the pair moments.
    """
    tensor, settings = preparation.tensor, preparation.settings
    raw = raw_tensor(tensor)
    _, starts = columns_of(preparation.terms, tensor)
    search = requested_power_method(
        tuple(starts), raw.orders, settings.n_components, PUBLISHED_UPDATES
    )
    terms: Terms = yield from by_passes(search, raw)
    sums = yield pairs_pass(raw)
    total = sums.result
    second = total.covariance + np.outer(total.mean, total.mean)
    weights, columns = lengths_from_pairs(terms, second)
    if not weights.size:
        raise no_component()
    located = terms_of(np.vstack(columns).T, tensor, weights)
    diagnostics = {
        "initialisation": "power updates as published",
        "rounds": 1,
        "components_seen": weights.size,
    }
    refinement = Refined(located, {"total": total}, total.weight, sums.left_out, no_steps())
    return Located(refinement, diagnostics | {"left_weight": None})


def within_pass(tensor: SampleTensor) -> Pass[ResultWithin[CovariancesResult]]:
    """Return the pass that sums the covariances within the views."""
    return Pass("covariances", WithinReach(tensor.covariances(), tensor.within))


def no_steps() -> dict[str, Any]:
    """Return the diagnostics of a fit without Gauss-Newton steps after its search."""
    return {"objective": [], "accepted": [], "movement": []}


def raw_tensor(tensor: SampleTensor) -> SampleTensor:
    """Return the tensor of the ordinary rows about the origin, in the units of the data."""
    zeros = tuple(np.zeros_like(reference) for reference in tensor.references)
    ones = tuple(np.ones_like(reference) for reference in tensor.references)
    return replace(tensor, references=zeros, constants=np.zeros(len(zeros)), scales=ones)


def by_passes(
    requests: Generator[Any, Any, _Result], tensor: SampleTensor
) -> Generator[Any, Any, _Result]:
    """Ask for a pass over all rows for every contraction that an algorithm requests.

    Parameters
    ----------
    requests : generator
        Yields columns, or the number of terms that it has found so far.
    tensor : SampleTensor
        Tensor that is contracted.
    """
    moments: Factors | None = None
    while True:
        try:
            item = requests.send(moments)
        except StopIteration as end:
            result: _Result = end.value
            return result
        moments = None
        if isinstance(item, int):
            yield Step(f"finding components in all rows: {item}")
            continue
        sums = yield contraction_pass(tensor, item, {})
        moments = tensor.moments(sums.result["contractions"])
