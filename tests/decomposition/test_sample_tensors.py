"""Contractions, least squares and Gauss-Newton steps against explicit tensors."""

from itertools import product

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.decomposition.sample_tensors.column_lengths import lengths_from_pairs
from bigtensor.decomposition.sample_tensors.discovery import (
    DiscoverySettings,
    discover,
    left_weight,
)
from bigtensor.decomposition.sample_tensors.gauss_newton import (
    NormalEquations,
    Scaled,
    descended,
    gauss_newton_step,
    objective,
)
from bigtensor.decomposition.sample_tensors.joint_least_squares import (
    joint_sweeps,
    least_squares_terms,
    least_squares_weights,
)
from bigtensor.decomposition.sample_tensors.power_method import requested_power_method
from bigtensor.decomposition.sample_tensors.power_updates import distinct_terms, power_updates
from bigtensor.decomposition.sample_tensors.projected_tensor import ProjectedTensor
from bigtensor.decomposition.sample_tensors.requests import answered, less_terms
from bigtensor.decomposition.sample_tensors.subspace_solution import subspace_terms
from bigtensor.decomposition.sample_tensors.terms import Terms, unit_columns

ORDERS = [(1, 1, 1), (3,), (4,), (2, 1)]
SIZES = (4, 5, 3)
LETTERS = "ijkl"


def modes_of(orders):
    return [mode for mode, order in enumerate(orders) for _ in range(order)]


def drawn(orders, k=6, seed=0):
    rng = default_rng(seed)
    factors = tuple(rng.normal(size=(SIZES[mode], k)) for mode in range(len(orders)))
    signs = np.where(np.arange(k) % 2, -1.0, 1.0) if all(o % 2 == 0 for o in orders) else 1.0
    return Terms.of_columns(signs * rng.uniform(0.5, 2, k), factors, orders)


def explicit(terms):
    modes = modes_of(terms.orders)
    letters = LETTERS[: len(modes)]
    spec = "z," + ",".join(letter + "z" for letter in letters) + "->" + letters
    return np.einsum(spec, terms.weights, *(terms.factors[mode] for mode in modes))


def contraction_with(tensor, orders):
    """Return the contraction of an explicit tensor with columns."""
    modes = modes_of(orders)
    letters = LETTERS[: len(modes)]

    def contract(columns):
        found = []
        for mode in range(len(orders)):
            left = modes.index(mode)
            others = [m for m in range(len(modes)) if m != left]
            spec = ",".join([letters, *(letters[m] + "z" for m in others)])
            spec += "->" + letters[left] + "z"
            found.append(np.einsum(spec, tensor, *(columns[modes[m]] for m in others)))
        return tuple(found)

    return contract


def tensor_of(orders, seed=9):
    """Return a tensor that is no sum of few terms, symmetric within a factor."""
    return explicit(drawn(orders, 40, seed))


