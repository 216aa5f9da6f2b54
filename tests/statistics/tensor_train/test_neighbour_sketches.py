"""One-pass moments of neighbours, and the trains that follow from them."""

import numpy as np
import pytest

from bigtensor import simulate
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.tensor_train.sketched_cores import sketched_train
from bigtensor.features.kernels.kernel_basis import KernelBasis
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.tensor_train.neighbour_sketches import NeighbourSketches
from bigtensor.testing import STATISTIC_LAWS, StatisticCase
from bigtensor.testing.statistic_laws import a_weight_of_two_is_a_row_twice

BASES = tuple(KernelBasis.of_range(-4, 4, 1.0) for _ in range(4))


def summed(values, weight=None):
    return sum_in_memory(NeighbourSketches(BASES), Block(values, {}, 0, len(values), weight))


@pytest.mark.parametrize("law", STATISTIC_LAWS, ids=lambda law: law.__name__)
def test_laws__hold(law):
    rows = np.random.default_rng(0).normal(size=(3_000, 4))
    law(StatisticCase(NeighbourSketches(BASES), rows))


def test_moments__are_means_of_products():
    values = np.random.default_rng(1).normal(size=(2_500, 4))
    weight = np.random.default_rng(2).random(2_500)
    found = summed(values, weight)
    functions = [basis.functions(column) for basis, column in zip(BASES, values.T, strict=True)]
    behind = [np.insert(at_rows, 0, 1, axis=1) for at_rows in functions]
    ends, share = np.ones((2_500, 1)), weight / weight.sum()
    pair = (behind[1].T * share) @ behind[2]
    assert found.pairs[1][0] + found.pairs[1][1] == pytest.approx(pair, abs=1e-12)
    second = (np.arange(2_500) // 1024) % 2 == 1
    half = (behind[1].T * (share * second)) @ behind[2]
    assert found.pairs[1][1] == pytest.approx(half, abs=1e-12)
    for j, (before, after) in enumerate([(ends, behind[1]), (behind[0], behind[2])]):
        triple = np.einsum("n,nl,np,nr->lpr", share, before, functions[j], after)
        assert found.triples[j] == pytest.approx(triple, abs=1e-12)


@pytest.mark.slow
def test_train__of_a_chain_comes_near_it_with_many_rows():
    """Kernel density at the rows of another draw, against the smoothed truth."""
    data = simulate.latent_chain(200_000, 2, 4, 0.5, random_state=1)
    found = summed(data["X"].values.astype(float))
    train = sketched_train(found.pairs, found.triples, 6)
    assert max(core.shape[2] for core in train.cores) == 2
    masses = [basis.masses for basis in BASES]
    assert train.mass(masses) == pytest.approx(1, abs=1e-4)
    # a kernel of width one makes the emissions wider
    means, transition = data["true_means"].values, data["true_transition"].values
    points = np.random.default_rng(3).uniform(-3, 3, size=(200, 4))
    wide = np.sqrt(0.36 + 1.0)
    state = np.full((200, 2), 0.5)
    truth = np.ones(200)
    for j in range(4):
        state = state @ transition if j else state
        heights = np.exp(-0.5 * ((points[:, j, None] - means[j]) / wide) ** 2)
        state = state * heights / (wide * np.sqrt(2 * np.pi))
        truth, state = truth * state.sum(axis=1), state / state.sum(axis=1, keepdims=True)
    density = train.values([b.functions(c) for b, c in zip(BASES, points.T, strict=True)])
    assert np.abs(density - truth).max() < 0.05 * truth.max()


def test_rank_rule__finds_independence():
    values = np.random.default_rng(4).normal(size=(4_000, 4))
    found = summed(values)
    ranks = [core.shape[2] for core in sketched_train(found.pairs, found.triples, 8).cores]
    assert ranks == [1, 1, 1, 1]
    loose = sketched_train(found.pairs, found.triples, 8, multiple=0.0)
    assert max(core.shape[2] for core in loose.cores) == 8


def test_weights__are_repeated_rows():
    rows = np.random.default_rng(5).normal(size=(40, 4))
    case = StatisticCase(NeighbourSketches(BASES), rows)
    a_weight_of_two_is_a_row_twice(case)
