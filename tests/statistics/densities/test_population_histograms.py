from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import softmax

from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.class_densities import ClassDensities
from bigtensor.statistics.densities.population_histograms import PopulationHistograms
from tests.statistics.densities.test_group_sums import accumulate
from tests.statistics.densities.test_view_densities import (
    MIXTURES,
    K,
    expected_log_joint,
    rows,
)

POPULATIONS = np.arange(K) % 2
BINS = 9


def histograms(name, n_groups):
    classes = ClassDensities(MIXTURES[name], POPULATIONS)
    low, step = np.array([-1.0, -0.5]), np.array([0.3, 0.2])
    return PopulationHistograms(classes, 1, (0, 2), low, step, BINS, n_groups)


@pytest.mark.parametrize("name", ["tables", "both"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("step", [700, 5000])
def test_population_histograms__are_those_of_numpy(name, weighted, step):
    group = default_rng(3).integers(-1, 3, 5000).astype(np.int32)
    weight = default_rng(1).uniform(0, 3, 5000) if weighted else None
    block = replace(rows(5000), weight=weight, group=group)
    statistic = histograms(name, 3)
    posterior = softmax(expected_log_joint(MIXTURES[name], block.values), axis=0)
    share = posterior[POPULATIONS == 1].sum(axis=0) * (1 if weight is None else weight)
    found = accumulate(statistic, block, step)
    for place, (column, low, width) in enumerate(
        zip(statistic.columns, statistic.low, statistic.step, strict=True)
    ):
        edges = low + width * np.arange(BINS + 1)
        # values beyond the ends count in the end bins
        inside = np.clip(block.values[:, column], edges[0], np.nextafter(edges[-1], -np.inf))
        for code in range(3):
            own = group == code
            expected = np.histogram(inside[own], edges, weights=share[own])[0]
            np.testing.assert_allclose(found[code, place], expected, rtol=1e-6, atol=1e-9)


def test_population_histograms__of_rows_without_groups_are_one_group():
    block = replace(rows(2000), group=None)
    statistic = histograms("tables", 1)
    state = statistic.init()
    statistic.update(state, block, Workspace())
    grouped = replace(block, group=np.zeros(2000, np.int32))
    np.testing.assert_array_equal(
        state["counts"], accumulate(histograms("tables", 1), grouped, 2000)
    )
