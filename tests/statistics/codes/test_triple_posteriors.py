"""Posterior sums of a hidden Markov model against sums over all paths of states."""

from itertools import product

import numpy as np
import pytest

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.codes.triple_posteriors import TriplePosteriorSums
from bigtensor.statistics.in_memory import sum_in_memory

STATES, SYMBOLS = 3, 4


def parameters(seed=0, k=STATES, n=SYMBOLS):
    random = np.random.default_rng(seed)
    return (
        random.dirichlet(np.ones(k)),
        random.dirichlet(np.ones(k), k),
        random.dirichlet(np.ones(n), k),
    )


def windows(rows=300, missing=0.2, seed=1):
    random = np.random.default_rng(seed)
    codes = random.integers(0, SYMBOLS, (rows, 3)).astype(np.int16)
    codes[random.random(codes.shape) < missing] = -1
    return Block(codes, {"window": slice(0, 3)}, 0, rows, random.uniform(0, 2, rows))


def path_sums(codes, weights, start, transition, emission):
    """Expected numbers, path by path."""
    starts, moves, shown = np.zeros(STATES), np.zeros((STATES, STATES)), np.zeros(emission.shape)
    log_likelihood = 0.0
    for triple, weight in zip(codes, weights, strict=True):
        joint = {}
        for path in product(range(STATES), repeat=3):
            p = start[path[0]] * transition[path[0], path[1]] * transition[path[1], path[2]]
            for state, symbol in zip(path, triple, strict=True):
                p *= emission[state, symbol] if symbol >= 0 else 1.0
            joint[path] = p
        total = sum(joint.values())
        log_likelihood += weight * np.log(total)
        for path, p in joint.items():
            share = weight * p / total
            starts[path[0]] += share
            moves[path[0], path[1]] += share
            moves[path[1], path[2]] += share
            for state, symbol in zip(path, triple, strict=True):
                if symbol >= 0:
                    shown[state, symbol] += share
    return starts, moves, shown, log_likelihood


def assert_sums(found, codes, weights, of):
    starts, moves, shown, log_likelihood = path_sums(codes, weights, *of)
    np.testing.assert_allclose(found.window_start, starts, rtol=1e-12)
    np.testing.assert_allclose(found.transitions, moves, rtol=1e-12)
    np.testing.assert_allclose(found.emissions, shown, rtol=1e-12)
    assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)
    assert found.weight == pytest.approx(weights.sum(), rel=1e-12)
    assert found.windows == len(codes)


@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
def test_sums__are_those_of_all_paths(missing):
    block = windows(missing=missing)
    found = sum_in_memory(TriplePosteriorSums(*parameters()), block)
    assert_sums(found, block.values, block.weight, parameters())
    assert found.window_start.sum() == pytest.approx(found.weight)
    assert found.transitions.sum() == pytest.approx(2 * found.weight)


def test_sums__rows_weigh_one_by_default():
    codes = np.array([[0, 1, 2], [3, 3, 0]])
    block = Block(codes, {"window": slice(0, 3)}, 0, 2)
    found = sum_in_memory(TriplePosteriorSums(*parameters()), block)
    assert_sums(found, codes, np.ones(2), parameters())


def test_sums__impossible_windows_are_told_by_the_likelihood_alone():
    start, transition, emission = parameters()
    emission = np.column_stack([emission[:, :3], np.zeros(STATES)])
    emission /= emission.sum(axis=1, keepdims=True)
    codes, weights = np.array([[0, 1, 2], [1, 3, 2]]), np.ones(2)
    block = Block(codes, {"window": slice(0, 3)}, 0, 2)
    found = sum_in_memory(TriplePosteriorSums(start, transition, emission), block)
    known = path_sums(codes[:1], weights[:1], start, transition, emission)
    np.testing.assert_allclose(found.transitions, known[1], rtol=1e-12)
    assert found.log_likelihood == -np.inf
    assert found.weight == 2


def test_statistic__refuses_what_is_no_model():
    start, transition, emission = parameters()
    with pytest.raises(ParameterError, match=r"got \(3,\), \(2, 3\) and \(3, 4\)"):
        TriplePosteriorSums(start, transition[:2], emission)
    with pytest.raises(ParameterError, match=r"emission holds probabilities, got -0\.1"):
        TriplePosteriorSums(start, transition, np.full_like(emission, -0.1))
