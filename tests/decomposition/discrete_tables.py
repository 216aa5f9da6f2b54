"""Discrete three-view mixtures with known parameters, for tests."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from bigtensor.decomposition.discrete.discrete_core import DiscreteCore, DiscreteFactors, by_view


def dirichlet_mixture(k, symbols, random):
    weights = random.dirichlet(np.ones(k))
    return DiscreteFactors(
        weights, tuple(np.ascontiguousarray(random.dirichlet(np.ones(n), k).T) for n in symbols)
    )


def separated_mixture(k, symbols, random):
    """Mixture of which no weight and no singular value comes near a floor."""
    weights = random.uniform(0.5, 1.5, k)
    probabilities = []
    for n in symbols:
        own = np.eye(n)[:, random.permutation(n)[:k]]
        probabilities.append(0.6 * own + 0.4 * random.dirichlet(np.ones(n), k).T)
    return DiscreteFactors(weights / weights.sum(), tuple(probabilities))


def table_of(factors):
    weighted = factors.probabilities[0] * factors.weights
    return np.einsum("ir,jr,lr->ijl", weighted, *factors.probabilities[1:], optimize=True)


def sampled_table(factors, rows, random):
    table = table_of(factors)
    return random.multinomial(rows, table.ravel()).reshape(table.shape) / rows


def in_order_of(factors, truth):
    """Factors with the components in the order of the truth's."""
    distances = sum(
        np.abs(own[:, :, None] - true[:, None, :]).sum(axis=0)
        for own, true in zip(factors.probabilities, truth.probabilities, strict=True)
    )
    own, true = linear_sum_assignment(distances)
    order = own[np.argsort(true)]
    return DiscreteFactors(
        factors.weights[order], tuple(columns[:, order] for columns in factors.probabilities)
    )


def largest_difference(factors, truth):
    """Largest difference of any parameter, whatever the order of the components."""
    found = in_order_of(factors, truth)
    pairs = zip(
        (found.weights, *found.probabilities), (truth.weights, *truth.probabilities), strict=True
    )
    return max(float(np.abs(own - true).max()) for own, true in pairs)


def table_error(factors, truth):
    """Sum of the absolute errors of the joint probabilities."""
    return float(np.abs(table_of(factors) - table_of(truth)).sum())


def unscaled_core(table):
    """Joint table of three views as it is: identity bases, and scales of one."""
    return DiscreteCore(
        np.ascontiguousarray(table, dtype=np.float64),
        by_view(lambda t: np.eye(table.shape[t])),
        by_view(lambda t: np.ones(table.shape[t])),
        by_view(lambda t: table.sum(axis=tuple({0, 1, 2} - {t}))),
        by_view(lambda p: table.sum(axis=2 - p)),
    )
