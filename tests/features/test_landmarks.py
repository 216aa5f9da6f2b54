import numpy as np
import pytest

from bigtensor.errors import DataError, ParameterError
from bigtensor.features.landmarks import kmeans_landmarks, uniform_landmarks


def test_uniform_landmarks__are_distinct_rows_of_the_sample():
    sample = np.random.default_rng(0).normal(size=(500, 2)).round(1)
    found = uniform_landmarks(sample, 50, 3)
    assert found.points.shape == (50, 2)
    assert found.note is None
    assert {tuple(row) for row in found.points} <= {tuple(row) for row in sample}
    assert len(np.unique(found.points, axis=0)) == 50
    np.testing.assert_array_equal(found.points, uniform_landmarks(sample, 50, 3).points)
    assert not np.array_equal(found.points, uniform_landmarks(sample, 50, 4).points)


def test_uniform_landmarks__follow_the_density_of_the_rows():
    sample = np.random.default_rng(1).normal(size=(5000, 1))
    points = uniform_landmarks(sample, 400, 0).points
    assert abs(points.mean()) < 0.2
    assert abs(points.std() - 1) < 0.15


@pytest.mark.parametrize("d", [1, 2])
def test_kmeans_landmarks__leave_smaller_gaps_than_rows_do(d):
    sample = np.random.default_rng(2).normal(size=(3000, d))
    chosen = kmeans_landmarks(sample, 40, np.ones(d), 0)
    drawn = uniform_landmarks(sample, 40, 0)
    assert chosen.points.shape == (40, d)

    def distortion(points):
        return ((sample[:, None] - points) ** 2).sum(2).min(1).mean()

    assert distortion(chosen.points) < 0.75 * distortion(drawn.points)


def test_kmeans_landmarks__compare_coordinates_by_their_scale():
    sample = np.random.default_rng(3).normal(size=(2000, 2)) * [1, 1000]
    points = kmeans_landmarks(sample, 30, np.array([1.0, 1000.0]), 0).points
    assert 0.7 < points[:, 0].std() < 1.6
    assert 700 < points[:, 1].std() < 1600


def test_landmarks__are_fewer_with_a_note_when_the_view_has_few_values():
    sample = np.random.default_rng(4).integers(0, 7, (1000, 1)).astype(float)
    for found in (uniform_landmarks(sample, 20, 0), kmeans_landmarks(sample, 20, np.ones(1), 0)):
        np.testing.assert_array_equal(found.points[:, 0], np.arange(7))
        assert found.note == "7 landmarks in place of 20: the sample has no more distinct values"


def test_landmarks__refuse_an_empty_sample_and_a_count_of_zero():
    with pytest.raises(DataError, match=r"got \(0, 2\)"):
        uniform_landmarks(np.zeros((0, 2)), 5, 0)
    with pytest.raises(ParameterError, match="got 0"):
        kmeans_landmarks(np.zeros((3, 2)), 0, np.ones(2), 0)
