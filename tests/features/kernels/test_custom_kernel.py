import numpy as np
import pytest
from scipy.special import gamma

from bigtensor.engine.checkpoint import content_key
from bigtensor.errors import DataError, ParameterError
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.features.kernels.kernel import GaussianKernel, LaplaceKernel
from bigtensor.features.kernels.nystroem import Nystroem, eigenvalue_cut, nystroem_root
from bigtensor.statistics.base import Workspace

GAUSSIAN = GaussianKernel(np.array([0.4, 0.9]))


def features(kernel, x, landmarks, dtype):
    root = nystroem_root(kernel.gram(landmarks), eigenvalue_cut("float32"))
    nystroem = Nystroem(landmarks, kernel, x.mean(0), root, dtype)
    group = GroupMap(("a",), (nystroem,))
    out = np.full((len(x), group.n_features), np.nan, dtype)
    group.evaluate([x.astype(dtype)], out, Workspace())
    return out, nystroem


def differences(x, landmarks):
    return x[:, None, :] - landmarks


def cauchy(x, landmarks):
    """A kernel with heavy tails whose integral is ``pi / 2`` in one coordinate."""
    return 1 / (1 + 4 * (differences(x, landmarks) ** 2).sum(axis=2))


def polynomial(x, landmarks):
    return (1 + x @ landmarks.T) ** 2


def triangle(x, landmarks):
    return np.maximum(1 - np.abs(differences(x, landmarks)) / 0.3, 0).prod(axis=2)


@pytest.mark.parametrize("mass", ["one", None, np.ones(30)])
def test_custom_kernel__is_the_gaussian_when_the_callable_is(mass):
    rng = np.random.default_rng(0)
    x, landmarks = rng.normal(size=(333, 2)), rng.normal(size=(30, 2))
    custom, theirs = features(CustomKernel(GAUSSIAN.evaluate, 2, mass), x, landmarks, "float64")
    gaussian, ours = features(GAUSSIAN, x, landmarks, "float64")
    np.testing.assert_allclose(custom, gaussian, atol=1e-9 * np.abs(gaussian).max())
    np.testing.assert_allclose(theirs.mass, ours.mass, atol=1e-7 * np.abs(ours.mass).max())


def test_custom_kernel__float32_is_float64_rounded():
    rng = np.random.default_rng(1)
    x, landmarks = rng.normal(size=(200, 2)).astype("f4"), rng.normal(size=(20, 2))
    kernel = CustomKernel(cauchy, 2, "one")
    single, _ = features(kernel, x, landmarks, "float32")
    double, _ = features(kernel, x.astype("f8"), landmarks, "float64")
    assert np.abs(single - double).max() < 1e-4 * np.abs(double).max()
    assert np.abs(single - double).max() > 0


@pytest.mark.parametrize("factor", [0.01, 1.0, 30.0])
def test_custom_kernel__integrates_whatever_the_width(factor):
    landmarks = np.random.default_rng(2).normal(size=(40, 2))
    for d in (1, 2):
        for kernel in (GaussianKernel, LaplaceKernel):
            wide = kernel(factor * np.array([0.2, 0.5])[:d])
            own = CustomKernel(lambda x, y, wide=wide: 7 * wide.evaluate(x, y), d)
            np.testing.assert_allclose(own.masses(landmarks[:, :d]), 7, rtol=1e-5)


def test_custom_kernel__integrates_heavy_tails_and_corners():
    landmarks = np.random.default_rng(3).normal(size=(10, 2))
    tails = CustomKernel(cauchy, 1).masses(landmarks[:, :1])
    np.testing.assert_allclose(tails, np.pi / 2, rtol=1e-5)
    for d in (1, 2):
        corners = CustomKernel(triangle, d).masses(landmarks[:, :d])
        np.testing.assert_allclose(corners, 0.3**d, rtol=3e-4)


def test_custom_kernel__integrates_a_kernel_that_changes_from_place_to_place():
    def uneven(x, landmarks):
        height, other = 1 + x[:, :1] ** 2, 1 + landmarks[:, 0] ** 2
        return height * other * np.exp(-0.5 * differences(x, landmarks)[:, :, 0] ** 2)

    landmarks = np.array([[-2.0], [0.0], [1.5]])
    square = landmarks[:, 0] ** 2
    expected = (1 + square) * (2 + square) * np.sqrt(2 * np.pi)
    np.testing.assert_allclose(CustomKernel(uneven, 1).masses(landmarks), expected, rtol=1e-6)


