from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.errors import ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.class_densities import ClassDensities
from bigtensor.statistics.densities.group_likelihood import GroupLikelihood
from tests.statistics.densities.test_group_sums import CODES, GROUPS, accumulate
from tests.statistics.densities.test_view_densities import (
    FLOAT32,
    MIXTURES,
    K,
    expected_log_joint,
    rows,
)

WEIGHTS = default_rng(2).dirichlet(np.ones(K), GROUPS)
WEIGHTS[1] = 0.0
WEIGHTS[2, 0] = 0.0


def density_ratios(mixture, block, populations):
    """Return the density of every class over the density of the mixture: ``(rows, classes)``."""
    joint = np.exp(expected_log_joint(mixture, block.values)).T
    members = np.arange(mixture.n_components) if populations is None else populations
    classes = members == np.arange(members.max() + 1)[:, None]
    return (joint @ classes.T) / (classes @ mixture.weights) / joint.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("populations", [None, np.arange(K) % 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("step", [700, 5000])
def test_group_likelihood__are_the_plain_sums(populations, weighted, codes, step):
    code, mixture = CODES[codes], MIXTURES["both"]
    weight = default_rng(1).uniform(0, 3, 5000) if weighted else None
    block = replace(rows(5000), weight=weight, group=code.astype(np.int32))
    weight = np.ones(5000) if weight is None else weight
    mixture = replace(mixture, weights=mixture.weights / mixture.weights.sum())
    classes = ClassDensities(mixture, populations)
    weights = WEIGHTS if populations is None else WEIGHTS[:, :2]
    found = accumulate(GroupLikelihood(classes, weights), block, step)
    ratios = density_ratios(mixture, block, populations)
    for group in range(GROUPS):
        inside = code == group if weights[group].any() else np.zeros(5000, bool)
        total = ratios[inside] @ weights[group]
        score = ratios[inside] / total[:, None]
        information = (score * weight[inside, None]).T @ score
        likelihood = weight[inside] @ np.log(total)
        np.testing.assert_allclose(found.score[group], weight[inside] @ score, rtol=1e-9)
        np.testing.assert_allclose(found.information[group], information, rtol=1e-9)
        np.testing.assert_allclose(found.log_likelihood[group], likelihood, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.weight[group], weight[inside].sum(), rtol=1e-12)


def test_group_likelihood__in_float32_is_close():
    block = replace(rows(5000), group=CODES["mixed"].astype(np.int32))
    found, expected = (
        accumulate(GroupLikelihood(ClassDensities(mixture["tables"]), WEIGHTS), block, 2700)
        for mixture in (FLOAT32, MIXTURES)
    )
    np.testing.assert_allclose(found.score, expected.score, rtol=1e-5)
    np.testing.assert_allclose(found.information, expected.information, rtol=1e-5)


def test_group_likelihood__rows_without_groups_are_refused():
    statistic = GroupLikelihood(ClassDensities(MIXTURES["both"]), WEIGHTS)
    with pytest.raises(ParameterError, match="open them with groups"):
        statistic.update(statistic.init(), rows(10), Workspace())
