from itertools import combinations, pairwise

import matplotlib as mpl
import numpy as np
import pytest

from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.models.words.report_figures import Heatmap, TreePlot
from bigtensor.report.dendrogram import (
    LOWEST,
    NUMBERED,
    cut_height,
    layout,
    merge_tree,
)
from bigtensor.report.style import MUTED, palette


def drawn(tree, populations, shades, *, ranked=False):
    names = [tuple(map(str, range(count))) for count in shades.shape]
    leaves = Heatmap("", shades, *names, "overall sd", 2.0, diverging=True)
    return merge_tree(TreePlot("", tree, tree.cut(populations), leaves, ranked))


@pytest.fixture
def tree():
    """Components 0 and 3, then 1 and 4, then these two, then component 2."""
    merges = np.array([[0, 3], [1, 4], [5, 6], [2, 7]])
    heights = np.array([0.5, 0.6, 0.01, 1e-9])
    return MergeTree(merges, heights, np.array([0.1, 0.3, 0.25, 0.2, 0.15]), "misclassification")


def chain(k):
    merges = [[0, 1], *([step + 1, k + step - 1] for step in range(1, k - 1))]
    return MergeTree(np.array(merges), np.full(k - 1, 0.5), np.full(k, 1 / k), "overlap")


def test_layout__puts_what_is_merged_side_by_side_heavier_half_first(tree):
    drawing = layout(tree)
    assert drawing.leaves.tolist() == [1, 4, 3, 0, 2]
    # 3 and 0 stand at 2 and 3, 1 and 4 at 0 and 1; then in the middles of these
    assert drawing.x.tolist() == [[3, 2], [0, 1], [2.5, 0.5], [4, 1.5]]


def test_layout__never_goes_down(tree):
    drawing = layout(tree)
    assert drawing.top.tolist() == [0.5, 0.5, 0.01, LOWEST]
    assert np.all(drawing.below >= drawing.top[:, None])
    assert drawing.below.tolist() == [[1, 1], [1, 1], [0.5, 0.5], [1, 0.01]]


def test_layout__takes_a_long_chain():
    assert sorted(layout(chain(3000)).leaves) == list(range(3000))


def test_cut_height__lies_between_what_is_merged_and_what_is_not():
    top = np.array([0.5, 0.4, 0.01])
    assert 0.01 < cut_height(top, 2) < 0.4
    assert 0.5 < cut_height(top, 0) < 1
    assert cut_height(top, 3) < 0.01


def test_merge_tree__is_drawn_in_the_colours_of_the_populations(tree):
    of_component = tree.cut(3)
    standardised = np.arange(10.0).reshape(2, 5) / 5
    above, below = drawn(tree, 3, standardised).axes[:2]
    colours = palette(3)
    bridges, cut = above.lines[:4], above.lines[4]
    assert [line.get_color() for line in bridges] == [
        colours[of_component[0]],
        colours[of_component[1]],
        MUTED,
        MUTED,
    ]
    assert bridges[2].get_xdata() == pytest.approx([2.5, 2.5, 0.5, 0.5])
    assert bridges[2].get_ydata() == pytest.approx([0.5, 0.01, 0.01, 0.5])
    assert 0.01 < cut.get_ydata()[0] < 0.5
    (dots,) = above.collections
    found = [mpl.colors.to_hex(colour) for colour in dots.get_facecolors()]
    assert found == [colours[population].lower() for population in of_component]
    assert dots.get_offsets()[:, 0].tolist() == [3, 0, 4, 2, 1]
    sizes = dots.get_sizes()
    assert np.argsort(sizes).tolist() == np.argsort(tree.weights).tolist()
    order = [1, 4, 3, 0, 2]
    np.testing.assert_array_equal(below.images[0].get_array(), standardised[:, order])
    assert [label.get_text() for label in below.get_xticklabels()] == [str(h) for h in order]
    # every population has its number, in the middle of its leaves
    numbers = {text.get_text(): text.xy[0] for text in above.texts}
    assert numbers[str(of_component[2])] == 4
    assert numbers[str(of_component[0])] == 2.5


@pytest.mark.parametrize("populations", [1, 2])
def test_merge_tree__is_drawn_for_few_components(populations):
    tree = chain(2)
    figure = drawn(tree, populations, np.zeros((1, 2)))
    figure.draw_without_rendering()
    assert len(figure.axes[0].lines) == 2


@pytest.mark.slow  # few components are quick
def test_merge_tree__numbers_leaves_where_there_is_room():
    for k in (40, NUMBERED, NUMBERED + 1):
        tree = chain(k)
        figure = drawn(tree, 3, np.zeros((2, k)))
        labels = figure.axes[1].get_xticklabels()
        assert len(labels) == (k if k <= NUMBERED else 0)
        assert figure.get_figwidth() <= 13
        figure.draw_without_rendering()
        for left, right in pairwise(labels):
            assert left.get_window_extent().x1 <= right.get_window_extent().x0 + 1


def test_layout__puts_merges_of_a_ranked_tree_at_the_populations_that_they_leave(tree):
    drawing = layout(tree, ranked=True)
    assert drawing.top.tolist() == [4, 3, 2, 1]
    assert drawing.below.tolist() == [[5, 5], [5, 5], [4, 3], [5, 2]]
    assert drawing.floor == 5


@pytest.mark.parametrize("count", [1, 3, 5])
def test_merge_tree__cuts_a_ranked_tree_between_its_numbers_of_populations(tree, count):
    above = drawn(tree, count, np.zeros((1, 5)), ranked=True).axes[0]
    cut = above.lines[4].get_ydata()[0]
    assert count - 1 < cut < count
    assert above.get_ylabel() == "populations left"
    low, high = above.get_ylim()
    assert low == 5 > cut > high
    assert list(above.get_yticks()) == [1, 2, 3, 5]


def test_merge_tree__numbers_of_populations_do_not_cover_each_other():
    tree = chain(120)
    figure = drawn(tree, 25, np.zeros((2, 120)))
    figure.draw_without_rendering()
    above, below = figure.axes[:2]
    # the box of an annotation would hold its line too
    words = [mpl.text.Text.get_window_extent(text) for text in above.texts]
    assert len(words) == 25
    assert not any(first.overlaps(second) for first, second in combinations(words, 2))
    assert min(box.y0 for box in words) > below.get_window_extent().y1
