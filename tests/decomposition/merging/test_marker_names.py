"""Names of populations by markers: thresholds between modes, and different names."""

import numpy as np
import pytest

from bigtensor.decomposition.merging.marker_names import (
    marker_signs,
    marker_threshold,
    names_by_markers,
)
from bigtensor.decomposition.merging.relative_levels import (
    numbered,
    with_relative_levels,
    words_of,
)


def cells(*modes: tuple[float, int]) -> np.ndarray:
    """Return normal values around some means."""
    rng = np.random.default_rng(3)
    return np.concatenate([rng.normal(mean, 0.5, rows) for mean, rows in modes])


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
def test_threshold__lies_between_two_modes(unit):
    values = cells((0.0, 20_000), (4.0, 2_000)) * unit
    threshold = marker_threshold(values, np.ones(len(values)))
    assert threshold is not None
    assert 1.2 * unit < threshold.value < 2.8 * unit
    assert threshold.depth < 0.2


def test_threshold__separates_the_two_deepest_of_three_modes():
    values = cells((0.0, 5_000), (1.9, 5_000), (6.0, 5_000))
    threshold = marker_threshold(values, np.ones(len(values)))
    assert threshold is not None
    assert 3 < threshold.value < 5


@pytest.mark.parametrize(
    "values",
    [
        cells((0.0, 20_000)),
        np.random.default_rng(0).gamma(2.0, size=20_000),
        cells((0.0, 10_000), (0.8, 10_000)),
        np.random.default_rng(0).uniform(size=20_000),
        np.zeros(100),
    ],
    ids=["normal", "skewed", "overlapping", "uniform", "constant"],
)
def test_threshold__there_is_none_for_one_mode(values):
    assert marker_threshold(values, np.ones(len(values))) is None


def test_threshold__weights_count_as_rows():
    values = cells((0.0, 4_000), (4.0, 4_000))
    light = np.where(np.arange(8_000) < 4_000, 1.0, 1e-4)
    assert marker_threshold(values, light) is None
    assert marker_threshold(values, np.ones(8_000)) is not None


def test_signs__are_clear_or_none():
    assert marker_signs(np.array([[0.0, 0.3, 0.5, 0.7, 1.0]])).tolist() == [[-1, -1, 0, 1, 1]]


def test_names__are_the_signs_that_divide_populations():
    # CD3, CD4, CD19, CD69
    signs = np.array(
        [[1, 1, 1, -1, -1], [1, 1, -1, -1, -1], [-1, -1, -1, 1, -1], [1, -1, -1, -1, -1]], np.int8
    )
    names = names_by_markers(signs, [0.1] * 4, ["CD3", "CD4", "CD19", "CD69"])
    assert names == ("CD3+ CD4+ CD69+", "CD3+ CD4+ CD69-", "CD3+ CD4-", "CD19+ CD3-", "CD3- CD19-")


def test_names__of_populations_that_no_marker_divides_repeat():
    signs = np.array([[1, 1, -1]], np.int8)
    assert names_by_markers(signs, [0.1], ["CD3"]) == ("CD3+", "CD3+", "CD3-")


def test_names__a_marker_without_signs_for_many_populations_is_not_used():
    signs = np.array([[1, 1, -1, -1], [1, -1, 0, 0]], np.int8)
    names = names_by_markers(signs, [0.1, 0.0], ["CD3", "CD14"])
    assert names == ("CD3+", "CD3+", "CD3-", "CD3-")
    assert names_by_markers(signs[1:], [0.0], ["CD14"]) == ("",) * 4
    assert names_by_markers(np.zeros((0, 4), np.int8), [], []) == ("",) * 4


def test_names__are_different_for_random_signs():
    rng = np.random.default_rng(5)
    for _ in range(50):
        shape = rng.integers(1, 8), rng.integers(2, 30)
        signs = rng.choice([-1, 0, 1], p=[0.5, 0.05, 0.45], size=shape).astype(np.int8)
        markers = [f"m{j}" for j in range(shape[0])]
        names = numbered(names_by_markers(signs, rng.random(shape[0]), markers))
        assert len({*names}) == len(names) or not any(names)


def test_relative_levels__divide_populations_of_one_name():
    means = np.array([[2.0, 2.1, 2.0, -1.0], [0.0, 3.0, 0.2, 0.0], [1.0, 1.0, -1.0, 0.0]])
    names = ("CD3+", "CD3+", "CD3+", "CD3-")
    levels = with_relative_levels(names, means, ["CD3", "CD69", "CD44"])
    assert levels == ("CD3+ CD69lo CD44hi", "CD3+ CD69hi", "CD3+ CD69lo CD44lo", "CD3-")
    assert with_relative_levels(names[:2], np.zeros((1, 2)), ["CD69"]) == ("CD3+", "CD3+")
    assert numbered(names) == ("CD3+ (1)", "CD3+ (2)", "CD3+ (3)", "CD3-")


def test_relative_levels__of_a_population_without_signs():
    means = np.array([[0.1, 0.0], [-1.5, 0.0], [0.8, 0.0]])
    markers = ["CD3", "CD4", "CD8"]
    assert with_relative_levels(("unclear", "CD3-"), means, markers) == ("CD4lo CD8hi", "CD3-")
    assert with_relative_levels(("", ""), means, markers) == ("", "")


def test_relative_levels__say_one_thing_of_a_marker_with_spaces():
    markers, means = ["Alexa Fluor 430-A", "CD3"], np.array([[2.0, 1.0], [0.0, 0.9]])
    names = ("Alexa Fluor 430-A+", "Alexa Fluor 430-A+")
    levels = with_relative_levels(names, means, markers)
    assert levels == ("Alexa Fluor 430-A+ CD3lo", "Alexa Fluor 430-A+ CD3hi")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CD3+ Alexa Fluor 430-A- CD69hi", ["CD3+", "Alexa Fluor 430-A-", "CD69hi"]),
        ("Blue CD3+ CD3-", ["Blue CD3+", "CD3-"]),
        ("T cells CD3+ CD3 high", ["T", "cells", "CD3+", "CD3", "high"]),
        ("C(D)+ CD3", ["C(D)+", "CD3"]),
        ("", []),
    ],
)
def test_words_of__keep_a_marker_and_its_sign_together(name, words):
    markers = ["CD3", "CD69", "Blue CD3", "Alexa Fluor 430-A", "C(D)"]
    assert words_of(name, markers) == words
