import numpy as np
import pytest

from bigtensor.errors import DataError, ParameterError
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.features.kernels.incomplete_cholesky import incomplete_cholesky
from bigtensor.features.kernels.kernel import GaussianKernel, LaplaceKernel

KERNELS = [GaussianKernel(np.array([0.3, 0.5])), LaplaceKernel(np.array([0.6, 0.9]))]


def sample(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 2)) * rng.choice([0.3, 2.0], (rows, 1))


def nystroem_error(gram, pivots):
    """Return the relative trace error of the approximation from some columns, by its formula."""
    columns = gram[:, pivots]
    middle = np.linalg.pinv(gram[np.ix_(pivots, pivots)], rcond=1e-13, hermitian=True)
    return np.trace(gram - columns @ middle @ columns.T) / np.trace(gram)


def best_errors(gram):
    """Return the relative trace error of the best approximation of rank 0, 1, 2, ..."""
    values = np.maximum(np.linalg.eigvalsh(gram)[::-1], 0)
    return 1 - np.concatenate([[0], np.cumsum(values)]) / values.sum()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_trace_errors__are_those_of_the_explicit_approximation(kernel):
    rows = sample()
    found = incomplete_cholesky(rows, kernel, 40, 3)
    gram = kernel.evaluate(rows, rows)
    assert len(set(found.pivots.tolist())) == 40
    assert (np.diff(found.trace_errors) <= 0).all()
    for count in (1, 2, 10, 40):
        expected = nystroem_error(gram, found.pivots[:count])
        assert found.trace_errors[count - 1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_trace_error__is_near_that_of_the_best_rank(kernel):
    rows = sample()
    best = best_errors(kernel.evaluate(rows, rows))
    errors = np.stack(
        [incomplete_cholesky(rows, kernel, 60, seed).trace_errors for seed in range(10)]
    )
    for count in (10, 20, 60):
        ratios = errors[:, count - 1] / best[count]
        assert ratios.min() >= 1
        assert ratios.mean() < 3
        assert ratios.max() < 4


def test_trace_error__keeps_the_bound_of_the_theorem():
    rows, kernel = sample(), KERNELS[0]
    best = best_errors(kernel.evaluate(rows, rows))
    rank = 8
    pivots = int(np.ceil(rank + rank * np.log(1 / best[rank])))
    errors = [incomplete_cholesky(rows, kernel, pivots, seed).trace_errors[-1] for seed in range(9)]
    assert np.mean(errors) <= 2 * best[rank]


def test_incomplete_cholesky__beats_rows_at_random():
    rng = np.random.default_rng(0)
    # most rows in one place: drawn rows seldom see the others
    rows = np.concatenate([rng.normal(0, 0.1, (570, 2)), rng.uniform(-5, 5, (30, 2))])
    kernel = GaussianKernel(np.array([0.8, 0.8]))
    gram = kernel.evaluate(rows, rows)
    chosen = [incomplete_cholesky(rows, kernel, 30, seed).trace_errors[-1] for seed in range(5)]
    drawn = [nystroem_error(gram, rng.choice(len(rows), 30, replace=False)) for _ in range(5)]
    assert np.mean(chosen) < 0.2 * np.mean(drawn)


def test_incomplete_cholesky__stops_at_the_tolerance():
    rows = sample()
    full = incomplete_cholesky(rows, KERNELS[0], 100, 5).trace_errors
    found = incomplete_cholesky(rows, KERNELS[0], 100, 5, tolerance=0.2)
    assert found.trace_errors[-1] <= 0.2 < found.trace_errors[-2]
    np.testing.assert_array_equal(found.trace_errors, full[: len(found.pivots)])


def test_incomplete_cholesky__stops_when_the_matrix_is_reproduced():
    rows = np.repeat(np.arange(6.0), 50)[:, None]
    found = incomplete_cholesky(rows, GaussianKernel(np.array([0.5])), 40, 0)
    assert sorted(rows[found.pivots, 0]) == [0, 1, 2, 3, 4, 5]
    assert found.trace_errors[-1] == 0
    linear = CustomKernel(lambda x, y: x @ y.T, 3, "one")
    assert len(incomplete_cholesky(np.eye(3)[[0, 1, 2, 0, 1]], linear, 5, 0).pivots) == 3


def test_incomplete_cholesky__is_a_function_of_its_arguments():
    rows = sample()
    before = rows.copy()
    first, again, other = (incomplete_cholesky(rows, KERNELS[0], 20, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.pivots, again.pivots)
    np.testing.assert_array_equal(first.trace_errors, again.trace_errors)
    assert not np.array_equal(first.pivots, other.pivots)
    np.testing.assert_array_equal(rows, before)


def test_incomplete_cholesky__refuses_what_it_cannot_factor():
    zero = CustomKernel(lambda x, y: np.zeros((len(x), len(y))), 1, "one")
    with pytest.raises(DataError, match=r"between 0 and 0; .*positive"):
        incomplete_cholesky(np.zeros((3, 1)), zero, 2, 0)
    negative = CustomKernel(lambda x, y: x + y.T, 1, "one")
    with pytest.raises(DataError, match="lies between -2 and 4"):
        incomplete_cholesky(np.array([[-1.0], [2.0]]), negative, 2, 0)
    with pytest.raises(ParameterError, match=r"got 0 and 0\.1"):
        incomplete_cholesky(np.zeros((3, 1)), zero, 0, 0, 0.1)
    with pytest.raises(ParameterError, match="got 1 and nan"):
        incomplete_cholesky(np.zeros((3, 1)), zero, 1, 0, np.nan)
