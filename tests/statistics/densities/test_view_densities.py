from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import logsumexp, softmax

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.kernels.kernel import GaussianKernel
from bigtensor.features.kernels.nystroem import Nystroem
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.tile_posterior import HOPELESS, normalise
from bigtensor.statistics.densities.view_densities import EmbeddedDensities, MixtureDensities

SLICES = {"a": slice(0, 1), "wide": slice(1, 3), "b": slice(3, 4)}
K, BINS = 3, 20
LOW, STEP = np.array([-2.0, 10.0]), np.array([0.25, 0.5])
LOG_TABLES = default_rng(1).normal(size=(2, BINS + 1, K))
WEIGHTS = np.array([0.5, 0.3, 0.2])


def tables(columns=(0, 3), dtype="float64"):
    return TabulatedDensities(columns, LOW, STEP, LOG_TABLES, dtype)


def wide(dtype="float64", floor=1e-3, seed=2):
    rng = default_rng(seed)
    landmarks = rng.normal(size=(12, 2))
    feature_map = Nystroem(
        landmarks,
        GaussianKernel(np.array([0.7, 1.1])),
        np.zeros(2),
        rng.normal(size=(12, 5)),
        dtype,
    )
    return EmbeddedDensities("wide", feature_map, rng.normal(size=(5, K)), np.full(K, floor))


def rows(n, dtype="float64", seed=3):
    rng = default_rng(seed)
    x = np.column_stack(
        [rng.uniform(-3, 4, n), rng.normal(size=(n, 2)), rng.uniform(9, 21, n)]
    ).astype(dtype)
    return Block(x, SLICES, 0, n)


def expected_log_joint(mixture, x):
    """Return the plain formula, (components, rows)."""
    x = x.astype(np.float64)
    total = np.log(mixture.weights)[:, None] + np.zeros((K, len(x)))
    if mixture.tables is not None:
        for view, column in enumerate(mixture.tables.columns):
            grid = LOW[view] + STEP[view] * np.arange(BINS + 1)
            for h in range(K):
                total[h] += np.interp(x[:, column], grid, LOG_TABLES[view, :, h])
    for part in mixture.embedded:
        m = part.feature_map
        y = m.kernel.evaluate(x[:, SLICES[part.view]], m.landmarks) @ m.projection
        total += np.log(np.maximum(y @ part.coefficients, part.floor)).T
    return total


WIDE = wide()
MIXTURES = {
    "tables": MixtureDensities(WEIGHTS, tables()),
    "neighbouring columns": MixtureDensities(WEIGHTS, tables((2, 3))),
    "embedded": MixtureDensities(WEIGHTS, None, (WIDE,)),
    "both": MixtureDensities(WEIGHTS, tables(), (WIDE,)),
}
FLOAT32 = {
    "tables": MixtureDensities(WEIGHTS, tables(dtype="float32")),
    "both": MixtureDensities(WEIGHTS, tables(dtype="float32"), (wide("float32", floor=1e-2),)),
}


def many_components(components, dtype, n=4000, views=5, bins=256, seed=0):
    """Return overlapping normal components, far from each other or not, and rows drawn from them.

    As in a cytometry model: densities have a floor, so that a component is hopeless for most rows.
    """
    rng = default_rng(seed)
    means = 3 * rng.normal(size=(views, components))
    grid = np.linspace(-12, 12, bins + 1)
    log_tables = np.maximum(-((grid[:, None] - means[:, None, :]) ** 2) / 2, -14)
    low, step = np.full(views, -12.0), np.full(views, 24 / bins)
    weights = rng.dirichlet(np.full(components, 2.0))
    tabulated = TabulatedDensities(tuple(range(views)), low, step, log_tables, dtype)
    label = rng.choice(components, n, p=weights)
    values = (means[:, label].T + rng.normal(size=(n, views))).astype(np.float32)
    slices = {f"view {view}": slice(view, view + 1) for view in range(views)}
    return MixtureDensities(weights, tabulated), Block(values, slices, 0, n)


@pytest.mark.parametrize("name", ["tables", "neighbouring columns", "embedded", "both"])
@pytest.mark.parametrize("n", [1, 17, 9001])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log_joint__is_the_sum_of_log_densities(name, n, dtype):
    mixture = MIXTURES[name]
    block = rows(n, dtype)
    out = np.empty((n, K))
    work = Workspace()
    mixture.log_joint(block, out, work)
    np.testing.assert_allclose(out.T, expected_log_joint(mixture, block.values), atol=1e-9)
    assert work.nbytes <= mixture.work_nbytes(n)


