"""Tensor trains: expectation maximisation, contraction, draws and the order of variables."""

from itertools import product

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.datasets import load_wine

from bigtensor.decomposition.tensor_train.contraction import contracted, drawn_points
from bigtensor.decomposition.tensor_train.cores import NonnegativeTrain, node_tables, updated
from bigtensor.decomposition.tensor_train.initialisation import (
    background_weights,
    train_of_clusters,
)
from bigtensor.decomposition.tensor_train.structure import balanced, chain, variables_of
from bigtensor.decomposition.tensor_train.variable_order import chain_order, dependence

SIZES = (4, 3, 5, 2)
FIRST = np.cumsum([0, *(size + 1 for size in SIZES)])
BUMPS = [np.column_stack([np.eye(size), np.ones(size)]) for size in SIZES]
"""Every variable is categorical, so that a train is a table of probabilities."""


STRUCTURES = pytest.mark.parametrize("structure", [chain, balanced], ids=["chain", "balanced"])


def random_train(order, rank, seed=0, structure=chain):
    rng = default_rng(seed)
    cores, nodes = [], structure(order)
    for number, (j, child, _) in enumerate(nodes):
        before, after = 1 if number == 0 else rank, 1 if child < 0 else rank
        middle = rank if j < 0 else SIZES[j]
        drawn = rng.dirichlet(np.ones(middle * after), before)
        cores.append(drawn.reshape(before, middle, after))
    return NonnegativeTrain(nodes, tuple(cores))


def table(train):
    """Return the whole table of probabilities, in the order of the numbers of variables."""

    def below(number):
        """Return the table of the variables from a node on, by the state that enters it."""
        j, first, second = train.nodes[number]
        core = train.cores[number]
        if j < 0:
            left, right = below(first), below(second)
            flat = np.einsum(
                "zuv,ux,vy->zxy", core, left.reshape(len(left), -1), right.reshape(len(right), -1)
            )
            return flat.reshape(len(core), *left.shape[1:], *right.shape[1:])
        return core[:, :, 0] if first < 0 else np.tensordot(core, below(first), axes=1)

    return np.transpose(below(0)[0], np.argsort(train.order))


def test_tables__hold_the_cores_and_the_missing_entry():
    train = random_train([2, 0, 3, 1], 3)
    tables = node_tables(train, BUMPS, FIRST)
    assert tables.shape == (FIRST[-1] + 1, 3, 3)
    assert (tables[-1] == 0).all()
    for j, core in zip(train.order, train.cores, strict=True):
        rows, columns = core.shape[0], core.shape[2]
        of_variable = tables[FIRST[j] : FIRST[j + 1], :rows, :columns]
        assert of_variable[:-1] == pytest.approx(core.transpose(1, 0, 2))
        assert of_variable[-1] == pytest.approx(core.sum(axis=1))
    assert table(train).sum() == pytest.approx(1, abs=1e-12)


@STRUCTURES
def test_contraction__equals_sums_and_slices_of_the_table(structure):
    train = random_train([2, 0, 3, 1], 3, structure=structure)
    tables, whole = node_tables(train, BUMPS, FIRST), table(train)
    # variable 0 is given, variable 3 is summed over
    matrices = {0: tables[FIRST[0] + 1], 3: tables[FIRST[4] - 1]}
    found, log_mass = contracted(train, matrices)
    expected = whole[1].sum(axis=-1)
    assert log_mass == pytest.approx(np.log(expected.sum()))
    assert table(found) == pytest.approx(expected / expected.sum())
    for core in found.cores:
        assert core.sum(axis=(1, 2)) == pytest.approx(np.ones(len(core)), abs=1e-12)


@STRUCTURES
def test_contraction__leaves_any_subset_of_the_variables(structure):
    train = random_train([1, 3, 0, 2], 2, seed=3, structure=structure)
    tables, whole = node_tables(train, BUMPS, FIRST), table(train)
    for left in product([False, True], repeat=4):
        if not any(left):
            continue
        gone = [j for j in range(4) if not left[j]]
        found, log_mass = contracted(train, {j: tables[FIRST[j + 1] - 1] for j in gone})
        assert log_mass == pytest.approx(0, abs=1e-12)
        assert table(found) == pytest.approx(whole.sum(axis=tuple(gone)))


@pytest.mark.slow
def test_expectation_maximisation__climbs_to_the_empirical_table():
    """A train of full rank can be any table, and its likelihood is largest at the empirical one."""
    order, rank = [0, 1, 2, 3], 10
    truth = default_rng(5).dirichlet(np.full(120, 0.3)).reshape(SIZES)
    train, likelihoods = random_train(order, rank, seed=2), []
    for _ in range(400):
        whole = table(train)
        likelihoods.append(float((truth * np.log(whole)).sum()))
        counts, no_branchings = np.zeros((FIRST[-1] + 1, rank, rank)), np.zeros((0,) + 3 * (rank,))
        tables = node_tables(train, BUMPS, FIRST)
        for j in range(4):
            for symbol in range(SIZES[j]):
                before, after = messages(train, tables, truth, whole, j, symbol)
                counts[FIRST[j] + symbol] = before.T @ after
        background = [np.full(size, 1 / size) for size in SIZES]
        train = updated(train, BUMPS, FIRST, (counts, no_branchings), background, 0.0)
    assert (np.diff(likelihoods) > -1e-12).all()
    entropy = float((truth * np.log(truth)).sum())
    assert likelihoods[-1] == pytest.approx(entropy, abs=0.02)


