"""Names, cuts and merges of populations, without a fit."""

import numpy as np
import pytest

from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.errors import ParameterError
from bigtensor.models.answers.populations import Populations

WEIGHTS = np.array([0.4, 0.35, 0.15, 0.1])


@pytest.fixture
def tree():
    """Merge components 2 and 3, then 1 with them, then all."""
    return MergeTree([[2, 3], [1, 4], [0, 5]], [0.3, 0.2, 0.1], WEIGHTS, "separation")


def test_shown_names__are_numbers_without_names(tree):
    assert Populations.cut(tree, 3).shown_names == ("0", "1", "2")


def test_renamed__by_number_and_by_present_name(tree):
    named = Populations.cut(tree, 3).renamed({0: "B", "1": " T "})
    assert named.shown_names == ("B", "T", "2")
    again = named.renamed({"B": "B cells", np.int64(2): "NK", "T": None})
    assert again.shown_names == ("B cells", "1", "NK")
    assert named.by_hand
    assert named.shown_names == ("B", "T", "2")


@pytest.mark.parametrize(
    ("names", "word"),
    [
        ({0: "B", 1: "B"}, "0, 1"),
        ({0: "2"}, "population 0"),
        ({0: "B", 2: "0"}, "population 2"),
        ({0: "B", 2: "17"}, "population 2"),
        ({3: "B"}, "from 0 to 2"),
        ({-1: "B"}, "population -1"),
        ({"NK": "B"}, "population 'NK'"),
        ({True: "B"}, "population True"),
        ({0: " "}, "not empty"),
        ({0: 7}, "not empty"),
        ({0: "a\nb"}, "line breaks"),
        ({0: "a", "0": "b"}, "two new names"),
    ],
)
def test_renamed__refuses(tree, names, word):
    with pytest.raises(ParameterError, match=word):
        Populations.cut(tree, 3).renamed(names)


def test_renamed__own_number_is_no_name(tree):
    named = Populations.cut(tree, 3).renamed({0: "B", 1: "1"})
    assert named.shown_names == ("B", "1", "2")
    # the number follows the population, and does not stay with its components
    assert named.merged([["B", 2]]).renamed({0: "rest"}).shown_names == ("rest", "1")
    assert named.names == ("B", "", "")


def test_renamed__leaves_numbers_that_are_names_of_classes():
    digits = Populations.of_components(np.full(3, 1 / 3), ("7", "0", "1"))
    named = digits.renamed({0: "seven", 1: "0", 2: "1"})
    assert named.shown_names == ("seven", "0", "1")


def test_renamed__names_the_present_names(tree):
    with pytest.raises(ParameterError, match="names 'CD4', 'CD8'"):
        Populations.cut(tree, 3).renamed({0: "CD4", 2: "CD8"}).number_of("NK")


def test_names_may_be_swapped(tree):
    named = Populations.cut(tree, 2).renamed({0: "a", 1: "b"})
    assert named.renamed({"a": "b", "b": "a"}).shown_names == ("b", "a")


def test_recut__keeps_names_of_sets_that_stay(tree):
    named = Populations.cut(tree, 3).renamed({0: "zero", 1: "one", 2: "two and three"})
    fewer = named.recut(2)
    # components 1, 2 and 3 are now the heaviest population
    assert fewer.members == ((1, 2, 3), (0,))
    assert fewer.shown_names == ("0", "zero")
    assert named.recut(4).shown_names == ("zero", "one", "2", "3")


def test_merged__numbers_by_weight_and_keeps_the_only_name(tree):
    named = Populations.cut(tree, 4).renamed({1: "T", 3: "B"})
    merged = named.merged([[1, 2]])
    assert merged.members == ((1, 2), (0,), (3,))
    assert merged.weights == pytest.approx([0.5, 0.4, 0.1])
    assert merged.shown_names == ("T", "1", "B")
    assert named.merged([["T", "B"], ["0", 2]]).shown_names == ("0", "1")


def test_merged__tree_is_cut_again(tree):
    merged = Populations.cut(tree, 4).merged([[0, 1]])
    assert merged.recut(4).members == ((0,), (1,), (2,), (3,))


@pytest.mark.parametrize(
    ("groups", "word"),
    [([[1]], "at least two"), ([[1, 1]], "at least two"), ([[0, 1], [1, 2]], "two groups")],
)
def test_merged__refuses(tree, groups, word):
    with pytest.raises(ParameterError, match=word):
        Populations.cut(tree, 4).merged(groups)


def test_of_components__every_component_is_one():
    populations = Populations.of_components(WEIGHTS, ("a", "b", "c", "d"))
    assert populations.of_component.tolist() == [0, 1, 2, 3]
    assert populations.merged([["a", "d"]]).shown_names == ("0", "b", "c")


def test_divided__keeps_names_and_remembers_the_whole(tree):
    named = Populations.cut(tree, 2).renamed({0: "B", 1: "T"})
    number = named.number_of("T")
    own = np.flatnonzero(named.of_component == number)
    shares = np.full(own.size, 0.1)
    part = float(shares @ WEIGHTS[own])
    parts = named.divided(number, own, shares, part)
    assert parts.count == 3
    assert parts.weights.sum() == pytest.approx(1)
    second = parts.of_component[-1]
    assert parts.weights[second] == pytest.approx(part)
    assert sorted(parts.shown_names) == sorted(["B", "T", str(second)])
    first = parts.of_component[own[0]]
    assert parts.whole[first] == parts.whole[second] != parts.whole[parts.number_of("B")]
    # a merge with one part makes all of it one whole
    merged = parts.merged([[int(second), parts.number_of("B")]])
    assert len({*merged.whole.tolist()}) == 1
    assert parts.recut(3).whole is None


def test_divided_twice__parts_of_parts_are_one_whole(tree):
    populations = Populations.cut(tree, 2)
    for _ in range(2):
        own = np.flatnonzero(populations.of_component == 0)[:1]
        populations = populations.divided(0, own, np.array([0.5]), 0.01)
    assert sorted(np.bincount(populations.whole).tolist()) == [1, 3]