@pytest.mark.parametrize("orders", ORDERS)
def test_terms__contract_like_their_tensor(orders):
    terms, columns = drawn(orders), drawn(orders, 5, 1).factors
    for found, expected in zip(
        terms.contract(columns), contraction_with(explicit(terms), orders)(columns), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def single_request(columns):
    return (yield columns)


@pytest.mark.parametrize("orders", ORDERS)
def test_less_terms__answers_for_the_tensor_less_the_terms(orders):
    tensor, terms, columns = tensor_of(orders), drawn(orders), drawn(orders, 5, 1).factors
    rest = answered(less_terms(single_request(columns), terms), contraction_with(tensor, orders))
    expected = contraction_with(tensor - explicit(terms), orders)(columns)
    for found, of_rest in zip(rest, expected, strict=True):
        np.testing.assert_allclose(found, of_rest, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("orders", ORDERS)
def test_power_updates__are_normalised_contractions(orders):
    contract = contraction_with(tensor_of(orders), orders)
    columns = drawn(orders, 5, 1).factors
    expected = unit_columns(contract(unit_columns(contract(columns))))
    for found, of_mode in zip(power_updates(contract, columns, 2), expected, strict=True):
        np.testing.assert_allclose(found, of_mode, rtol=1e-10)


@pytest.mark.parametrize("orders", ORDERS)
def test_least_squares__solve_the_unfolded_tensor(orders):
    """Every factor is the best for the others, by dense least squares of the unfolded tensor."""
    tensor, terms = tensor_of(orders), drawn(orders)
    modes = modes_of(orders)
    solved = least_squares_terms(terms, contraction_with(tensor, orders)(terms.factors))
    for mode in range(len(orders)):
        left = modes.index(mode)
        others = [m for m in range(len(modes)) if m != left]
        letters = LETTERS[: len(others)]
        spec = ",".join(letter + "z" for letter in letters) + "->" + letters + "z"
        design = np.einsum(spec, *(terms.factors[modes[m]] for m in others))
        unfolded = np.moveaxis(tensor, left, -1).reshape(-1, tensor.shape[left])
        dense = np.linalg.lstsq(design.reshape(-1, terms.n_terms), unfolded, rcond=None)[0].T
        cosines = (solved.factors[mode] * dense).sum(axis=0) / np.linalg.norm(dense, axis=0)
        # a ridge of 1e-6 keeps collinear columns apart
        np.testing.assert_allclose(np.abs(cosines), 1, atol=1e-5)


@pytest.mark.parametrize("orders", ORDERS)
def test_least_squares_weights__are_those_of_dense_least_squares(orders):
    tensor, terms = tensor_of(orders), drawn(orders)
    ones = [explicit(terms.take(np.array([j]))) / terms.weights[j] for j in range(terms.n_terms)]
    dense = np.linalg.lstsq(np.stack([one.ravel() for one in ones], 1), tensor.ravel(), rcond=None)
    found = least_squares_weights(terms, contraction_with(tensor, orders)(terms.factors))
    np.testing.assert_allclose(found, dense[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("orders", ORDERS)
def test_objective__is_half_the_squared_distance(orders):
    tensor, terms = tensor_of(orders), drawn(orders)
    found = objective(terms, contraction_with(tensor, orders)(terms.factors))
    expected = 0.5 * ((tensor - explicit(terms)) ** 2).sum() - 0.5 * (tensor**2).sum()
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def model_of(scaled):
    terms = Terms(scaled.signs, scaled.factors, scaled.orders)
    return explicit(terms)


def jacobian(scaled, step=1e-6):
    """Return the derivative of the model by every entry of every scaled column."""
    columns = []
    for mode, factor in enumerate(scaled.factors):
        for i, j in product(range(factor.shape[0]), range(factor.shape[1])):
            ends = []
            for sign in (1, -1):
                moved = [np.zeros_like(f) for f in scaled.factors]
                moved[mode][i, j] = sign * step
                ends.append(model_of(scaled.moved(tuple(moved))))
            columns.append(((ends[0] - ends[1]) / (2 * step)).ravel())
    return np.stack(columns, axis=1)


def flat(factors):
    return np.concatenate([factor.ravel() for factor in factors])


@pytest.mark.parametrize("orders", ORDERS)
def test_normal_equations__are_those_of_the_dense_jacobian(orders):
    tensor, terms = tensor_of(orders), drawn(orders, 3)
    scaled = Scaled.from_terms(terms)
    dense = jacobian(scaled)
    system = NormalEquations(scaled, 0.0)
    direction = tuple(default_rng(4).normal(size=factor.shape) for factor in terms.factors)
    scale = np.abs(dense.T @ dense).max()
    np.testing.assert_allclose(
        flat(system.apply(direction)), dense.T @ (dense @ flat(direction)), atol=1e-7 * scale
    )
    moments = contraction_with(tensor, orders)(terms.factors)
    rest = (tensor - model_of(scaled)).ravel()
    np.testing.assert_allclose(
        flat(system.residual(terms, moments)), dense.T @ rest, atol=1e-6 * np.abs(rest).max()
    )


@pytest.mark.parametrize("orders", ORDERS)
def test_descent__leads_from_nearby_to_the_terms(orders):
    terms = drawn(orders, 3)
    contract = contraction_with(explicit(terms), orders)
    rng = default_rng(5)
    # terms of both signs may cancel, so that even orders are left where the first step fails
    away = 0.02 if orders == (4,) else 0.1
    near = tuple(f + away * rng.normal(size=f.shape) for f in terms.factors)
    found = descended(contract, Terms.of_columns(terms.weights, near, orders))
    np.testing.assert_allclose(explicit(found), explicit(terms), atol=1e-4)


def test_step__is_more_damped_until_it_leads_nearer():
    orders = (1, 1, 1)
    contract = contraction_with(tensor_of(orders), orders)
    terms = drawn(orders, 12)
    step = gauss_newton_step(terms, contract(terms.factors), 1e-8)
    shorter = step.more_damped().more_damped()
    assert shorter.damping > step.damping
    assert shorter.objective == step.objective
    assert step.accepts(step.objective)
    assert not step.accepts(step.objective + 1e-3 * abs(step.objective))


def test_distinct_terms__may_share_the_column_of_one_factor():
    rng = default_rng(0)
    factors = list(unit_columns(tuple(rng.normal(size=(30, 4)) for _ in range(3))))
    factors[0][:, 1] = factors[0][:, 0]
    doubled = tuple(np.hstack([f, f + 0.01 * rng.normal(size=f.shape)]) for f in factors)
    weights = np.array([4.0, 3, 2, 1, 0.4, 0.3, 0.2, 0.1])
    found = distinct_terms(weights, unit_columns(doubled), (1, 1, 1), 0.6)
    np.testing.assert_allclose(found.weights, [4, 3, 2, 1])


def searched(tensor_terms, n_terms, updates=8, seed=0):
    contract = tensor_terms.contract
    rng = default_rng(seed)

    def starts(count):
        chosen = rng.integers(tensor_terms.n_terms, size=count)
        noisy = [
            f[:, chosen] + 0.2 * rng.normal(size=(len(f), count)) for f in tensor_terms.factors
        ]
        return tuple(noisy)

    sizes = tuple(len(f) for f in tensor_terms.factors)
    settings = DiscoverySettings(n_terms, updates)
    search = discover(contract, starts, Terms.empty(sizes, tensor_terms.orders), settings)
    while True:
        try:
            next(search)
        except StopIteration as end:
            terms = descended(contract, end.value.terms)
            return terms, left_weight(contract, starts, terms, settings)


@pytest.mark.parametrize("orders", [(1, 1, 1), (3,)])
@pytest.mark.parametrize("k", [10, 30])
@pytest.mark.quick_cases("10-orders0", "10-orders1", "30-orders1")
def test_discover__finds_all_terms_of_a_tensor(orders, k):
    rng = default_rng(1)
    factors = tuple(rng.normal(size=(20, k)) for _ in orders)
    truth = Terms.of_columns(np.ones(k), unit_columns(factors), orders)
    found, left = searched(truth, k)
    assert found.n_terms == k
    assert left < 0.05
    cosines = np.abs(truth.factors[0].T @ found.factors[0]).max(axis=1)
    assert cosines.min() > 0.999


def test_discover__returns_fewer_and_says_what_is_left():
    rng = default_rng(2)
    factors = unit_columns(tuple(rng.normal(size=(20, 12)) for _ in range(3)))
    truth = Terms.of_columns(np.ones(12), factors, (1, 1, 1))
    assert searched(truth, 16)[0].n_terms == 12
    found, left = searched(truth, 8)
    assert found.n_terms == 8
    assert left > 0.5


def test_subspace_terms__are_the_columns_of_exact_clusters():
    rng = default_rng(3)
    columns = [np.vstack([np.ones(4), rng.normal(size=(5, 4))]) for _ in range(3)]
    label = np.repeat(np.arange(4), [40, 30, 20, 10])
    rows = tuple(of_view[:, label] for of_view in columns)
    found = subspace_terms(rows, np.ones(3), 4, 0)
    truth = Terms.of_columns(np.array([0.4, 0.3, 0.2, 0.1]), tuple(columns), (1, 1, 1))
    np.testing.assert_allclose(explicit(found), explicit(truth), rtol=1e-6, atol=1e-6)


def test_power_method__removes_ends_near_a_centre():
    rng = default_rng(4)
    factors = tuple(np.linalg.qr(rng.normal(size=(8, 5)))[0] for _ in range(3))
    truth = Terms.of_columns(np.array([1.4, 1.3, 1.2, 1.1, 1.0]), factors, (1, 1, 1))
    starts = tuple(rng.normal(size=(8, 60)) for _ in range(3))
    found = answered(requested_power_method(starts, (1, 1, 1), 5, 40), truth.contract)
    np.testing.assert_allclose(np.sort(found.weights), [1, 1.1, 1.2, 1.3, 1.4], rtol=1e-6)
    assert joint_sweeps(truth.contract, found, 1).n_terms == 5


@pytest.mark.parametrize("is_projected", [False, True])
def test_projected_tensor__contracts_whole_columns(is_projected):
    rng = default_rng(6)
    sizes = (6, 4, 5)
    columns = tuple(rng.normal(size=(size, 7)) for size in sizes)
    bases = tuple(np.linalg.qr(rng.normal(size=(size, 3)))[0] for size in sizes)
    entries = rng.normal(size=(3, 3, 3) if is_projected else sizes)
    tensor = ProjectedTensor(entries, bases if is_projected else None)
    whole = np.einsum("abc,ia,jb,kc->ijk", entries, *bases) if is_projected else entries
    found = tensor.contract(columns)
    for of_mode, exact in zip(found, contraction_with(whole, (1, 1, 1))(columns), strict=True):
        np.testing.assert_allclose(of_mode, exact, rtol=1e-10, atol=1e-12)


def test_lengths_from_pairs__are_those_of_the_columns():
    rng = default_rng(7)
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    columns = [rng.normal(size=(size, 4)) * 3 for size in (5, 6, 4)]
    stacked = np.vstack(columns)
    second = (stacked * weights) @ stacked.T
    terms = Terms.of_columns(weights, tuple(columns), (1, 1, 1))
    found, lengthened = lengths_from_pairs(terms, second)
    np.testing.assert_allclose(found, weights, rtol=1e-8)
    for of_view, exact in zip(lengthened, columns, strict=True):
        np.testing.assert_allclose(of_view, exact, rtol=1e-8)


def test_lengths_from_pairs__leaves_terms_out_that_the_pairs_speak_against():
    rng = default_rng(8)
    columns = tuple(rng.normal(size=(5, 3)) for _ in range(3))
    weights = np.array([0.5, 0.3, -0.2])
    second = np.vstack(columns) * weights @ np.vstack(columns).T
    terms = Terms.of_columns(np.array([0.5, 0.3, 0.2]), columns, (1, 1, 1))
    found, _ = lengths_from_pairs(terms, second)
    np.testing.assert_allclose(found, [0.5, 0.3], rtol=1e-8)
