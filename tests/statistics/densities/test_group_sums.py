from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import logsumexp, softmax

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.class_densities import ClassDensities
from bigtensor.statistics.densities.group_sums import GroupSums
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.view_densities import MixtureDensities
from tests.statistics.densities.test_view_densities import (
    FLOAT32,
    MIXTURES,
    K,
    expected_log_joint,
    rows,
)

GROUPS = 5
CODES = {
    "mixed": default_rng(8).integers(-1, GROUPS, 5000),
    "one after the other": np.repeat([3, 0, -1, 4, 2], 1000),
    "one": np.full(5000, 2),
    "none": np.full(5000, -1),
}


def accumulate(statistic, block, step):
    state, work = statistic.init(), Workspace()
    for start in range(0, block.rows, step):
        part = slice(start, min(start + step, block.rows))
        weight = None if block.weight is None else block.weight[part]
        piece = replace(
            block,
            values=block.values[part],
            start=start,
            rows=part.stop - start,
            weight=weight,
            group=block.group[part],
        )
        statistic.update(state, piece, work)
    assert work.nbytes <= statistic.work_nbytes(step)
    return statistic.finalize(state)


@pytest.mark.parametrize("name", ["tables", "embedded", "both"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("step", [700, 5000])
def test_group_sums__are_the_plain_sums(name, weighted, codes, step):
    code = CODES[codes]
    weight = default_rng(1).uniform(0, 3, 5000) if weighted else None
    block = replace(rows(5000), weight=weight, group=code.astype(np.int32))
    log_joint = expected_log_joint(MIXTURES[name], block.values)
    posterior, log_density = softmax(log_joint, axis=0), logsumexp(log_joint, axis=0)
    label = posterior.argmax(axis=0)
    weight = np.ones(5000) if weight is None else weight
    posterior = posterior * weight
    found = accumulate(GroupSums(ClassDensities(MIXTURES[name]), GROUPS), block, step)
    for group in range(GROUPS):
        np.testing.assert_allclose(
            found.mass[group], posterior[:, code == group].sum(axis=1), rtol=1e-10
        )
        assert found.rows[group] == np.count_nonzero(code == group)
        inside = code == group
        np.testing.assert_allclose(
            found.labelled[group], np.bincount(label[inside], weight[inside], K), rtol=1e-10
        )
        largest = posterior.max(axis=0)[inside].sum()
        np.testing.assert_allclose(found.certainty[group], largest, rtol=1e-10)
        np.testing.assert_allclose(found.squared_weight[group], (weight[inside] ** 2).sum())
        of_group, of_rows = log_density[inside], weight[inside]
        np.testing.assert_allclose(found.log_density[group], of_rows @ of_group, rtol=1e-10)
        np.testing.assert_allclose(found.squared_log_density[group], of_rows @ of_group**2)
    assert found.rows_without == np.count_nonzero(code == -1)
    assert found.mass.shape == (GROUPS, K)


@pytest.mark.parametrize("codes", CODES)
def test_group_sums__in_float32_are_close_to_the_plain_sums(codes):
    code = CODES[codes]
    block = replace(rows(5000), group=code.astype(np.int32))
    posterior = softmax(expected_log_joint(FLOAT32["tables"], block.values), axis=0)
    found = accumulate(GroupSums(ClassDensities(FLOAT32["tables"]), GROUPS), block, 2700)
    expected = [posterior[:, code == group].sum(axis=1) for group in range(GROUPS)]
    np.testing.assert_allclose(found.mass, expected, rtol=2e-6)
    assert found.mass.dtype == np.float64


def test_group_sums__many_groups_and_one_component():
    tables = TabulatedDensities((0,), np.zeros(1), np.ones(1), np.zeros((1, 9, 1)))
    code = default_rng(3).integers(0, 4000, 20_000)
    block = Block(default_rng(4).uniform(0, 8, (20_000, 1)), {"a": slice(0, 1)}, 0, 20_000)
    found = accumulate(
        GroupSums(ClassDensities(MixtureDensities(np.ones(1), tables)), 4000),
        replace(block, group=code),
        9000,
    )
    np.testing.assert_array_equal(found.rows, np.bincount(code, minlength=4000))
    np.testing.assert_allclose(found.mass[:, 0], found.rows, rtol=1e-12)


def test_group_sums__rows_without_groups_are_refused():
    statistic = GroupSums(ClassDensities(MIXTURES["both"]), 2)
    with pytest.raises(ParameterError, match="open them with groups"):
        statistic.update(statistic.init(), rows(10), Workspace())


def test_group_sums__of_populations_add_up_their_components():
    block = replace(rows(5000), group=CODES["mixed"].astype(np.int32))
    members = np.arange(K) % 2
    of_components = accumulate(GroupSums(ClassDensities(MIXTURES["both"]), GROUPS), block, 5000)
    found = accumulate(GroupSums(ClassDensities(MIXTURES["both"], members), GROUPS), block, 5000)
    expected = [of_components.mass[:, members == p].sum(axis=1) for p in range(2)]
    np.testing.assert_allclose(found.mass, np.transpose(expected), rtol=1e-12)
    np.testing.assert_allclose(found.labelled.sum(axis=1), found.rows)
