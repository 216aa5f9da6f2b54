import numpy as np
import pytest

from bigtensor.abundance.distances import classical_scaling, composition_distances
from bigtensor.abundance.sample_weights import weights_of_counts


def test_classical_scaling__recovers_points_of_the_plane():
    points = np.random.default_rng(0).standard_normal((9, 2)) * [3, 1]
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    coordinates, shares = classical_scaling(distances)
    np.testing.assert_allclose(
        np.linalg.norm(coordinates[:, None] - coordinates, axis=-1), distances, atol=1e-9
    )
    assert shares.sum() == pytest.approx(1)
    assert shares[0] > shares[1]


def test_classical_scaling__of_two_samples_has_an_empty_dimension():
    coordinates, shares = classical_scaling(np.array([[0.0, 2.0], [2.0, 0.0]]))
    np.testing.assert_allclose(np.abs(coordinates), [[1, 0], [1, 0]], atol=1e-9)
    np.testing.assert_allclose(shares, [1, 0], atol=1e-9)
    assert np.isfinite(classical_scaling(np.zeros((3, 3)))[1]).all()


def test_composition_distances__do_not_grow_with_the_cells_of_a_sample():
    shares = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    one, ten = (
        composition_distances(weights_of_counts(cells * shares, list("abc"), list("xyz")))
        for cells in (10_000, 100_000)
    )
    np.testing.assert_allclose(one, ten, rtol=0.01)
    logs = np.log(shares) - np.log(shares).mean(axis=1, keepdims=True)
    assert ten[0, 2] == pytest.approx(np.linalg.norm(logs[0] - logs[2]), rel=0.01)


def test_composition_distances__of_samples_that_counting_alone_tells_apart_are_small():
    rng = np.random.default_rng(1)
    counts = rng.multinomial(2000, [0.8, 0.199, 0.001], 10)
    counts[:5] = rng.multinomial(2000, [0.5, 0.499, 0.001], 5)
    distances = composition_distances(
        weights_of_counts(counts, [*map(str, range(10))], list("xyz"))
    )
    within = distances[:5, :5].max()
    assert distances[:5, 5:].min() > 2 * within
