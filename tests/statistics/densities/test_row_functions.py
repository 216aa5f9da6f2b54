import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import logsumexp, softmax

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.view_densities import MixtureDensities
from tests.statistics.densities.test_view_densities import (
    FLOAT32,
    MIXTURES,
    K,
    expected_log_joint,
    many_components,
    rows,
)

UNWRITTEN = 77
"""Entries around the outputs, which no row function may write."""


def evaluate(function, block):
    rows = slice(1, block.rows + 1)
    guarded = {
        output.name: np.full((block.rows + 2, *output.dims.values()), UNWRITTEN, output.dtype)
        for output in function.outputs
    }
    for output in function.outputs:
        guarded[output.name][rows] = output.fill
    out = {name: array[rows] for name, array in guarded.items()}
    work = Workspace()
    function.evaluate(block, out, work)
    assert work.nbytes <= function.work_nbytes(block.rows)
    for array in guarded.values():
        assert (array[[0, -1]] == UNWRITTEN).all()
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


@pytest.mark.parametrize("components", [4, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_responsibilities__the_first_of_equal_components_is_the_label(components, dtype):
    log_tables = np.zeros((1, 3, components))
    log_tables[0, :, [1, 3]] = 1.0
    tables = TabulatedDensities((0,), np.zeros(1), np.ones(1), log_tables, dtype)
    weights = np.full(components, 1 / components)
    function = Responsibilities(MixtureDensities(weights, tables))
    out = evaluate(function, Block(np.array([[0.0], [2.0]]), {"a": slice(0, 1)}, 0, 2))
    np.testing.assert_array_equal(out["label"], [1, 1])


@pytest.mark.parametrize("n", [0, 1, 5000])
def test_responsibilities__in_float32_are_close_to_the_plain_formulas(n):
    mixture, block = FLOAT32["both"], rows(n, "float32")
    out = evaluate(Responsibilities(mixture, ("label", "probability", "log_density")), block)
    joint = expected_log_joint(mixture, block.values)
    assert out["label"].shape == (n,)
    assert np.count_nonzero(out["label"] != joint.argmax(axis=0)) <= n // 1000
    np.testing.assert_allclose(out["probability"], softmax(joint, axis=0).T, atol=1e-4)
    np.testing.assert_allclose(out["log_density"], logsumexp(joint, axis=0), atol=2e-4)


@pytest.mark.parametrize("components", [5, 32, 33, 150])
def test_responsibilities__of_many_components_are_the_same_in_float32(components):
    names = ("label", "probability", "log_density")
    n = 20_000
    found, expected = (
        evaluate(Responsibilities(mixture, names), block)
        for mixture, block in (
            many_components(components, dtype, n) for dtype in ("float32", "float64")
        )
    )
    different = np.flatnonzero(found["label"] != expected["label"])
    assert len(different) <= 1
    np.testing.assert_allclose(found["probability"], expected["probability"], atol=1e-5)
    np.testing.assert_allclose(found["log_density"], expected["log_density"], atol=1e-5)


@pytest.mark.parametrize("components", [2, 32, 33, 255, 256, 300])
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


POPULATIONS = np.array([1, 0, 1])
BOTH_LEVELS = ("label", "probability", "log_density", "component_label", "component_probability")


@pytest.mark.parametrize(
    "names",
    [
        ("label",),
        ("component_label",),
        ("probability",),
        ("component_probability",),
        ("log_density",),
        ("component_label", "label"),
        ("component_label", "log_density"),
        BOTH_LEVELS,
        BOTH_LEVELS[::-1],
    ],
)
@pytest.mark.parametrize("n", [0, 1, 5000])
def test_populations__are_sums_over_their_components(names, n):
    mixture, block = MIXTURES["both"], rows(n)
    out = evaluate(Responsibilities(mixture, names, POPULATIONS), block)
    joint = expected_log_joint(mixture, block.values)
    of_component = softmax(joint, axis=0).T
    of_population = np.stack([of_component[:, 1], of_component[:, 0] + of_component[:, 2]], axis=1)
    expected = {
        "label": of_population.argmax(axis=1),
        "probability": of_population,
        "log_density": logsumexp(joint, axis=0),
        "component_label": of_component.argmax(axis=1),
        "component_probability": of_component,
    }
    assert tuple(out) == names
    for name, values in out.items():
        if name in ("label", "component_label"):
            assert values.dtype == np.int32
            np.testing.assert_array_equal(values, expected[name])
        else:
            np.testing.assert_allclose(values, expected[name], atol=1e-7)


def test_populations__of_the_most_probable_component_need_not_be_the_most_probable():
    log_tables = np.log([[[0.4, 0.3, 0.3], [0.6, 0.3, 0.1]]])
    tables = TabulatedDensities((0,), np.zeros(1), np.ones(1), log_tables)
    mixture = MixtureDensities(np.full(3, 1 / 3), tables)
    function = Responsibilities(mixture, ("label", "component_label"), np.array([0, 1, 1]))
    out = evaluate(function, Block(np.array([[0.0], [1.0]]), {"a": slice(0, 1)}, 0, 2))
    np.testing.assert_array_equal(out["component_label"], [0, 0])
    np.testing.assert_array_equal(out["label"], [1, 0])


@pytest.mark.parametrize("components", [2, 300])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_populations__of_one_component_each_are_the_components(components, dtype):
    log_tables = default_rng(2).normal(size=(1, 9, components))
    tables = TabulatedDensities((0,), np.zeros(1), np.ones(1), log_tables, dtype)
    mixture = MixtureDensities(np.full(components, 1 / components), tables)
    block = Block(default_rng(3).uniform(0, 8, (400, 1)), {"a": slice(0, 1)}, 0, 400)
    out = evaluate(Responsibilities(mixture, BOTH_LEVELS, np.arange(components)), block)
    np.testing.assert_array_equal(out["label"], out["component_label"])
    np.testing.assert_array_equal(out["probability"], out["component_probability"])
    one = evaluate(Responsibilities(mixture, BOTH_LEVELS, np.zeros(components, int)), block)
    np.testing.assert_array_equal(one["label"], 0)
    np.testing.assert_allclose(one["probability"], 1.0, atol=1e-6)
    np.testing.assert_array_equal(one["component_label"], out["component_label"])


def test_populations__have_a_dimension_of_their_own():
    outputs = Responsibilities(MIXTURES["both"], BOTH_LEVELS, POPULATIONS).outputs
    dims = {output.name: output.dims for output in outputs}
    assert dims == {
        "label": {},
        "probability": {"population": 2},
        "log_density": {},
        "component_label": {},
        "component_probability": {"component": K},
    }
    fill = {output.name: output.fill for output in outputs}
    assert fill["label"] == fill["component_label"] == -1
    assert np.isnan([fill["probability"], fill["component_probability"]]).all()


@pytest.mark.parametrize("temperature", [0.5, 1.4])
def test_populations__have_probabilities_at_a_temperature(temperature):
    mixture, block = MIXTURES["both"], rows(700)
    names = tuple(BOTH_LEVELS)
    plain = evaluate(Responsibilities(mixture, names, POPULATIONS), block)
    out = evaluate(Responsibilities(mixture, names, POPULATIONS, temperature), block)
    log_odds, expected = (
        np.log(found["probability"][:, 0]) - np.log(found["probability"][:, 1])
        for found in (out, plain)
    )
    np.testing.assert_allclose(log_odds, expected / temperature, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(out["probability"].sum(axis=1), 1.0, atol=1e-6)
    for name in names:
        if name != "probability":
            np.testing.assert_array_equal(out[name], plain[name])


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.nan])
def test_populations__refuse_a_temperature(temperature):
    with pytest.raises(ParameterError, match="temperature must be positive"):
        Responsibilities(MIXTURES["both"], ("label",), POPULATIONS, temperature)


@pytest.mark.parametrize("names", [(), ("population",), ("component_label", "component_label")])
def test_populations__refuse_unknown_outputs(names):
    with pytest.raises(ParameterError, match="component_label, component_probability, "):
        Responsibilities(MIXTURES["both"], names, POPULATIONS)


@pytest.mark.parametrize("name", ["component_label", "component_probability"])
def test_components__are_a_level_of_their_own_only_where_there_are_populations(name):
    with pytest.raises(ParameterError, match=f"label, probability, .*not label, {name}"):
        Responsibilities(MIXTURES["both"], ("label", name))


@pytest.mark.parametrize("temperature", [1.0, 1.4])
def test_parts_of_a_whole__divide_its_probability(temperature):
    mixture, block = MIXTURES["both"], rows(500)
    # components are populations, and the first two are parts of one
    populations, whole = np.arange(K), np.r_[0, 0, np.arange(1, K - 1)]
    names = ("label", "probability")
    parts = evaluate(Responsibilities(mixture, names, populations, temperature, whole), block)
    wholes = evaluate(Responsibilities(mixture, names, whole, temperature), block)
    plain = evaluate(Responsibilities(mixture, names), block)["probability"]
    added = np.column_stack([parts["probability"][:, :2].sum(axis=1), parts["probability"][:, 2:]])
    np.testing.assert_allclose(added, wholes["probability"], rtol=1e-4, atol=1e-6)
    ratio = parts["probability"][:, 0] * plain[:, 1]
    np.testing.assert_allclose(
        ratio, parts["probability"][:, 1] * plain[:, 0], rtol=1e-4, atol=1e-7
    )
    # the most probable part of the most probable whole
    np.testing.assert_array_equal(whole[parts["label"]], wholes["label"])
    first = parts["probability"][:, 0] >= parts["probability"][:, 1]
    np.testing.assert_array_equal(parts["label"] == 0, (wholes["label"] == 0) & first)