@pytest.mark.parametrize("name", FLOAT32)
def test_log_joint__in_float32_is_close(name):
    mixture, block, work = FLOAT32[name], rows(9001, "float32"), Workspace()
    assert mixture.dtype == np.float32
    out = np.empty((9001, K), np.float32)
    mixture.log_joint(block, out, work)
    tolerance = 2e-4 if mixture.embedded else 2e-6
    np.testing.assert_allclose(out.T, expected_log_joint(mixture, block.values), atol=tolerance)
    assert work.nbytes <= mixture.work_nbytes(9001)


def test_dtype__is_float32_only_where_all_densities_are():
    single, double = (wide(dtype) for dtype in ("float32", "float64"))
    assert MixtureDensities(WEIGHTS, tables(dtype="float32"), (double,)).dtype == np.float64
    assert MixtureDensities(WEIGHTS, tables(), (single,)).dtype == np.float64
    assert MixtureDensities(WEIGHTS, None, (single,)).dtype == np.float32
    block = rows(300)
    for mixture in (
        MixtureDensities(WEIGHTS, tables(dtype="float32"), (double,)),
        MixtureDensities(WEIGHTS, tables(), (wide("float32", floor=1e-2),)),
    ):
        out = np.empty((300, K))
        mixture.log_joint(block, out, Workspace())
        np.testing.assert_allclose(out.T, expected_log_joint(mixture, block.values), atol=2e-4)


def test_log_joint__float32_features_are_close():
    mixture = MixtureDensities(WEIGHTS, None, (wide("float32", floor=1e-2),))
    block = rows(500, "float32")
    out = np.empty((500, K))
    mixture.log_joint(block, out, Workspace())
    np.testing.assert_allclose(out.T, expected_log_joint(mixture, block.values), atol=2e-4)


@pytest.mark.parametrize("mixture", [MIXTURES["both"], FLOAT32["both"]], ids=["double", "single"])
def test_log_joint__does_not_depend_on_the_blocks_before(mixture):
    work = Workspace()
    block = rows(4000)
    whole, again = (np.empty((4000, K), mixture.dtype) for _ in range(2))
    mixture.log_joint(block, whole, Workspace())
    for first, last in ((0, 3900), (3900, 3907), (3907, 4000)):
        part = replace(block, values=block.values[first:last], rows=last - first)
        mixture.log_joint(part, again[first:last], work)
    np.testing.assert_array_equal(whole, again)


@pytest.mark.parametrize(
    ("value", "end"), [(-1e300, 0), (-np.inf, 0), (1e300, -1), (np.inf, -1), (3.0, -1)]
)
def test_log_joint__outside_the_grid_is_the_density_of_its_end(value, end):
    tables_of_one = TabulatedDensities((0,), LOW[:1], STEP[:1], LOG_TABLES[:1])
    out = np.empty((1, K))
    block = Block(np.array([[value]]), {"a": slice(0, 1)}, 0, 1)
    MixtureDensities(WEIGHTS, tables_of_one).log_joint(block, out, Workspace())
    np.testing.assert_allclose(out[0], np.log(WEIGHTS) + LOG_TABLES[0, end], atol=1e-9)


def test_log_joint__a_missing_value_stays_in_its_row():
    block = rows(50)
    block.values[7, 0] = block.values[9, 3] = block.values[11, 1] = np.nan
    out = np.empty((50, K))
    MIXTURES["both"].log_joint(block, out, Workspace())
    np.testing.assert_array_equal(np.isnan(out).all(axis=1), np.isin(np.arange(50), [7, 9, 11]))
    np.testing.assert_array_equal(np.isnan(out).any(axis=1), np.isin(np.arange(50), [7, 9, 11]))


