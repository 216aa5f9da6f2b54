"""Sums of the fixed-point iteration against direct formulas."""

import numpy as np
import pytest

from bigtensor.data.rows.block import Block
from bigtensor.errors import DataError
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.sources.contrast_sums import ContrastSums


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    values, unmixing = rng.standard_normal((5_000, 4)), rng.standard_normal((4, 3)) / 2
    return values, unmixing, rng.uniform(0, 2, 5_000), rng.standard_normal(4)


@pytest.mark.parametrize(("dtype", "most"), [("float64", 1e-12), ("float32", 2e-6)])
def test_contrast_sums__are_weighted_means(drawn, dtype, most):
    values, unmixing, weight, point = drawn
    block = Block(values.astype(dtype), {"all": slice(0, 4)}, 0, 5_000, weight)
    found = sum_in_memory(ContrastSums(unmixing, point, dtype), block)
    sources = (values - point) @ unmixing
    tanh, share = np.tanh(sources), weight[:, None] / weight.sum()
    expected = {
        "rows_by_tanh": (values - point).T @ (share * tanh),
        "tanh": (share * tanh).sum(axis=0),
        "slope": (share * (1 - tanh**2)).sum(axis=0),
        "second": (share * sources**2).sum(axis=0),
        "fourth": (share * sources**4).sum(axis=0),
    }
    for name, array in expected.items():
        assert getattr(found, name) == pytest.approx(array, abs=most, rel=most), name
    assert found.weight == pytest.approx(weight.sum(), rel=1e-12)
    kurtosis = expected["fourth"] / expected["second"] ** 2 - 3
    assert found.kurtosis == pytest.approx(kurtosis, rel=10 * most)


def test_contrast_sums__can_be_moved_to_another_point(drawn):
    values, unmixing, _, point = drawn
    block = Block(values, {"all": slice(0, 4)}, 0, 5_000)
    found = sum_in_memory(ContrastSums(unmixing, point, "float64"), block)
    tanh = np.tanh((values - point) @ unmixing)
    shift = np.array([0.1, -2.0, 0.3, 1.0])
    expected = (values - point - shift).T @ tanh / 5_000
    assert found.about(shift).rows_by_tanh == pytest.approx(expected, abs=1e-12)


def test_contrast_sums__need_weight(drawn):
    values, unmixing, _, point = drawn
    block = Block(values, {"all": slice(0, 4)}, 0, 5_000, np.zeros(5_000))
    with pytest.raises(DataError, match="sources need"):
        sum_in_memory(ContrastSums(unmixing, point, "float64"), block)
