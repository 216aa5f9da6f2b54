"""Hidden Markov models with known parameters, for tests."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters


def dirichlet_markov(k, n, random):
    return MarkovParameters(
        random.dirichlet(np.ones(k)),
        random.dirichlet(np.ones(k), k),
        random.dirichlet(np.ones(n), k),
    )


def separated_markov(k, n, random):
    """Model of which no probability and no singular value comes near a floor."""

    def rows(size):
        own = np.eye(size)[random.permutation(size)[:k]]
        return 0.6 * own + 0.4 * random.dirichlet(np.ones(size), k)

    start = random.uniform(0.5, 1.5, k)
    return MarkovParameters(start / start.sum(), rows(k), rows(n))


def triple_table(parameters):
    """Joint probabilities of three symbols, as a sum over the states of three steps."""
    return np.einsum(
        "a,ai,ab,bj,bc,cl->ijl",
        parameters.window_start,
        parameters.emission,
        parameters.transition,
        parameters.emission,
        parameters.transition,
        parameters.emission,
        optimize=True,
    )


def sampled_triples(parameters, rows, random):
    table = triple_table(parameters)
    return random.multinomial(rows, (table / table.sum()).ravel()).reshape(table.shape) / rows


def in_order_of(parameters, truth):
    """Parameters with the states in the order of the truth's."""
    distances = np.abs(parameters.emission[:, None] - truth.emission).sum(axis=2)
    own, true = linear_sum_assignment(distances)
    order = own[np.argsort(true)]
    return MarkovParameters(
        parameters.window_start[order],
        parameters.transition[np.ix_(order, order)],
        parameters.emission[order],
    )


def largest_difference(parameters, truth):
    """Largest difference of any parameter, whatever the order of the states."""
    found = in_order_of(parameters, truth)
    return max(
        float(np.abs(found.window_start - truth.window_start).max()),
        float(np.abs(found.transition - truth.transition).max()),
        float(np.abs(found.emission - truth.emission).max()),
    )


def table_error(parameters, truth):
    """Sum of the absolute errors of the probabilities of triples."""
    return float(np.abs(triple_table(parameters) - triple_table(truth)).sum())
