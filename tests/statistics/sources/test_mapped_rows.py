"""Statistics of features of rows, against the features by hand."""

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels.kernel import GaussianKernel
from bigtensor.features.kernels.nystroem import Nystroem
from bigtensor.features.plain_maps import Standardised
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.moments.covariances import Covariances
from bigtensor.statistics.sources.contrast_sums import ContrastSums
from bigtensor.statistics.sources.mapped_rows import MappedRows, MappedSources, mapped_in_memory
from bigtensor.testing import ROW_FUNCTION_LAWS, RowFunctionCase

CENTRE, SCALE = np.array([5.0, -3.0, 100.0]), np.array([1.0, 2.0, 50.0])


def block(rows=700, seed=0):
    rng = default_rng(seed)
    values = CENTRE + SCALE * rng.normal(size=(rows, 3))
    return Block(values, {"a": slice(0, 2), "b": slice(2, 3)}, 0, rows, rng.random(rows))


def kernel_features(q=4, p=9, dtype="float64"):
    rng = default_rng(1)
    landmarks = CENTRE + SCALE * rng.normal(size=(p, 3))
    kernel = GaussianKernel(1.5 * SCALE, relative=True)
    feature_map = Nystroem(landmarks, kernel, CENTRE, rng.normal(size=(p, q)), dtype)

    def exact(values):
        distances = (values[:, None] - landmarks) / (1.5 * SCALE)
        return np.exp(-0.5 * np.square(distances).sum(axis=2)) @ feature_map.projection

    return GroupMap(("rows",), (feature_map,)), exact


def test_mapped_rows__are_features_in_place_of_rows():
    features, exact = kernel_features()
    rows = block()
    unmixing = default_rng(2).normal(size=(4, 2))
    inner = Together.named(
        covariance=Covariances(((0, 4),), np.zeros(4)),
        contrast=ContrastSums(unmixing, np.ones(4), "float64"),
    )
    found = sum_in_memory(MappedRows(inner, features), rows)
    by_hand = Block(exact(rows.values), {}, 0, rows.rows, rows.weight)
    expected = sum_in_memory(inner, by_hand)
    covariance = np.cov(by_hand.values.T, aweights=rows.weight, bias=True)
    np.testing.assert_allclose(found["covariance"].covariance, covariance, rtol=1e-10)
    contrasts = (one["contrast"].rows_by_tanh for one in (found, expected))
    np.testing.assert_allclose(*contrasts, rtol=1e-10)
    assert found["contrast"].weight == pytest.approx(rows.weight.sum())


def test_mapped_in_memory__is_a_block_of_features():
    features, exact = kernel_features(dtype="float32")
    rows = block(9_000)
    mapped = mapped_in_memory(features, rows)
    np.testing.assert_allclose(mapped.values, exact(rows.values), atol=2e-5)
    assert mapped.slices == {"rows": slice(0, 4)}
    assert np.array_equal(mapped.weight, rows.weight)


def test_workspace__is_as_planned():
    features, _ = kernel_features()
    rows, work = block(), Workspace()
    statistic = MappedRows(Covariances(((0, 4),), np.zeros(4)), features)
    statistic.update(statistic.init(), rows, work)
    assert work.nbytes <= statistic.work_nbytes(rows.rows)


@pytest.mark.parametrize("law", ROW_FUNCTION_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", ["kernel", "linear"])
def test_row_function_laws__hold(law, kind):
    features, _ = kernel_features()
    if kind == "linear":
        projection = default_rng(3).normal(size=(3, 4))
        features = GroupMap(("rows",), (Standardised(CENTRE, SCALE, projection, "float64"),))
    law(RowFunctionCase(MappedSources(features, np.ones(4), "float64"), block()))


def test_standardised__subtracts_the_centre_before_it_rounds():
    values = default_rng(4).normal(size=(50, 2)) + 1e6
    feature_map = Standardised(np.full(2, 1e6), np.full(2, 0.5))
    features = GroupMap(("rows",), (feature_map,))
    out, work = np.empty((50, 2), "f4"), Workspace()
    features.evaluate([values], out, work)
    np.testing.assert_allclose(out, (values - 1e6) / 0.5, rtol=1e-6)
    assert work.nbytes <= features.work_nbytes(50)
    turned = feature_map.projected(np.array([[1.0], [2.0]]))
    assert (turned.n_inputs, turned.n_features, turned.mass.tolist()) == (2, 1, [0.0])
    GroupMap(("rows",), (turned,)).evaluate([values], out[:, :1], work)
    np.testing.assert_allclose(out[:, 0], (values - 1e6) @ [2.0, 4.0], atol=1e-4)
