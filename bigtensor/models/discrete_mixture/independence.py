"""Comparison of a fitted discrete mixture with independent views, which are one component."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.discrete.association import independence_p_value
from bigtensor.models.discrete_mixture.expectation_maximisation import Estimated

LEVEL = 0.05
"""P-value above which no pair of views is associated more than chance explains.

It speaks only where the criterion of Akaike prefers independent views. Of 139 fits to simulated
independent views and 256 to classes, on which the rule was chosen, both spoke against components in
87 % without classes, and in 1 % with labels that agreed with the classes (adjusted Rand index above
0.2). Of 60 fits to classes of many rare categories, the criterion alone did so in 31 %, and both in
5 %. Half of the criterion's penalty would find 14 % of the independent views, and the Bayesian
criterion would speak against 54 % of the classes. On 156 other fits to classes, and on 42 tables of
KEEL, both spoke only against the table that lists all combinations of its categories (monk-2).
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
        criterion of Akaike prefers independent views and pairs of views are counted, ``p_value``
        of their independence. It is empty without EM iterations and for one component.
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
        return comparison if p_value is None else {**comparison, "p_value": p_value}
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
