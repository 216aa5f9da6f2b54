import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.statistics.gaussian.label_means import LabelMeans
from bigtensor.statistics.in_memory import sum_in_memory


@pytest.mark.parametrize("weighted", [False, True])
def test_label_means__are_those_of_labelled_rows(weighted):
    rng = default_rng(0)
    values, labels = rng.normal(size=(300, 4)) + 1e3, rng.integers(-1, 5, 300)
    weight = rng.random(300) if weighted else None
    block = Block(values, {}, 0, 300, weight, group=labels)
    found = sum_in_memory(LabelMeans(4, np.full(4, 1e3)), block)
    plain = np.ones(300) if weight is None else weight
    for label in range(4):
        rows = labels == label
        expected = np.average(values[rows], axis=0, weights=plain[rows])
        np.testing.assert_allclose(found.means[label], expected, rtol=1e-12)
        assert np.isclose(found.weights[label], plain[rows].sum())


def test_label_means__of_a_label_without_rows_are_nan():
    block = Block(np.ones((3, 2)), {}, 0, 3, group=np.array([0, -1, 0]))
    found = sum_in_memory(LabelMeans(2, np.zeros(2)), block)
    assert np.isnan(found.means[1]).all()
    assert found.weights.tolist() == [2, 0]
