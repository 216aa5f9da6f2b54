import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from bigtensor.data.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities import MixtureDensities
from bigtensor.statistics.row_functions import Responsibilities
from bigtensor.statistics.tabulated_densities import TabulatedDensities
from tests.statistics.test_densities import MIXTURES, K, expected_log_joint, rows


def evaluate(function, block):
    out = {
        output.name: np.full((block.rows, *output.dims.values()), output.fill, output.dtype)
        for output in function.outputs
    }
    work = Workspace()
    function.evaluate(block, out, work)
    assert work.nbytes <= function.work_nbytes(block.rows)
    return out


@pytest.mark.parametrize(
    "names",
    [
        ("label",),
        ("probability",),
        ("log_density",),
        ("log_density", "label"),
        ("label", "probability", "log_density"),
    ],
)
@pytest.mark.parametrize("n", [0, 1, 5000])
def test_responsibilities__are_the_plain_formulas(names, n):
    mixture, block = MIXTURES["both"], rows(n)
    out = evaluate(Responsibilities(mixture, names), block)
    assert tuple(out) == names
    joint = expected_log_joint(mixture, block.values)
    if "label" in names:
        assert out["label"].dtype == np.int32
        np.testing.assert_array_equal(out["label"], joint.argmax(axis=0))
    if "probability" in names:
        assert out["probability"].dtype == np.float32
        np.testing.assert_allclose(out["probability"], softmax(joint, axis=0).T, atol=1e-7)
    if "log_density" in names:
        assert out["log_density"].dtype == np.float64
        np.testing.assert_allclose(out["log_density"], logsumexp(joint, axis=0), atol=1e-9)


def test_responsibilities__the_first_of_equal_components_is_the_label():
    log_tables = np.zeros((1, 3, 4))
    log_tables[0, :, [1, 3]] = 1.0
    tables = TabulatedDensities((0,), np.zeros(1), np.ones(1), log_tables)
    function = Responsibilities(MixtureDensities(np.full(4, 0.25), tables))
    out = evaluate(function, Block(np.array([[0.0], [2.0]]), {"a": slice(0, 1)}, 0, 2))
    np.testing.assert_array_equal(out["label"], [1, 1])


@pytest.mark.parametrize("components", [2, 255, 256, 300])
def test_responsibilities__labels_of_many_components(components):
    log_tables = -((np.arange(components) - np.arange(components)[:, None]) ** 2.0)
    tables = TabulatedDensities((0,), np.zeros(1), np.ones(1), log_tables[None])
    function = Responsibilities(MixtureDensities(np.full(components, 1 / components), tables))
    values = np.arange(components, dtype=float)[:, None]
    out = evaluate(function, Block(values, {"a": slice(0, 1)}, 0, components))
    np.testing.assert_array_equal(out["label"], np.arange(components))


def test_responsibilities__say_what_dropped_rows_receive():
    label, probability, log_density = Responsibilities(
        MIXTURES["both"], ("label", "probability", "log_density")
    ).outputs
    assert label.fill == -1
    assert probability.dims == {"component": K}
    assert np.isnan(probability.fill)
    assert np.isnan(log_density.fill)


@pytest.mark.parametrize("names", [(), ("labels",), ("label", "label")])
def test_responsibilities__refuse_unknown_outputs(names):
    with pytest.raises(ParameterError, match="label, probability, log_density"):
        Responsibilities(MIXTURES["both"], names)
