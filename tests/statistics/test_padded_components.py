"""Rows of components that are padded to cache lines, against float64, which has no padding."""

import pickle

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import CACHE_LINE, aligned_empty, width_in_lines
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.class_densities import ClassDensities
from bigtensor.statistics.densities.group_sums import GroupSums
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.view_densities import MixtureDensities

COMPONENTS, ROWS = 30, 5003
DTYPES = ("float32", "float64")


def mixture(dtype: str) -> MixtureDensities:
    rng = default_rng(0)
    tables = rng.normal(size=(3, 65, COMPONENTS)).astype(np.float32)
    weights = rng.dirichlet(np.full(COMPONENTS, 5.0))
    return MixtureDensities(
        weights, TabulatedDensities((0, 1, 2), np.full(3, -3.0), np.full(3, 6 / 64), tables, dtype)
    )


def block() -> Block:
    rng = default_rng(1)
    values = rng.normal(size=(ROWS, 3)).astype(np.float32)
    slices = {f"view {view}": slice(view, view + 1) for view in range(3)}
    return Block(values, slices, 0, ROWS, rng.uniform(0, 2, ROWS), group=np.arange(ROWS) % 3)


def sums(statistic):
    state, work = statistic.init(), Workspace()
    statistic.update(state, block(), work)
    assert work.nbytes <= statistic.work_nbytes(ROWS)
    return statistic.finalize(state)


@pytest.mark.parametrize(
    ("entries", "dtype", "width"),
    [
        (150, "float32", 160),
        (150, "float64", 152),
        (30, "float32", 32),
        (16, "float32", 16),
        (65, "float32", 65),
        (8, "float32", 8),
    ],
)
def test_width_in_lines__pads_by_an_eighth_at_most(entries, dtype, width):
    assert width_in_lines(entries, dtype) == width


def test_aligned_empty__begins_with_a_line():
    for size in (1, 7, 1000):
        array = aligned_empty((size, 3), "float32")
        assert array.shape == (size, 3)
        assert array.ctypes.data % CACHE_LINE == 0


def test_tables__are_padded_and_aligned_after_pickling_too():
    tables = mixture("float32").tables
    again = pickle.loads(pickle.dumps(tables))
    assert again.padded_tables.shape == (3, 65, 32)
    assert again.padded_tables.ctypes.data % CACHE_LINE == 0
    assert again.log_tables.base is not None
    np.testing.assert_array_equal(again.log_tables, tables.log_tables)
    assert mixture("float64").tables.padded_tables.shape == (3, 65, 30)


def test_posterior_sums__leave_the_padding_out():
    single, double = (
        sums(PosteriorSums(mixture(name), co_posterior=True, products=True)) for name in DTYPES
    )
    assert single.histograms.shape == (3, 65, COMPONENTS)
    np.testing.assert_allclose(single.histograms, double.histograms, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(single.mass, double.mass, rtol=1e-5)
    np.testing.assert_allclose(
        single.co_posterior.products, double.co_posterior.products, rtol=1e-5
    )
    np.testing.assert_allclose(single.co_posterior.mass, single.mass, rtol=1e-6)
    assert single.log_likelihood == pytest.approx(double.log_likelihood, rel=1e-7)


def test_group_sums__leave_the_padding_out():
    single, double = (sums(GroupSums(ClassDensities(mixture(name)), 3)) for name in DTYPES)
    assert single.mass.shape == (3, COMPONENTS)
    np.testing.assert_allclose(single.mass, double.mass, rtol=1e-5)


def test_responsibilities__leave_the_padding_out():
    names = ("label", "probability", "log_density")
    outputs = []
    for dtype in DTYPES:
        out = {
            "label": np.empty(ROWS, np.int32),
            "probability": np.empty((ROWS, COMPONENTS), np.float32),
            "log_density": np.empty(ROWS),
        }
        Responsibilities(mixture(dtype), names).evaluate(block(), out, Workspace())
        outputs.append(out)
    single, double = outputs
    assert np.mean(single["label"] == double["label"]) > 0.999
    np.testing.assert_allclose(single["probability"].sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(single["probability"], double["probability"], atol=1e-6)
    np.testing.assert_allclose(single["log_density"], double["log_density"], rtol=1e-5, atol=1e-5)
