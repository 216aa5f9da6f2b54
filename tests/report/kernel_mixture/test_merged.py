import numpy as np
import pytest
from scipy import stats

from bigtensor.models.kernel_mixture.report.feature_profiles import FeatureProfile, feature_profiles
from bigtensor.models.kernel_mixture.report.levels import (
    levels_of,
    merged_profiles,
    population_overlaps,
)


def test_merged_profiles__are_the_mixture_of_the_components():
    mean, sd = np.array([0.0, 4.0, 1.0]), np.array([1.0, 2.0, 0.5])
    weights, of_component = np.array([0.5, 0.3, 0.2]), np.array([0, 1, 0])
    points = np.linspace(-10, 15, 4001)
    density = stats.norm.pdf(points[:, None], mean, sd)
    (merged,) = merged_profiles(
        (FeatureProfile("a", "a", points, density, mean, sd),), weights, of_component
    )
    expected = (5 * density[:, 0] + 2 * density[:, 2]) / 7
    np.testing.assert_allclose(merged.density, np.column_stack([expected, density[:, 1]]))
    # moments by integrating the density that was merged
    step = points[1] - points[0]
    first = points @ merged.density * step
    second = points**2 @ merged.density * step
    assert merged.mean == pytest.approx(first)
    assert merged.sd == pytest.approx(np.sqrt(second - first**2), rel=1e-6)


def test_population_overlaps__tell_populations_apart(merged_model):
    found = population_overlaps(merged_model)
    assert found.shape == (4, 4)
    np.testing.assert_allclose(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 1.0)
    # the four simulated populations hardly share a row
    assert np.all(found[np.triu_indices(4, 1)] < 0.2)


def test_population_overlaps__are_large_within_a_population(merged_model, cells_path):
    import bigtensor
    from bigtensor.report.rows import read_rows

    merged_model.save(cells_path.with_name("cut.zarr"), overwrite=True)
    cut = bigtensor.load(cells_path.with_name("cut.zarr")).cut_populations(5)
    found = population_overlaps(cut)
    # against the same mean over rows of the data
    rows = read_rows(cut, cells_path, sample_size=8000)
    probability = rows.probability
    root = np.sqrt(probability)
    scale = np.sqrt(probability.mean(axis=0))
    expected = root.T @ root / len(root) / np.outer(scale, scale)
    np.testing.assert_allclose(found, expected, atol=0.1)
    assert found[np.triu_indices(5, 1)].max() > 0.2


def test_levels_of__shows_populations_first(merged_model, fitted_mixture):
    levels = levels_of(merged_model)
    assert (levels.shown.name, levels.shown.count) == ("population", 4)
    assert levels.component_means.shape == (5, 30)
    np.testing.assert_array_equal(levels.shown.weights, merged_model.population_weights_)
    components = feature_profiles(merged_model)
    for merged, profile in zip(levels.shown.profiles, components, strict=True):
        # merging changes nothing in the sum
        np.testing.assert_allclose(
            merged.density @ levels.shown.weights, profile.density @ merged_model.weights_
        )
    plain = levels_of(fitted_mixture)
    assert (plain.shown.name, plain.labels.of_component) == ("component", None)
