import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtensor.decomposition.discrete.discrete_core import (
    DiscreteCore,
    DiscreteFactors,
    bases_of_sketches,
    check_components,
    core_of_table,
    rotated,
)
from bigtensor.errors import IdentifiabilityError, ParameterError
from tests.decomposition.discrete_tables import (
    sampled_table,
    separated_mixture,
    table_of,
    unscaled_core,
)

SYMBOLS = (5, 7, 6)


def population_table(seed=0, k=3, symbols=SYMBOLS):
    return table_of(separated_mixture(k, symbols, np.random.default_rng(seed)))


def scaled_factors(core, truth):
    return [
        basis.T @ (columns / scale[:, None])
        for basis, scale, columns in zip(core.bases, core.scales, truth.probabilities, strict=True)
    ]


def rebuilt(core):
    """The scaled table, as far as the bases hold it."""
    return np.einsum("abc,ia,jb,lc->ijl", core.tensor, *core.bases)


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_core_of_table__holds_a_mixture_in_its_first_k_directions(damping):
    truth = separated_mixture(3, SYMBOLS, np.random.default_rng(3))
    core = core_of_table(table_of(truth), 6, damping=damping).leading(3)
    factors = scaled_factors(core, truth)
    expected = np.einsum("r,ar,br,cr->abc", truth.weights, *factors)
    np.testing.assert_allclose(core.tensor, expected, atol=1e-13)
    for (a, b), pair in zip([(0, 1), (0, 2), (1, 2)], core.pairs, strict=True):
        np.testing.assert_allclose(pair, (factors[a] * truth.weights) @ factors[b].T, atol=1e-13)
        np.testing.assert_allclose(core.pair(b, a), pair.T)
    for mean, functional, factor in zip(core.means, core.sum_functionals, factors, strict=True):
        np.testing.assert_allclose(mean, factor @ truth.weights, atol=1e-13)
        if not damping:
            np.testing.assert_allclose(functional @ factor, 1.0, atol=1e-12)


def test_core_of_table__all_directions_are_the_scaled_table():
    table = sampled_table(
        separated_mixture(3, SYMBOLS, np.random.default_rng(0)), 3000, np.random.default_rng(1)
    )
    core = core_of_table(table, 20)
    assert core.tensor.shape == SYMBOLS
    marginals = table.sum(axis=(1, 2)), table.sum(axis=(0, 2)), table.sum(axis=(0, 1))
    weights = 1 / np.sqrt(np.einsum("i,j,l->ijl", *marginals))
    np.testing.assert_allclose(rebuilt(core), table * weights, atol=1e-13)
    np.testing.assert_allclose(core.subspace_defects, 0.0, atol=1e-12)


def test_core_of_table__damps_a_pair_of_symbols_that_were_seen_once():
    """Two symbols that were only seen together have the scaled singular value one."""
    table = np.zeros((4, 4, 4))
    table[:3, :3, :3] = population_table(1, 2, (3, 3, 3)) * (1 - 1e-4)
    table[3, 3, 0] = 1e-4
    undamped, damped = core_of_table(table, 4), core_of_table(table, 4, damping=0.3)
    values = np.linalg.svd(undamped.pairs[0], compute_uv=False)
    np.testing.assert_allclose(values[:2], 1.0, atol=1e-12)
    values = np.linalg.svd(damped.pairs[0], compute_uv=False)
    # behind the two components
    np.testing.assert_allclose(values[2], 1e-4 / (1e-4 + 0.3 / 4), rtol=1e-6)
    assert values[1] > 100 * values[2]


def test_core_of_table__symbol_without_rows_has_no_part():
    table = np.zeros((6, 7, 6))
    table[:5] = population_table()
    core, known = core_of_table(table, 3), core_of_table(population_table(), 3)
    np.testing.assert_array_equal(core.bases[0][5], 0.0)
    np.testing.assert_allclose(np.abs(core.tensor), np.abs(known.tensor), atol=1e-12)
    np.testing.assert_array_equal(core.targets[0][5], 0.0)
    assert core_of_table(table, 20).tensor.shape == SYMBOLS
    with pytest.raises(IdentifiabilityError, match="5, 7 and 6 symbols with rows"):
        check_components(core_of_table(table, 20, damping=0.5), 6)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ones((2, 2)) / 4, r"three views .*shape \(2, 2\)"),
        (np.ones((2, 2, 2)), "got the sum 8"),
        (np.array([[[1.5], [-0.5]]]), "the minimum -0.5"),
        (np.full((2, 2, 2), np.nan), "got the sum nan"),
    ],
)
def test_cores__refuse_tables_that_hold_no_joint_probabilities(table, message):
    with pytest.raises(ParameterError, match=message):
        core_of_table(table, 2)


def test_core_of_table__refuses_numbers_out_of_range():
    with pytest.raises(ParameterError, match="at least 1, got 0"):
        core_of_table(population_table(), 0)
    with pytest.raises(ParameterError, match=r"not be negative, got -0\.1"):
        core_of_table(population_table(), 3, damping=-0.1)


