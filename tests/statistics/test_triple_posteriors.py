"""Posterior sums of a hidden Markov model against sums over all paths of states."""

from itertools import product

import numpy as np
import pytest
import xarray as xr

from bigtensor.data.block import Block
from bigtensor.data.opening import open_samples
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.runtime import open_runtime
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import Pass
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.triple_posteriors import TriplePosteriorSums

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


def test_sums__of_windows_of_a_column():
    """Windows stay in one sequence and leave no row out, and have the weight of their first row."""
    random = np.random.default_rng(2)
    codes = random.integers(-1, SYMBOLS, (200, 2)).astype(np.int16)
    weight = random.uniform(0, 2, 200)
    index = np.delete(np.arange(203), [20, 77, 150])
    sequence = np.repeat([3, 1, 3, 2, 2], 40)
    block = Block(
        codes, {"a": slice(0, 1), "b": slice(1, 2)}, 0, 200, weight, sequence, None, index
    )
    found = sum_in_memory(TriplePosteriorSums(*parameters(), column=1), block)
    starts = [
        row
        for row in range(198)
        if len(set(sequence[row : row + 3])) == 1 and index[row + 2] - index[row] == 2
    ]
    assert len(starts) < 198
    triples = np.array([codes[row : row + 3, 1] for row in starts])
    assert_sums(found, triples, weight[starts], parameters())


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


def test_sums__of_a_pass_over_sequences_that_are_read():
    random = np.random.default_rng(6)
    codes = random.integers(0, SYMBOLS, (5000, 1)).astype(np.int16)
    sequence = np.repeat(np.arange(50), random.multinomial(5000, np.full(50, 1 / 50)))
    data = xr.Dataset(
        {"X": (("sample", "feature"), codes), "sequence": ("sample", sequence)},
        coords={"feature": ["symbol"]},
    )
    data["X"].attrs["categories"] = {"symbol": tuple("abcd")}
    data = data.chunk({"sample": 137})
    statistic = TriplePosteriorSums(*parameters(), column=0)
    with open_runtime(scheduler="threads") as runtime:
        found = run_pass(open_samples(data), Pass("posterior", statistic), runtime)
    starts = np.flatnonzero(sequence[:-2] == sequence[2:])
    triples = np.column_stack([codes[starts + lag, 0] for lag in range(3)])
    known = sum_in_memory(
        TriplePosteriorSums(*parameters()),
        Block(triples, {"window": slice(0, 3)}, 0, len(triples)),
    )
    assert found.windows == len(starts) < 4998
    np.testing.assert_allclose(found.transitions, known.transitions, rtol=1e-10)
    np.testing.assert_allclose(found.emissions, known.emissions, rtol=1e-10)
    assert found.log_likelihood == pytest.approx(known.log_likelihood, rel=1e-10)
