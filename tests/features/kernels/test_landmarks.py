import numpy as np
import pytest

from bigtensor.errors import DataError, ParameterError
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.features.kernels.incomplete_cholesky import incomplete_cholesky
from bigtensor.features.kernels.kernel import GaussianKernel, LaplaceKernel
from bigtensor.features.kernels.landmarks import (
    METHODS,
    choose_landmarks,
    kmeans_landmarks,
    plus_plus_landmarks,
    uniform_landmarks,
)


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
    for found in (
        uniform_landmarks(sample, 20, 0),
        kmeans_landmarks(sample, 20, np.ones(1), 0),
        plus_plus_landmarks(sample, 20, np.ones(1), 0),
    ):
        np.testing.assert_array_equal(found.points[:, 0], np.arange(7))
        assert "20 landmarks" in found.note


def test_landmarks__refuse_an_empty_sample_and_a_count_of_zero():
    with pytest.raises(DataError, match=r"got \(0, 2\)"):
        uniform_landmarks(np.zeros((0, 2)), 5, 0)
    with pytest.raises(ParameterError, match="got 0"):
        kmeans_landmarks(np.zeros((3, 2)), 0, np.ones(2), 0)


def clouds(d, rows=1500):
    rng = np.random.default_rng(5)
    return rng.normal(size=(rows, d)) + rng.choice([0.0, 6.0], (rows, 1))


def explicit_error(sample, points, kernel):
    """Return the relative trace error of the approximation from points, by its formula."""
    columns = kernel.evaluate(sample, points)
    middle = np.linalg.pinv(kernel.evaluate(points, points), rcond=1e-12, hermitian=True)
    approximation = np.einsum("ij,jk,ik->i", columns, middle, columns)
    return 1 - approximation.sum() / np.diagonal(kernel.evaluate(sample, sample)).sum()


def choose(method, sample, count, kernel, **options):
    return choose_landmarks(method, sample, count, sample.std(axis=0), kernel, 3, **options)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "kernel",
    [GaussianKernel(np.array([0.5, 0.8])), LaplaceKernel(np.array([1.0, 1.0]))],
    ids=lambda kernel: type(kernel).__name__,
)
@pytest.mark.quick_cases(
    "GaussianKernel-kmeans++",
    "GaussianKernel-cholesky",
    "LaplaceKernel-uniform",
    "LaplaceKernel-kmeans",
)
def test_choose_landmarks__reports_what_the_kernel_at_them_leaves_out(method, kernel):
    sample = clouds(2, rows=2500)
    found = choose(method, sample, 40, kernel)
    assert found.points.shape == (40, 2)
    assert found.note is None
    assert found.tolerance_met
    expected = explicit_error(sample, found.points, kernel)
    assert found.trace_error == pytest.approx(expected, abs=1e-8)
    assert 0.01 < found.trace_error < 0.6
    again = choose(method, sample, 40, kernel)
    np.testing.assert_array_equal(again.points, found.points)
    assert (np.lexsort(found.points.T[::-1]) == np.arange(40)).all()


def test_choose_landmarks__are_those_of_their_method():
    sample, kernel, scale = clouds(2), GaussianKernel(np.ones(2)), np.array([1.0, 2.0])

    def points(method):
        return choose_landmarks(method, sample, 30, scale, kernel, 3).points

    np.testing.assert_array_equal(points("kmeans"), kmeans_landmarks(sample, 30, scale, 3).points)
    np.testing.assert_array_equal(points("uniform"), uniform_landmarks(sample, 30, 3).points)
    pivots = incomplete_cholesky(sample, kernel, 30, 3).pivots
    np.testing.assert_array_equal(points("cholesky"), np.unique(sample[pivots], axis=0))
    seeds = plus_plus_landmarks(sample, 30, scale, 3).points
    np.testing.assert_array_equal(points("kmeans++"), seeds)
    assert {tuple(row) for row in seeds} <= {tuple(row) for row in sample}


def test_plus_plus_landmarks__lie_farther_apart_than_rows_at_random():
    sample = clouds(2)

    def least_distance(points):
        distances = ((points[:, None] - points) ** 2).sum(2) + np.diag(np.full(len(points), np.inf))
        return np.sqrt(np.median(distances.min(axis=1)))

    chosen = plus_plus_landmarks(sample, 50, np.ones(2), 0)
    assert least_distance(chosen.points) > 1.5 * least_distance(
        uniform_landmarks(sample, 50, 0).points
    )


def test_plus_plus_landmarks__compare_coordinates_by_their_scale():
    sample = np.random.default_rng(3).normal(size=(2000, 2)) * [1, 1000]
    chosen = plus_plus_landmarks(sample, 30, np.array([1.0, 1000.0]), 0).points
    same = plus_plus_landmarks(sample / [1, 1000], 30, np.ones(2), 0).points
    np.testing.assert_allclose(chosen, same * [1, 1000], rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_choose_landmarks__takes_as_few_as_the_tolerance_allows(method):
    sample, kernel = clouds(1), GaussianKernel(np.array([0.1]))
    found = choose(method, sample, 400, kernel, tolerance=0.03)
    count = len(found.points)
    assert found.trace_error <= 0.03
    assert found.tolerance_met
    assert found.note is None
    fewer = count - 1 if method == "cholesky" else count // 2
    assert choose(method, sample, fewer, kernel).trace_error > 0.03
    if method != "cholesky":
        assert count in (50, 100, 200, 400)


@pytest.mark.parametrize("method", METHODS)
def test_choose_landmarks__says_when_the_tolerance_is_not_met(method):
    found = choose(method, clouds(2), 30, GaussianKernel(np.full(2, 0.05)), tolerance=1e-3)
    assert len(found.points) == 30
    assert not found.tolerance_met
    assert "30 landmarks leave a relative trace" in found.note
    assert "above the tolerance of 0.001: allow" in found.note


@pytest.mark.parametrize("method", METHODS)
def test_choose_landmarks__of_a_view_with_few_values_are_these(method):
    sample = np.random.default_rng(4).integers(0, 7, (1000, 1)).astype(float)
    found = choose(method, sample, 20, GaussianKernel(np.array([0.5])))
    np.testing.assert_array_equal(found.points[:, 0], np.arange(7))
    assert "20" in found.note
    assert found.trace_error < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_choose_landmarks__works_with_a_kernel_of_ones_own(method):
    gaussian = GaussianKernel(np.array([0.3]))
    own = CustomKernel(lambda x, y: 5 * gaussian.evaluate(x, y), 1)
    mine, theirs = (choose(method, clouds(1), 25, kernel) for kernel in (own, gaussian))
    assert mine.points.shape == (25, 1)
    assert mine.trace_error == pytest.approx(theirs.trace_error, rel=1e-6)


def test_choose_landmarks__refuses_what_it_does_not_know():
    sample, kernel = clouds(1), GaussianKernel(np.ones(1))
    with pytest.raises(ParameterError, match="'uniform', 'cholesky', got 'random'"):
        choose("random", sample, 5, kernel)
    with pytest.raises(ParameterError, match=r"between 0 and 1, got 1\.5"):
        choose("kmeans", sample, 5, kernel, tolerance=1.5)
    with pytest.raises(ParameterError, match="at least one landmark is needed, got 0"):
        choose("cholesky", sample, 0, kernel)
    with pytest.raises(DataError, match=r"got \(0, 1\)"):
        choose_landmarks("kmeans++", sample[:0], 5, np.ones(1), kernel, 0)
