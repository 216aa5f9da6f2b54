"""Choice between whitened sources and the fourth cumulant, on the pilot sample."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sample_tensors.gauss_newton import objective
from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.decomposition.sources.independent_components import PrincipalAxes
from bigtensor.models.contract.script import Step
from bigtensor.models.sources.components import of_terms
from bigtensor.models.sources.ica.dependence import SourceProducts, source_products
from bigtensor.models.sources.ica.estimated_errors import estimated_errors, matched_terms
from bigtensor.models.sources.whitened_sample import (
    WhitenedSample,
    cumulant_terms,
    embedded,
    freed_terms,
    rotation_terms,
    settled_rotation,
    share_a_source,
)

MOST_OF_INDEPENDENT = 2.0
"""Dependence of whitened sources relative to that of independent ones that is no sign of noise."""

LEAST_GAIN = 0.002
"""Mean gain on held-out rows above which there may be noise."""

CLEAR_LOSS = -0.03
"""Gain below which one half of the sample is enough to tell that there is no noise."""

LEAST_RATIO = 2.5
"""Ratio of the dependences of both estimators above which the smaller one is clearly smaller.

If sources are slow, such as a few periods of an oscillation, blocks of rows are unlike each other,
and a draw of them does not tell which dependence is smaller.
"""

LEAST_AGREEMENT = 0.9
"""Share of the drawn blocks of rows that agree that the cumulant's sources depend less."""

LEAST_ERROR_RATIO = 2.0
"""Squared error of whitened columns relative to the cumulant's, above which there is noise."""

NO_OBJECTION = 0.4
"""Share of the drawn blocks with which dependence does not speak against the cumulant."""

LEAST_KURTOSIS = -2.5
"""No kurtosis is below -2, but its estimate may be."""

_MOST_LIGHT_VARIANCE = math.sqrt(LEAST_KURTOSIS / -2)
"""Variance of one source of the least kurtosis. Sources with light tails cannot need more."""

_MOST_EXCESS = 0.5
_MOST_EXCESS_OF_NOISE = 2.0
"""Variance of sources beyond what the rows have along a direction, and relative to the mean share
of noise, above which their columns do not fit the covariance.

Lengths of columns are wrong by as much as the noise depends between features. With .2 in place of
.5, the cumulant is refused where it is right, for ten markers of cells without noise (.30 and .47).
"""

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
        independent sources, ``agreement``, the share of the draws of rows in which the sources of
        the cumulant depend less, and ``error_ratio``, the squared error of whitened columns
        relative to that of the cumulant. Only entries that were needed are there.
    """

    method: str
    terms: Terms | None
    evidence: dict[str, Any]


def chosen_method(
    sample: WhitenedSample, rotation: FloatArray, rows: float, random_state: int
) -> Generator[Step, None, MethodChoice]:
    """Return the estimator with the smaller error; on ties, whitened sources.

    Gaussian noise makes the columns of whitened rows oblique, so that they are farther from the
    columns of the cumulant than chance makes them. Sources that depend on each other do the same.
    The dependence of the sources, in which Gaussian noise has no part, tells them apart.

    Parameters
    ----------
    sample : WhitenedSample
        Along all axes.
    rotation : (q, k) array
        Orthonormal columns, zero along the axes after the first k.
    rows : float
        Rows of the fit.
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
    independent = evidence["whitened"] <= MOST_OF_INDEPENDENT * evidence["independent"]
    if independent and not _gains_by_oblique_columns(sample, rotation):
        return MethodChoice("whitened", None, evidence)
    yield Step("comparing with the fourth cumulant")
    terms = yield from cumulant_terms(sample, n_components, rotation, random_state)
    is_impossible = light_variance(terms) > _MOST_LIGHT_VARIANCE
    if terms.n_terms < n_components or is_impossible or share_a_source(terms):
        return MethodChoice("whitened", None, evidence)
    if exceeds_covariance(sample.axes, terms):
        return MethodChoice("whitened", None, evidence)
    terms = matched_terms(terms, rotation)
    cumulant = source_products(sample, terms.factors[0])
    evidence["cumulant"] = cumulant.dependence()
    evidence["agreement"] = _agreement(whitened, cumulant)
    error, other = estimated_errors(sample, rotation, terms, rows)
    evidence["error_ratio"] = error / other
    less_dependent = (
        evidence["whitened"] >= LEAST_RATIO * evidence["cumulant"]
        and evidence["agreement"] >= LEAST_AGREEMENT
    )
    more_precise = (
        evidence["error_ratio"] >= LEAST_ERROR_RATIO
        and evidence["cumulant"] <= LEAST_RATIO * evidence["whitened"]
        and evidence["agreement"] >= NO_OBJECTION
    )
    if less_dependent or more_precise:
        return MethodChoice("cumulant", terms, evidence)
    return MethodChoice("whitened", None, evidence)


