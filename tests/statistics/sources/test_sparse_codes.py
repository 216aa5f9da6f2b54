"""Sparse codes and their sums, beside scikit-learn's lasso and direct formulas."""

import numpy as np
import pytest
from sklearn.decomposition import sparse_encode

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.sources.dictionary_update import updated_dictionary
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.sources.sparse_code_sums import SparseCodeSums
from bigtensor.statistics.sources.sparse_codes import SparseCoder, SparseSources
from tests.models.sources.sparse_ica.problems import sparse_problem


@pytest.fixture(scope="module")
def problem():
    values, columns, sources = sparse_problem(12, 20, 2, 500, seed=1, dtype="f8")
    scales, origin = np.linspace(0.5, 2, 12), np.linspace(-3, 3, 12)
    return values * scales + origin, columns, sources, scales, origin


@pytest.fixture
def coder(problem):
    _, columns, _, scales, origin = problem
    return SparseCoder(columns, origin, scales, 0.2, "float64")


def block_of(values, weight=None):
    return Block(values, {"sample": slice(0, values.shape[1])}, 0, len(values), weight)


def encoded(coder, values):
    function = SparseSources(coder, np.ones(coder.n_components))
    out = {"source": np.empty((len(values), coder.n_components), coder.dtype)}
    function.evaluate(block_of(values), out, Workspace())
    return out["source"]


def test_codes__stand_where_the_lasso_has_them(problem, coder):
    values, columns, _, scales, origin = problem
    rows = (values - origin) / scales
    lasso = sparse_encode(
        rows, columns.T, algorithm="lasso_cd", alpha=0.2, max_iter=10_000, check_input=False
    )
    codes = encoded(coder, values)
    same = ((codes != 0) == (np.abs(lasso) > 1e-3)).all(axis=1)
    assert same.mean() > 0.98


def test_codes__are_least_squares_where_they_stand(problem, coder):
    values, columns, _, scales, origin = problem
    rows = (values - origin) / scales
    codes = encoded(coder, values)
    assert 1 < (codes != 0).sum(axis=1).mean() < 4
    left = rows - codes @ columns.T
    # nothing of a row is left along its columns
    along = np.where(codes != 0, left @ columns, 0.0)
    assert np.abs(along).max() < 2e-2
    assert np.abs(left @ columns).max() > 0.1


def test_codes__are_near_the_sources(problem, coder):
    values, _, sources, _, _ = problem
    codes = encoded(coder, values)
    clear = np.abs(sources) > 0.6
    assert np.median(np.abs(codes - sources)[clear]) < 0.06


def test_codes__of_a_row_do_not_depend_on_its_block(problem, coder):
    values = problem[0]
    whole = encoded(coder, values)
    parts = np.concatenate([encoded(coder, part) for part in np.split(values, [7, 130])])
    assert whole == pytest.approx(parts, abs=1e-9)


def test_codes__in_float32_are_those_in_float64(problem, coder):
    values, columns, _, scales, origin = problem
    single = SparseCoder(columns, origin + 1000, scales, 0.2, "float32")
    shifted = (values + 1000).astype("f4")
    codes = encoded(single, shifted)
    assert codes.dtype == np.float32
    assert np.quantile(np.abs(codes - encoded(coder, values)), 0.99) < 1e-3


@pytest.mark.parametrize("weighted", [False, True])
def test_sums__are_means_over_rows(problem, coder, weighted):
    values, columns, _, scales, origin = problem
    weight = np.random.default_rng(0).uniform(0, 2, len(values)) if weighted else None
    sums = sum_in_memory(SparseCodeSums(coder), block_of(values, weight))
    w = np.ones(len(values)) if weight is None else weight
    w = w / w.sum()
    rows, codes = (values - origin) / scales, encoded(coder, values)
    assert sums.rows_by_codes == pytest.approx((rows.T * w) @ codes, abs=1e-10)
    assert sums.products == pytest.approx((codes.T * w) @ codes, abs=1e-10)
    assert sums.row_mean == pytest.approx(w @ rows, abs=1e-10)
    assert sums.means == pytest.approx(w @ codes, abs=1e-10)
    assert sums.active == pytest.approx(w @ (codes != 0), abs=1e-10)
    left = rows - codes @ columns.T
    assert sums.residual == pytest.approx(w @ (left**2).sum(axis=1), abs=1e-10)
    centred = codes - sums.means
    variances = w @ centred**2
    assert sums.variances == pytest.approx(variances, abs=1e-10)
    assert sums.kurtosis == pytest.approx(w @ centred**4 / variances**2 - 3, rel=1e-8)
    sizes = np.sqrt(w @ codes**2 / (w @ (codes != 0)))
    assert sums.amplitudes == pytest.approx(sizes, abs=1e-10)


def test_noise__counts_the_dimensions_that_codes_take():
    values, columns, _ = sparse_problem(30, 40, 2, 20_000, noise=0.1, seed=2, dtype="f8")
    coder = SparseCoder(columns, np.zeros(30), np.ones(30), 0.4, "float64")
    noise = sum_in_memory(SparseCodeSums(coder), block_of(values)).noise(30)
    assert noise == pytest.approx(0.1, rel=0.2)


def test_updated_dictionary__is_least_squares_with_an_intercept(problem):
    values, columns, sources, _, _ = problem
    n, d = values.shape
    found = updated_dictionary(
        columns,
        values.T @ sources / n,
        sources.T @ sources / n,
        values.mean(axis=0),
        sources.mean(axis=0),
    )
    wide = np.column_stack([sources, np.ones(n)])
    expected = np.linalg.lstsq(wide, values, rcond=None)[0]
    unit = expected[:-1] / np.linalg.norm(expected[:-1], axis=1)[:, None]
    assert found.columns == pytest.approx(unit.T, abs=1e-4)
    assert found.origin == pytest.approx(expected[-1], abs=1e-4)
    assert found.origin.shape == (d,)


def test_updated_dictionary__leaves_a_column_that_no_row_is_made_of(problem):
    values, columns, sources, _, _ = problem
    unused = sources.copy()
    unused[:, 3] = 0
    found = updated_dictionary(
        columns,
        values.T @ unused / len(values),
        unused.T @ unused / len(values),
        values.mean(axis=0),
        unused.mean(axis=0),
    )
    assert np.array_equal(found.columns[:, 3], columns[:, 3])
    assert np.isfinite(found.columns).all()
