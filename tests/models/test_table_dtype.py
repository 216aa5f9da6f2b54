"""The dtype of the tables that rows are compared with, from the grids to a saved solution."""

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.models.kernel_mixture.histogram_densities import (
    Grids,
    histogram_bandwidths,
    smooth_histograms,
)
from bigtensor.models.kernel_mixture.script import STORED_CLASSES
from bigtensor.models.kernel_mixture.solution import KernelSolution
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.store import pack, unpack

VIEWS = (("a", ("a",)), ("b", ("b",)))
VALUES = default_rng(0).normal(size=(3000, 2))


def solution(dtype: str) -> KernelSolution:
    grids = Grids.over_sample(VALUES, (0, 1), 64, dtype=dtype)
    share = default_rng(1).dirichlet(np.ones(3), len(VALUES))
    histograms = grids.histograms(VALUES, share * (VALUES[:, :1] > 0) + 0.1)
    bandwidths = histogram_bandwidths(histograms, grids.step)
    densities = smooth_histograms(histograms, grids.step, bandwidths)
    weights = np.array([0.5, 0.3, 0.2])
    return KernelSolution(weights, VIEWS, grids, histograms, densities, bandwidths, densities)


def probabilities(found: KernelSolution) -> np.ndarray:
    out = {"probability": np.empty((len(VALUES), 3), np.float32)}
    block = Block(VALUES, found.slices, 0, len(VALUES))
    Responsibilities(found.mixture(), ("probability",)).evaluate(block, out, Workspace())
    return out["probability"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_grids__give_tables_of_their_dtype(dtype):
    found = solution(dtype)
    assert found.mixture().dtype == found.grids.flat(3).log_tables.dtype == dtype
    assert found.without("a").mixture().dtype == dtype
    assert found.ordered(np.array([2, 0, 1])).mixture().dtype == dtype
    np.testing.assert_allclose(probabilities(found), probabilities(solution("float64")), atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_solution__from_its_arrays_gives_the_same_bits(dtype):
    found = solution(dtype)
    again = unpack(pack(found, STORED_CLASSES), STORED_CLASSES)
    assert again.grids.dtype == dtype
    np.testing.assert_array_equal(probabilities(again), probabilities(found))