def test_unscaled_core__is_the_table():
    table = population_table()
    core = unscaled_core(table)
    np.testing.assert_array_equal(core.tensor, table)
    np.testing.assert_array_equal(core.pairs[1], table.sum(axis=1))
    np.testing.assert_allclose(core.means[2], table.sum(axis=(0, 1)))
    np.testing.assert_allclose(core.sum_functionals[0], 1.0)


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_sketches__give_the_core_of_the_table(damping):
    random = np.random.default_rng(5)
    table = population_table(k=3)
    counts = tuple(table.sum(axis=axes) * 1000 for axes in ((1, 2), (0, 2), (0, 1)))
    pairs = {(0, 1): table.sum(axis=2), (0, 2): table.sum(axis=1), (1, 2): table.sum(axis=0)}
    pairs |= {(b, a): pair.T for (a, b), pair in pairs.items()}
    mixers = [random.standard_normal((n, 3)) for n in SYMBOLS]
    sketches = tuple(
        np.hstack([pairs[t, other] @ mixers[other] for other in range(3) if other != t])
        for t in range(3)
    )
    bases, scales = bases_of_sketches(sketches, counts, damping, 3)
    expected = core_of_table(table, 3, damping=damping)
    maps = [basis / scale[:, None] for basis, scale in zip(bases, scales, strict=True)]
    sketched = DiscreteCore(
        np.einsum("ijl,ia,jb,lc->abc", table, *maps),
        bases,
        scales,
        expected.marginals,
        tuple(maps[a].T @ pairs[a, b] @ maps[b] for a, b in ((0, 1), (0, 2), (1, 2))),
    )
    core = rotated(sketched)
    for basis, own in zip(expected.bases, core.bases, strict=True):
        # the same directions in the same order, up to their signs
        np.testing.assert_allclose(np.abs(own.T @ basis), np.eye(3), atol=1e-8)
    np.testing.assert_allclose(np.abs(core.tensor), np.abs(expected.tensor), atol=1e-8)
    np.testing.assert_allclose(rebuilt(core), rebuilt(sketched), atol=1e-13)
    for pair, other in zip(core.pairs, expected.pairs, strict=True):
        np.testing.assert_allclose(np.abs(pair), np.abs(other), atol=1e-8)


def test_rotated__bases_of_different_sizes():
    table = sampled_table(
        separated_mixture(2, (3, 7, 6), np.random.default_rng(0)), 500, np.random.default_rng(1)
    )
    core = core_of_table(table, 5)
    assert core.tensor.shape == (3, 5, 5)
    again = rotated(core)
    assert again.tensor.shape == (3, 5, 5)
    np.testing.assert_allclose(rebuilt(again), rebuilt(core), atol=1e-13)


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-5, 0.05, 1 / 6]))
def test_clipped__is_valid_and_keeps_what_is_valid(k, seed, floor):
    random = np.random.default_rng(seed)
    factors = DiscreteFactors(
        random.standard_normal(k), tuple(random.standard_normal((n, k)) for n in (4, 5, 6))
    )
    valid = factors.clipped(floor)
    for columns in (valid.weights, *valid.probabilities):
        np.testing.assert_allclose(columns.sum(axis=0), 1.0, atol=1e-12)
        assert columns.min() >= floor
    assert valid.negative_mass == 0
    again = valid.clipped(floor)
    np.testing.assert_allclose(again.weights, valid.weights, atol=1e-12)
    np.testing.assert_allclose(again.probabilities[0], valid.probabilities[0], atol=1e-12)


def test_clipped__column_without_positive_entries_is_uniform():
    factors = DiscreteFactors(np.array([2.0, -1.0]), (-np.ones((4, 2)),) * 3)
    assert factors.negative_mass == 25.0
    valid = factors.clipped(weight_floor=0.1)
    np.testing.assert_allclose(valid.weights, [0.9, 0.1])
    np.testing.assert_allclose(valid.probabilities[0], 0.25)


def test_clipped__floor_above_uniform_is_refused():
    factors = DiscreteFactors(np.ones(2) / 2, (np.ones((4, 2)) / 4,) * 3)
    with pytest.raises(ParameterError, match=r"between 0 and 1/4 is needed, got 0\.3"):
        factors.clipped(0.3)


def test_by_weight__moves_whole_components():
    truth = separated_mixture(4, SYMBOLS, np.random.default_rng(2))
    ordered = truth.by_weight()
    assert np.all(np.diff(ordered.weights) <= 0)
    np.testing.assert_allclose(table_of(ordered), table_of(truth))


def test_check_components__more_than_the_symbols_of_a_view():
    core = core_of_table(population_table(), 10)
    with pytest.raises(IdentifiabilityError, match=r"5, 7 and 6 symbols .*at most 5.*6 were"):
        check_components(core, 6)


def test_check_components__more_than_the_rank_of_a_pair():
    core = core_of_table(population_table(k=3), 5)
    check_components(core, 3)
    with pytest.raises(IdentifiabilityError, match="rank 3, so that it supports at most 3"):
        check_components(core, 4)


def test_check_components__refuses_what_the_core_does_not_hold():
    core = core_of_table(population_table(), 2)
    with pytest.raises(ParameterError, match="larger r"):
        check_components(core, 3)
    with pytest.raises(ParameterError, match="at least 1, got 0"):
        check_components(core, 0)