def light_variance(terms: Terms) -> float:
    r"""Return the largest variance along a direction that sources with light tails need.

    A source of the column c has the weight :math:`w = \kappa |c|^4`. No kurtosis :math:`\kappa` is
    below -2, so that :math:`|c|^2` is at least :math:`\sqrt{|w| / 2}` where w is negative. Whitened
    rows have unit variance along every direction. More is impossible, whatever the Gaussian noise:
    nearly parallel terms cancel each other, and are no sources.

    Parameters
    ----------
    terms : Terms
        Of whitened rows.
    """
    light = terms.take(terms.weights < 0)
    columns = light.factors[0] * (np.abs(light.weights) / 2) ** 0.25
    return float(np.linalg.norm(columns, 2)) ** 2 if light.n_terms else 0.0


def exceeds_covariance(axes: PrincipalAxes, terms: Terms) -> bool:
    """Return True if sources need more variance than the rows have, beyond what noise explains.

    The fourth cumulant does not see a Gaussian source. A spurious column stands in its place, which
    follows the sampling error of another source and has that source's variance a second time.

    Parameters
    ----------
    axes : PrincipalAxes
        Principal axes of the rows.
    terms : Terms
        Along the axes.
    """
    covariance = axes.unwhitening @ axes.unwhitening.T
    mean = np.zeros(len(covariance))
    components, _ = of_terms(axes, terms, covariance, mean, (), "float64", all_terms=True)
    excess = components.largest_variance - 1
    return excess > max(_MOST_EXCESS, _MOST_EXCESS_OF_NOISE * components.noise_share)


def _gains_by_oblique_columns(sample: WhitenedSample, rotation: FloatArray) -> bool:
    """Return True if oblique columns are nearer to the cumulant of rows that were held out.

    Both kinds of columns are fitted to one half of the sample. The squared distance of each from
    the cumulant of the other half is known up to a number that they share. This is quick, and tells
    nothing where consecutive rows are alike.

    Parameters
    ----------
    sample : WhitenedSample
        Along all axes.
    rotation : (q, k) array
        Orthonormal columns, zero along the axes after the first k.
    """
    gains, k = [], rotation.shape[1]
    for held_out in (0, 1):
        fitted, other = sample.part(1 - held_out, 2), sample.part(held_out, 2)
        contract, test = fitted.cumulant(), other.cumulant()
        columns = embedded(settled_rotation(fitted.along(k), rotation[:k]), sample.n_axes)
        distances = [
            objective(terms, test(terms.factors))
            for terms in (rotation_terms(contract, columns), freed_terms(contract, columns))
        ]
        gains.append((distances[0] - distances[1]) / (abs(distances[0]) or 1.0))
        if gains[-1] <= CLEAR_LOSS:
            break
    return sum(gains) / len(gains) > LEAST_GAIN


def _agreement(whitened: SourceProducts, cumulant: SourceProducts) -> float:
    """Return the share of draws of blocks in which the sources of the cumulant depend less."""
    blocks = len(whitened.weight)
    random = np.random.default_rng(17)
    draws = random.multinomial(blocks, np.full(blocks, 1 / blocks), size=_DRAWS).astype(np.float64)
    less = [whitened.dependence(times) > cumulant.dependence(times) for times in draws]
    return float(np.mean(less))