def test_custom_kernel__with_one_landmark_or_equal_coordinates_still_integrates():
    kernel = CustomKernel(lambda x, y: np.exp(-(differences(x, y) ** 2).sum(2) / 2), 2)
    np.testing.assert_allclose(kernel.masses(np.full((1, 2), 5.0)), 2 * np.pi, rtol=1e-6)
    line = np.column_stack([np.zeros(4), np.arange(4.0)])
    np.testing.assert_allclose(kernel.masses(line), 2 * np.pi, rtol=1e-6)


@pytest.mark.parametrize("function", [polynomial, lambda x, y: np.ones((len(x), len(y)))])
def test_custom_kernel__without_an_integral_says_so(function):
    landmarks = np.random.default_rng(4).normal(size=(5, 1))
    with pytest.raises(DataError, match=r"no integral around .*give its masses"):
        CustomKernel(function, 1).masses(landmarks)


def test_custom_kernel__refuses_an_integral_that_does_not_settle():
    def combs(x, landmarks):
        u = differences(x, landmarks)[:, :, 0]
        return np.exp(-0.5 * u**2) * (1 + np.cos(3e4 * u) * (np.abs(u) > 0.1))

    with pytest.raises(DataError, match=r"settle to a .* accuracy of 0\.0001"):
        CustomKernel(combs, 1).masses(np.array([[0.0], [1.0]]))


def test_custom_kernel__refuses_a_callable_that_is_no_kernel():
    x = np.random.default_rng(5).normal(size=(20, 1))
    for function, words in [
        (lambda x, y: x @ y.T * 0 + x, r"'<lambda>' is not symmetric.*symmetric function"),
        (lambda x, y: np.abs(x - y.T), "not positive semidefinite: the eigenvalues.*between -"),
        (lambda x, y: (x - y.T)[1:], r"shape \(19, 20\).*20 rows and 20 landmarks.*\(20, 20\)"),
        (lambda x, y: (x - y.T).astype(complex), "dtype complex128"),
        (lambda x, y: np.where(x == y.T, np.nan, 0), "between nan and nan; they must be finite"),
        (lambda x, y: np.where(x == y.T, np.inf, 0), "between 0.* and inf; they must be finite"),
    ]:
        with pytest.raises(DataError, match=words):
            CustomKernel(function, 1).gram(x)


def test_custom_kernel__accepts_a_gram_matrix_of_float32():
    x = np.random.default_rng(6).normal(size=(200, 2)) * 3

    def single(x, y):
        return GAUSSIAN.evaluate(x, y).astype("f4")

    gram = CustomKernel(single, 2).gram(x)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(gram, GAUSSIAN.evaluate(x, x), atol=1e-7)


def test_custom_kernel__refuses_values_that_blocks_cannot_hold():
    kernel = CustomKernel(lambda x, y: 1e39 * np.exp(-np.abs(x - y.T)), 1, "one")
    x, out = np.zeros((3, 1)), np.empty((2, 16), "f4")
    with pytest.raises(DataError, match=r"0.* and 1e\+39; .*finite in float32"):
        kernel.write_block(x, np.zeros((2, 1)), np.zeros(1), out, Workspace())


def test_custom_kernel__refuses_arguments_of_another_kind():
    for arguments, words in [
        ((3, 1), "a kernel is a callable"),
        ((cauchy, 0), "number of features, got 0"),
        ((cauchy, 3), "3 features is not integrated numerically; say mass='one'"),
        ((cauchy, 1, "two"), "'one', an array or None, got 'two'"),
        ((cauchy, 1, [1.0, np.nan]), "one finite number a landmark"),
    ]:
        with pytest.raises(ParameterError, match=words):
            CustomKernel(*arguments)
    with pytest.raises(DataError, match="given 3 masses for 2 landmarks"):
        CustomKernel(cauchy, 1, np.ones(3)).masses(np.zeros((2, 1)))


def test_custom_kernel__is_identified_by_its_values_at_the_landmarks():
    x = np.random.default_rng(7).normal(size=(30, 2))
    landmarks = x[:10]
    one = features(CustomKernel(GAUSSIAN.evaluate, 2, "one"), x, landmarks, "float64")[1]
    same = features(CustomKernel(GAUSSIAN.evaluate, 2, "one"), x, landmarks, "float64")[1]
    other = features(CustomKernel(cauchy, 2, "one"), x, landmarks, "float64")[1]
    assert content_key(one) == content_key(same) != content_key(other)


def test_cauchy__in_two_coordinates_has_the_mass_of_its_formula():
    power = 2.5

    def heavy(x, landmarks):
        return (1 + (differences(x, landmarks) ** 2).sum(axis=2)) ** -power

    expected = np.pi * gamma(power - 1) / gamma(power)
    found = CustomKernel(heavy, 2).masses(np.random.default_rng(8).normal(size=(4, 2)))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