def test_log_joint__looks_at_no_row_of_the_halo():
    block = rows(50)
    out = np.empty((30, K))
    MIXTURES["both"].log_joint(replace(block, rows=30), out, Workspace())
    np.testing.assert_allclose(
        out.T, expected_log_joint(MIXTURES["both"], block.values[:30]), atol=1e-9
    )


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-14), ("float32", 5e-7)])
def test_normalise__is_the_softmax(dtype, tolerance):
    joint = (default_rng(0).normal(size=(40, 5)) * 50 - 2000).astype(dtype)
    posterior, label, log_density = joint.copy(), np.empty(40, np.intp), np.empty(40)
    normalise(posterior, log_density, label)
    exact = joint.astype(np.float64)
    np.testing.assert_allclose(posterior, softmax(exact, axis=1), atol=tolerance)
    np.testing.assert_allclose(log_density, logsumexp(exact, axis=1), rtol=tolerance)
    np.testing.assert_array_equal(label, joint.argmax(axis=1))
    assert posterior.dtype == dtype


def test_normalise__makes_no_denormal_numbers_in_float32():
    joint = -default_rng(0).uniform(0, 200, (300, 150)).astype(np.float32)
    posterior = joint.copy()
    normalise(posterior, np.empty(300))
    # products of two, and of shares of one with any neighbour of a grid, are normal numbers
    assert posterior.min() ** 2 > np.finfo(np.float32).tiny
    assert posterior.min() == pytest.approx(HOPELESS * posterior.max(axis=1).min(), rel=0.5)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, atol=1e-6)


def test_normalise__a_missing_value_stays_in_its_row():
    joint = default_rng(0).normal(size=(30, 4)).astype(np.float32)
    joint[7] = np.nan
    log_density = np.empty(30)
    normalise(joint, log_density)
    np.testing.assert_array_equal(np.isnan(joint).T, np.arange(30) == [[7]] * 4)
    np.testing.assert_array_equal(np.isnan(log_density), np.arange(30) == 7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normalise__a_row_does_not_depend_on_the_rows_beside_it(dtype):
    """Vectors and what is left at their ends go through the same code of the processor."""
    joint = (default_rng(0).normal(size=(203, 40)) * 20).astype(dtype)
    whole, of_whole = joint.copy(), np.empty(203)
    normalise(whole, of_whole)
    for first, last in ((0, 2), (2, 20), (20, 203)):
        part, of_part = joint[first:last].copy(), np.empty(last - first)
        normalise(part, of_part)
        np.testing.assert_array_equal(part, whole[first:last])
        np.testing.assert_array_equal(of_part, of_whole[first:last])


def test_densities__refuse_what_does_not_belong_together():
    with pytest.raises(ParameterError, match="do not belong together"):
        TabulatedDensities((0, 1, 2), LOW, STEP, LOG_TABLES)
    with pytest.raises(ParameterError, match="floor"):
        TabulatedDensities((0, 3), LOW, STEP, np.where(LOG_TABLES < 0, -np.inf, 0))
    with pytest.raises(ParameterError, match=r"float32 or float64.*'float16'"):
        tables(dtype="float16")
    with pytest.raises(ParameterError, match="positive steps"):
        TabulatedDensities((0, 3), LOW, -STEP, LOG_TABLES)
    with pytest.raises(ParameterError, match="same components"):
        MixtureDensities(np.ones(4) / 4, tables())
    with pytest.raises(ParameterError, match="at least one view"):
        MixtureDensities(WEIGHTS)
    with pytest.raises(ParameterError, match="must be positive"):
        MixtureDensities(np.array([1.0, 0.0, 0.0]), tables())
    with pytest.raises(ParameterError, match=r"'wide'.*5 features"):
        replace(wide(), coefficients=np.ones((4, K)))
    with pytest.raises(ParameterError, match="floors"):
        wide(floor=0.0)


@pytest.mark.parametrize("width", [1, 15, 16, 17, 160])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normalise__with_and_without_labels_gives_the_same_bits(width, dtype):
    joint = (default_rng(width).normal(size=(50, width)) * 30).astype(dtype)
    joint[3] = np.nan
    joint[5] = joint[5, 0]
    plain, labelled = joint.copy(), joint.copy()
    of_plain, of_labelled, label = np.empty(50), np.empty(50), np.empty(50, np.intp)
    normalise(plain, of_plain)
    normalise(labelled, of_labelled, label)
    np.testing.assert_array_equal(plain, labelled)
    np.testing.assert_array_equal(of_plain, of_labelled)
    np.testing.assert_array_equal(label, joint.argmax(axis=1))
