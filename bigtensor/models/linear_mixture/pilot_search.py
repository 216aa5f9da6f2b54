"""Components of a pilot sample: searched for, or of labelled rows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.sample_tensors.discovery import DiscoverySettings, left_weight
from bigtensor.decomposition.sample_tensors.gauss_newton import descended
from bigtensor.decomposition.sample_tensors.power_updates import power_updates
from bigtensor.decomposition.sample_tensors.subspace_solution import subspace_terms
from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.models.contract.script import Script, Step
from bigtensor.models.gaussian.component_labels import check_label_means
from bigtensor.models.gaussian.component_shapes import component_shapes
from bigtensor.models.linear_mixture.columns import components_of, terms_of
from bigtensor.models.linear_mixture.method_choice import n_starts
from bigtensor.models.linear_mixture.search import UPDATES, FoundTerms, search
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.moment_tensors.pilot_tensor import sample_initialisations
from bigtensor.models.moment_tensors.sample_tensor import SampleTensor
from bigtensor.statistics.base import Pass
from bigtensor.statistics.gaussian.label_means import LabelMeans, LabelMeansResult
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.moments.covariances import CovariancesResult


def searched_terms(
    tensor: SampleTensor, rows: Block, settings: LinearSettings
) -> Generator[Step, None, FoundTerms]:
    """Find terms from rows of the sample, by whitening too where it is possible."""

    def whitened() -> Terms:
        k, seed = settings.n_components, settings.random_state
        return subspace_terms(tensor.rows(rows), tensor.constants, k, seed)

    starts = sample_initialisations(tensor, rows, settings.random_state)
    contract = tensor.contract_in_memory(rows)
    moments = sum_in_memory(tensor.covariances(), rows)
    terms: FoundTerms = yield from search(
        contract, starts, whitened, tensor, moments, rows.rows, settings
    )
    tails = _tails(terms.terms, tensor, rows, moments, settings)
    return replace(terms, diagnostics={**terms.diagnostics, "tails": tails})


def starting_columns(tensor: SampleTensor, rows: Block, settings: LinearSettings) -> Terms:
    """Return columns to start from without the sample: rows of it after one power update."""
    starts = sample_initialisations(tensor, rows, settings.random_state)(n_starts(settings))
    columns = power_updates(tensor.contract_in_memory(rows), starts, 1)
    # fewer than were asked for where the sample has fewer rows
    weights = np.ones(columns[0].shape[1])
    return Terms.of_columns(weights, columns, tensor.orders)


def labelled_terms(tensor: SampleTensor, rows: Block, settings: LinearSettings) -> Script:
    """Ask for the means of labelled rows, and move them towards the moment of the sample.

    Power updates would lead away from them. The means are returned beside the terms.
    """
    label_means: LabelMeansResult = yield label_pass(settings, np.concatenate(tensor.references))
    check_label_means(label_means, settings.shape.groups)
    contract = tensor.contract_in_memory(rows)
    terms = descended(contract, terms_of(label_means.means, tensor))
    diagnostics: dict[str, Any] = {
        "initialisation": "labels",
        "rounds": 0,
        "components_seen": terms.n_terms,
    }
    starts = sample_initialisations(tensor, rows, settings.random_state)
    left = left_weight(contract, starts, terms, DiscoverySettings(settings.n_components, UPDATES))
    moments = sum_in_memory(tensor.covariances(), rows)
    tails = _tails(terms, tensor, rows, moments, settings)
    return FoundTerms(terms, diagnostics | {"left_weight": left, "tails": tails}), label_means


def label_pass(settings: LinearSettings, point: np.ndarray) -> Pass[LabelMeansResult]:
    """Return the pass that sums labelled rows."""
    return Pass("labels", LabelMeans(settings.n_components, point))


def _tails(
    terms: Terms,
    tensor: SampleTensor,
    rows: Block,
    moments: CovariancesResult,
    settings: LinearSettings,
) -> float:
    """Return the excess kurtosis of the lengths of residuals about the components of the sample."""
    components = components_of(terms, tensor, moments, settings.shape.views, settings.shape.dtype)
    return component_shapes(components, rows).tails
