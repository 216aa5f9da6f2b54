"""Comparison of a fitted discrete mixture with independent views, which are one component."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.discrete.association import independence_p_value
from bigtensor.models.discrete_mixture.expectation_maximisation import Estimated

LEVEL = 0.05
"""P-value above which no pair of views is associated beyond the noise.

FIGURES
"""


def comparison_with_independence(rows: Block, estimated: Estimated) -> dict[str, float]:
    """Return how much better a mixture explains its rows than independent views do.

    Parameters
    ----------
    rows : Block
        Codes of all rows that the mixture was estimated from.
    estimated : Estimated
        Mixture of several components.

    Returns
    -------
    dict
        ``log_likelihood_gain`` in nats, ``parameters`` beyond those of one component and, if the
        criterion of Akaike prefers independent views, ``p_value`` of their independence. It is
        empty without EM iterations, for one component, and if pairs of views are not counted.
    """
    k, solution = estimated.solution.n_components, estimated.solution
    if k == 1 or not estimated.likelihoods:
        return {}
    gain = estimated.likelihoods[-1] * rows.total_weight() - _independent_log_likelihood(rows)
    comparison = {
        "log_likelihood_gain": gain,
        "parameters": solution.parameters - sum(size - 1 for size in solution.sizes),
    }
    if gain < comparison["parameters"]:
        p_value = independence_p_value(rows.dense_values, rows.row_weights())
        return {} if p_value is None else {**comparison, "p_value": p_value}
    return comparison


def views_are_independent(comparison: Mapping[str, float]) -> bool:
    """Return True if neither the likelihood nor a pair of views speaks for several components."""
    return comparison.get("p_value", 0.0) > LEVEL


def _independent_log_likelihood(rows: Block) -> float:
    """Return the largest log-likelihood of independent views."""
    weight, total = rows.row_weights(), 0.0
    for codes in rows.dense_values.T:
        counts = np.bincount(codes[codes >= 0], weight[codes >= 0])
        counts = counts[counts > 0]
        total += float(counts @ np.log(counts / counts.sum()))
    return total