def messages(train, tables, truth, whole, j, symbol):
    """Return, of every row of the table with a symbol, its states before and messages after."""
    before, after = [], []
    index = np.argwhere(np.take(np.ones(SIZES), [symbol], axis=j) > 0)
    for cell in index:
        cell = cell.copy()
        cell[j] = symbol
        left = np.eye(tables.shape[1])[0]
        for i in train.order[:j]:
            left = left @ tables[FIRST[i] + cell[i]]
        right = np.ones(tables.shape[1])
        for i in train.order[:j:-1]:
            right = tables[FIRST[i] + cell[i]] @ right
        share = truth[tuple(cell)] / whole[tuple(cell)]
        before.append(share * left)
        after.append(right)
    return np.array(before), np.array(after)


@STRUCTURES
def test_draws__have_the_probabilities_of_the_table(structure):
    train = random_train([2, 0, 3, 1], 3, seed=4, structure=structure)
    tables = node_tables(train, BUMPS, FIRST)
    masses = [np.ones(size) for size in SIZES]
    drawn = drawn_points(train, tables, FIRST, masses, 400_000, default_rng(1))
    counts = np.zeros(SIZES)
    np.add.at(counts, tuple(drawn.T), 1)
    expected = table(train)
    # five standard errors of a count
    assert np.abs(counts / 4e5 - expected).max() < 5 * np.sqrt(expected.max() / 4e5)


def test_background__is_the_mixture_of_bumps_with_the_largest_likelihood():
    bumps = np.array([[0.7, 0.3, 0.0, 1.0], [0.0, 0.2, 0.8, 1.0]])
    truth = np.array([0.25, 0.75])
    binned = np.append(truth @ bumps[:, :3], 0) * 1000
    found = background_weights(bumps, binned, 0.0, 200)
    assert found == pytest.approx(truth, abs=1e-6)


@STRUCTURES
@pytest.mark.parametrize("d", [1, 2, 3, 7, 8])
def test_structures__have_every_variable_once_and_parents_before_children(structure, d):
    order = default_rng(d).permutation(d)
    nodes = structure(order)
    assert variables_of(nodes).tolist() == order.tolist()
    children = nodes[:, 1:][nodes[:, 1:] >= 0]
    assert sorted(children) == list(range(1, len(nodes)))
    for number, (j, first, second) in enumerate(nodes):
        assert all(child < 0 or child > number for child in (first, second))
        assert (second >= 0) == (j < 0)
    branchings = nodes[nodes[:, 0] < 0, 0]
    assert sorted(-1 - branchings) == list(range(len(branchings)))


@STRUCTURES
def test_start__is_a_train_of_probabilities(structure):
    rng = default_rng(0)
    binned = [np.vstack([rng.random((size, 3)), np.zeros((1, 3))]) for size in SIZES]
    background = [rng.dirichlet(np.ones(size)) for size in SIZES]
    order = np.array([3, 1, 0, 2])
    train = train_of_clusters(
        structure(order), BUMPS, background, binned, np.array([0.2, 0.5, 0.3])
    )
    for core in train.cores:
        assert core.sum(axis=(1, 2)) == pytest.approx(np.ones(core.shape[0]), abs=1e-12)
        assert (core > 0).all()


def chain_rows(order, n=4000, seed=0):
    rng = default_rng(seed)
    values = np.empty((n, len(order)))
    last = rng.normal(size=n)
    for j in order:
        last = 0.8 * last + 0.6 * rng.normal(size=n)
        values[:, j] = last
    return values


@pytest.mark.parametrize("seed", range(5))
def test_order__is_that_of_the_chain(seed):
    true = default_rng(seed).permutation(9)
    values = chain_rows(true, seed=seed)
    found = chain_order(dependence([column[:, None] for column in values.T], np.ones(len(values))))
    assert found.tolist() in (true.tolist(), true[::-1].tolist())


@pytest.mark.parametrize(
    "values",
    [chain_rows(default_rng(3).permutation(8)), load_wine().data / load_wine().data.std(axis=0)],
    ids=["chain", "wine"],
)
def test_order__does_not_depend_on_the_numbers_of_variables(values):
    features = [column[:, None] for column in values.T]
    weight = np.ones(len(values))
    own = chain_order(dependence(features, weight))
    for seed in range(5):
        shuffled = default_rng(seed).permutation(len(features))
        other = chain_order(dependence([features[j] for j in shuffled], weight))
        assert shuffled[other].tolist() == own.tolist()


def test_dependence__is_the_squared_correlation_of_single_features():
    values = default_rng(0).multivariate_normal([0, 0], [[1, 0.5], [0.5, 2]], 5000)
    found = dependence([values[:, [0]], values[:, [1]]], np.ones(5000))
    correlation = np.corrcoef(values.T)[0, 1]
    # a ridge of a hundredth of the variance
    assert found[0, 1] == pytest.approx(correlation**2 / 1.01**2, rel=1e-9)
    assert found[0, 0] == 0
