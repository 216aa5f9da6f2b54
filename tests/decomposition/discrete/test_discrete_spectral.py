import json

import numpy as np
import pytest

from bigtensor.decomposition.discrete.discrete_core import core_of_table
from bigtensor.decomposition.discrete.discrete_spectral import spectral_factors
from bigtensor.errors import IdentifiabilityError, ParameterError
from tests.decomposition.discrete_tables import (
    dirichlet_mixture,
    largest_difference,
    sampled_table,
    separated_mixture,
    table_error,
    table_of,
    unscaled_core,
)

ROTATIONS = ("single", "joint", "power")


def population(k, symbols, seed):
    truth = separated_mixture(k, symbols, np.random.default_rng(seed))
    return truth, table_of(truth)


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("view", [0, 1, 2])
@pytest.mark.parametrize(
    ("k", "symbols"), [(1, (2, 2, 2)), (2, (2, 3, 2)), (3, (5, 7, 6)), (6, (6, 12, 20))]
)
def test_spectral_factors__recover_the_parameters_of_a_population_table(k, symbols, view, rotation):
    truth, table = population(k, symbols, 10 * k + view)
    for core in (
        unscaled_core(table),
        core_of_table(table, 2 * k),
        core_of_table(table, k),
        core_of_table(table, 2 * k, damping=0.4),
    ):
        # no second chance: the sign of every eigenvector is a coin that the seed throws
        for seed in range(2):
            rng = np.random.default_rng(seed)
            found = spectral_factors(core, k, view=view, rotation=rotation, rng=rng)
            assert largest_difference(found.factors, truth) < 1e-8
            assert found.diagnostics["eigenvalues_at_floor"] == 0
            assert found.diagnostics["roots_at_floor"] == 0
            assert found.diagnostics["sums_at_floor"] == 0
            assert found.diagnostics["second_singular_ratio"] < 1e-7
            assert np.all(np.diff(found.factors.weights) <= 0)


def test_spectral_factors__views_have_one_order_of_components():
    _, table = population(4, (6, 5, 7), 3)
    for view in range(3):
        found = spectral_factors(
            core_of_table(table, 8), 4, view=view, rotation="joint", rng=np.random.default_rng(0)
        )
        np.testing.assert_allclose(table_of(found.factors), table, atol=1e-10)


def test_spectral_factors__diagnostics_are_plain_figures():
    truth = dirichlet_mixture(3, (6, 6, 6), np.random.default_rng(0))
    core = core_of_table(sampled_table(truth, 500, np.random.default_rng(1)), 6)
    found = spectral_factors(core, 3, view=1, rotation="power", rng=np.random.default_rng(0))
    read = json.loads(json.dumps(found.diagnostics))
    assert read["view"] == 1
    assert read["rotation"] == "power"
    assert len(read["singular_values"]) == 6
    assert read["condition_number"] > 1
    assert read["negative_mass"] == pytest.approx(found.factors.negative_mass)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_spectral_factors__few_rows_give_finite_factors_at_the_floors(rotation):
    """Eigenvalues of the symmetrised pair table may be negative, and sums zero, on samples."""
    floored = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        truth = dirichlet_mixture(5, (10, 10, 10), random)
        core = core_of_table(sampled_table(truth, 60, random), 5)
        found = spectral_factors(core, 5, view=0, rotation=rotation, rng=random)
        assert found.factors.is_finite
        floored += found.diagnostics["eigenvalues_at_floor"]
    assert floored > 0


def test_spectral_factors__all_slices_are_better_than_one_random_combination():
    errors = {rotation: [] for rotation in ("single", "joint")}
    for seed in range(6):
        random = np.random.default_rng(seed)
        truth = dirichlet_mixture(6, (12, 12, 12), random)
        core = unscaled_core(sampled_table(truth, 10**6, random))
        for rotation, found in errors.items():
            estimate = spectral_factors(core, 6, view=2, rotation=rotation, rng=random)
            found.append(table_error(estimate.factors, truth))
    assert np.mean(errors["joint"]) < 0.6 * np.mean(errors["single"]), errors


def test_spectral_factors__same_generator_gives_the_same_bits():
    truth = dirichlet_mixture(3, (6, 6, 6), np.random.default_rng(0))
    core = core_of_table(sampled_table(truth, 500, np.random.default_rng(1)), 6)
    for rotation in ROTATIONS:
        first, second = (
            spectral_factors(core, 3, view=0, rotation=rotation, rng=np.random.default_rng(5))
            for _ in range(2)
        )
        np.testing.assert_array_equal(first.factors.weights, second.factors.weights)


def test_spectral_factors__more_components_than_symbols_are_refused():
    _, table = population(3, (4, 6, 5), 0)
    with pytest.raises(IdentifiabilityError, match="at most 4 components, but 5 were"):
        spectral_factors(
            core_of_table(table, 10), 5, view=0, rotation="joint", rng=np.random.default_rng(0)
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"view": 3, "rotation": "joint"}, "view must be 0, 1 or 2, got 3"),
        ({"view": 0, "rotation": "fast"}, "got 'fast'"),
    ],
)
def test_spectral_factors__arguments_out_of_range_are_refused(arguments, message):
    _, table = population(2, (4, 4, 4), 0)
    with pytest.raises(ParameterError, match=message):
        spectral_factors(core_of_table(table, 4), 2, **arguments, rng=np.random.default_rng(0))
