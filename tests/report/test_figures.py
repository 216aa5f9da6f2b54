import base64
import re
import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

from bigtensor.models.words.report_figures import (
    ArcDiagram,
    Bars,
    Curve,
    Curves,
    DensityPlot,
    Heatmap,
    Panel,
    Scatter,
)
from bigtensor.models.words.sample_figures import GroupedShares, SampleMap, StackedBars
from bigtensor.models.words.wording import percent
from bigtensor.report import figures
from bigtensor.report.drawing import draw
from bigtensor.report.style import (
    INK,
    dashes,
    data_uri,
    names_or_numbers,
    palette,
    report_style,
)

MEANS = np.array([0.0, 5.0])


@pytest.fixture
def plot():
    points = np.linspace(-4.0, 10.0, 200)
    density = stats.norm.pdf(points[:, None], MEANS, np.array([1.0, 0.5]))
    return DensityPlot("", "$CD3$", points, density, np.array([0.8, 0.2]))


def bars(values, marks=None, name="component"):
    return figures.bars(Bars("", values, name, "weight (%)", marks, "marks"))


def luminance(colour):
    """Return the relative luminance that WCAG 2 defines."""
    channels = np.array([int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_feature_densities__draw_weighted_lines_their_sum_and_ridges(plot):
    above, below = figures.feature_densities(plot).axes
    assert len(above.lines) == 3
    for component in range(2):
        line = above.lines[component]
        np.testing.assert_array_equal(line.get_xdata(), plot.points)
        np.testing.assert_allclose(
            line.get_ydata(), plot.weights[component] * plot.density[:, component]
        )
        ridge = below.lines[component].get_ydata()
        # axes point downwards: a ridge rises from its number to the same height as all others
        assert ridge.max() == pytest.approx(component, abs=1e-6)
        assert component - ridge.min() == pytest.approx(figures.RIDGE_HEIGHT)
        peak = plot.points[ridge.argmin()]
        assert peak == pytest.approx(MEANS[component], abs=0.1)
    total = above.lines[2].get_ydata()
    np.testing.assert_allclose(total, plot.density @ plot.weights)
    assert above.get_title(loc="left") == "$CD3$"
    assert [label.get_text() for label in below.get_yticklabels()] == ["0", "1"]


def test_feature_densities__put_the_weighted_sample_behind_as_a_density(plot):
    values = np.array([0.0, 0.1, 5.0, 50.0])
    weight = np.array([1.0, 1.0, 1.0, 2.0])
    above, _ = figures.feature_densities(replace(plot, values=values, value_weights=weight)).axes
    heights, edges, _ = above.patches[0].get_data()
    # the row outside the range counts in the whole, as it does in the densities
    assert heights @ np.diff(edges) == pytest.approx(3 / 5)
    assert heights[np.searchsorted(edges, 5.0) - 1] * np.diff(edges)[0] == pytest.approx(1 / 5)


def test_bars__are_as_long_as_the_weights():
    weights, shares = np.array([0.6, 0.3995, 0.0005]), np.array([0.5, 0.3, 0.2])
    (axes,) = bars(weights, shares).axes
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(list(100 * weights))
    assert axes.lines[0].get_xdata() == pytest.approx(100 * shares)
    assert [text.get_text() for text in axes.texts] == ["60.0 %", "40.0 %", "0.05 %"]
    low, high = axes.get_ylim()
    assert low > high


def test_heatmap__shows_values_and_writes_numbers():
    standardised = np.array([[-1.2, 0.4], [2.0, -0.5]])
    means = np.array([[0.0, 4.0], [123456.0, 5.0]])
    columns = ("0\n90.0 %", "1\n10.0 %")
    shown = Heatmap("", standardised, ("a", "b"), columns, "sd", 2.0, True, means)
    axes, scale = figures.heatmap(shown).axes
    np.testing.assert_array_equal(axes.images[0].get_array(), standardised)
    low, high = axes.images[0].get_clim()
    assert (low, high) == (-2.0, 2.0)
    assert [text.get_text() for text in axes.texts] == ["0.00", "4.00", "123456", "5"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0\n90.0 %", "1\n10.0 %"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert scale.get_ylabel() == "sd"


def test_heatmap__of_parts_of_one_runs_from_white():
    shades = np.array([[0.0, 1.0], [0.25, 0.75]])
    axes = figures.heatmap(Heatmap("", shades, ("a", "b"), ("0", "1"), "probability")).axes[0]
    assert axes.images[0].get_clim() == (0.0, 1.0)
    white, strong = axes.images[0].cmap([0.0, 1.0])
    assert white[:3].min() > 0.95 > 0.5 > strong[:3].min()
    assert [text.get_text() for text in axes.texts] == ["0.00", "1.00", "0.250", "0.750"]
    # a number can be read on its cell
    assert [text.get_color() for text in axes.texts] == [INK, "white", INK, "white"]


def test_heatmap__turns_names_that_are_wider_than_their_columns():
    def drawn(names):
        return figures.heatmap(Heatmap("", np.eye(2), ("a", "b"), names, "probability"))

    short, long = (
        drawn(("CD3", "CD19")),
        drawn(("CD3", "forward scatter, area, of the first laser")),
    )
    angles = [{x.get_rotation() for x in one.axes[0].get_xticklabels()} for one in (short, long)]
    assert angles == [{0}, {90}]
    # the matrix keeps its height
    heights = []
    for one in (short, long):
        one.draw_without_rendering()
        heights.append(one.axes[0].get_position().height * one.get_figheight())
    assert heights[1] == pytest.approx(heights[0], rel=0.25)


def test_heatmap__leaves_numbers_out_where_there_is_no_room():
    large = np.zeros((40, 20))
    names = tuple(map(str, range(40)))
    axes = figures.heatmap(Heatmap("", large, names, names[:20], "sd", diverging=True)).axes
    assert not axes[0].texts


def test_label_scatter__draws_every_row_in_the_colour_of_its_component():
    x, y = np.array([0.0, 1.0, 2.0, 9.0]), np.array([5.0, 6.0, 7.0, 9.0])
    label = np.array([0, 1, 1, -1])
    (axes,) = figures.label_scatter(Scatter("", x, y, label, 3, ("CD3", "CD4"))).axes
    (points,) = axes.collections
    colours = dict(
        zip(
            map(tuple, points.get_offsets().data),
            (mpl.colors.to_hex(colour) for colour in points.get_facecolors()),
            strict=True,
        )
    )
    first, second, _ = palette(3)
    assert colours == {(0, 5): first, (1, 6): second, (2, 7): second, (9, 9): "#d9dee3"}
    # the empty component has no number
    assert {text.get_text(): text.get_position() for text in axes.texts} == {
        "0": (0.0, 5.0),
        "1": (1.5, 6.5),
    }
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("CD3", "CD4")


def test_label_scatter__numbers_neither_cover_each_other_nor_leave_the_axes():
    rng = np.random.default_rng(8)
    label = rng.integers(0, 24, 3000)
    x, y = 0.2 * rng.normal(size=(2, 3000)) + 0.05 * label
    figure = figures.label_scatter(Scatter("", x, y, label, 24, ("CD3", "CD4")))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 24
    inside = axes.get_window_extent()
    for box in boxes:
        assert inside.x0 <= (box.x0 + box.x1) / 2 <= inside.x1
        assert inside.y0 <= (box.y0 + box.y1) / 2 <= inside.y1
    centres = np.array([((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2) for box in boxes])
    sizes = np.array([(box.width, box.height) for box in boxes])
    first, second = np.triu_indices(24, 1)
    gap = np.abs(centres[first] - centres[second])
    # a box has blank margins
    needed = [0.9, 0.7] * (sizes[first] + sizes[second]) / 2
    assert (gap > needed).any(axis=1).all()


@pytest.mark.parametrize("part", [1.0, 0.123, 0.01, 0.0049, 0.00001])
def test_percent__keeps_two_digits(part):
    assert float(percent(part).removesuffix(" %")) == pytest.approx(100 * part, rel=0.05)


def test_palette__tells_24_components_apart_on_white():
    colours = palette(30)
    assert len(set(colours[:24])) == 24
    assert colours[24:] == colours[:6]
    assert dashes(0) == dashes(23) != dashes(24)
    # the eight first ones, which most reports use, stand out from the page
    assert all(1.05 / (luminance(colour) + 0.05) > 2.0 for colour in colours[:8])


def test_figures__leave_no_trace_in_the_settings_of_the_user(plot):
    before, open_before = dict(mpl.rcParams), _open_figures()
    figures.feature_densities(plot)
    with pytest.raises(ZeroDivisionError), report_style():
        raise ZeroDivisionError
    assert dict(mpl.rcParams) == before
    assert _open_figures() == open_before


def _open_figures() -> list[int]:
    """Return the numbers of the figures that pyplot shows."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return [] if pyplot is None else pyplot.get_fignums()


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_data_uri__is_the_same_for_the_same_figure(kind, plot):
    first, second = (data_uri(figures.feature_densities(plot), kind) for _ in range(2))
    assert first == second
    assert first.startswith(f"data:image/{'svg+xml' if kind == 'svg' else 'png'};base64,")


@pytest.mark.parametrize("k", [1, 25])
def test_figures__serve_one_and_many_components(k):
    points = np.linspace(-5, 5 + k, 100)
    mean = np.arange(k, dtype=float)
    density = stats.norm.pdf(points[:, None], mean, 1.0)
    one = DensityPlot("", "a", points, density, np.full(k, 1 / k))
    above, *below = figures.feature_densities(one).axes
    # one component has no others to be told from
    assert [len(above.lines), *(len(axes.lines) for axes in below)] == [k + 1, *[k] * (k > 1)]
    assert len(bars(np.full(k, 1 / k)).axes[0].patches) == k
    styles = {line.get_linestyle() for line in above.lines[:k]}
    assert styles == ({"-"} if k == 1 else {"-", "--"})


def test_figures__show_names_in_place_of_numbers():
    points, names = np.linspace(-5, 5, 100), ("B cells", "a very long name of a population indeed")
    density = stats.norm.pdf(points[:, None], [0.0, 1.0], 1.0)
    half = np.full(2, 0.5)
    _, below = figures.feature_densities(
        DensityPlot("", "a", points, density, half, names=names)
    ).axes
    ticks = [tick.get_text() for tick in below.get_yticklabels()]
    assert ticks[0] == "B cells"
    assert ticks[1].startswith("a very long")
    assert len(ticks[1]) < 30
    place, label = np.arange(40.0), np.arange(40) % 2
    (axes,) = figures.label_scatter(
        Scatter("", place, place, label, 2, ("a", "b"), ("B cells", "T cells"))
    ).axes
    assert [text.get_text() for text in axes.texts] == ["B cells", "T cells"]
    drawn = figures.label_scatter(
        Scatter("", place, place, label, 2, ("a", "b"), ("data", "draws"), legend=True)
    )
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["data", "draws"]
    assert not drawn.axes[0].texts


def test_scatter__of_many_points_is_an_image():
    drawn = np.random.default_rng(0).normal(size=(figures.MOST_POINTS + 1, 2))
    label = np.zeros(len(drawn), np.int64)
    (axes,) = figures.label_scatter(Scatter("", *drawn.T, label, 1, ("a", "b"))).axes
    assert len(axes.images) == 1
    assert not axes.collections


def test_bars__say_what_has_the_values():
    (axes,) = bars(np.array([0.6, 0.4]), name="population").axes
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("population", "weight (%)")


def test_data_uri__draws_by_hundredths_of_a_point(plot):
    kind, content = data_uri(figures.feature_densities(plot)).split(",")
    drawing = base64.b64decode(content).decode()
    numbers = [number for path in re.findall(' d="([^"]*)"', drawing) for number in path.split()]
    digits = {len(number.partition(".")[2]) for number in numbers}
    assert kind == "data:image/svg+xml;base64"
    assert max(digits) == 2


QUESTION = "How often do you eat vegetables and fruit in a usual week, {} juices and soups?"


def test_figures__of_long_names_keep_their_axes_and_tell_names_apart():
    names = (*map(QUESTION.format, ("with", "without", "counting")), "x" * 120)
    points = np.linspace(-5, 5, 100)
    density = stats.norm.pdf(points[:, None], [0.0, 1.0], 1.0)
    share = np.full((4, 4), 0.25)
    shown = (
        Heatmap("", np.eye(4), names, names, "probability"),
        DensityPlot("", names[3], points, density, np.full(2, 0.5), names=names[:2]),
        Curves("", (Panel((Curve([0, 1], [0, 1]),), names[3], "rows", f"median of {names[3]}"),)),
        ArcDiagram("", np.eye(4), names, "dependence"),
        StackedBars("", share, names, names),
        GroupedShares("", names, share, share / 10, np.arange(4), names, "dose", (0, 1, 2, 3)),
        SampleMap("", np.eye(4)[:, :2], np.full(2, 0.5), names, np.arange(4), names, names[3]),
    )
    for one in shown:
        figure = draw(one)
        # an axes that collapses is a warning of matplotlib, which the tests take for an error
        figure.draw_without_rendering()
        axes = figure.axes[0]
        assert axes.get_position().width > 0.2
        for axis in (axes.xaxis, axes.yaxis):
            texts = [text for text in axis.get_ticklabels() if "…" in text.get_text()]
            assert len({text.get_text() for text in texts}) == len(texts)
            for text in texts:
                box = text.get_window_extent()
                assert box.x0 > -1
                assert box.y1 < figure.bbox.y1 + 1


def test_names__of_one_word_keep_their_ends():
    assert names_or_numbers(("B cells", "CD4" + "x" * 60 + "CD8"), 2)[1].startswith("CD4")
    assert names_or_numbers(("B cells", "CD4" + "x" * 60 + "CD8"), 2)[1].endswith("CD8")


def test_bars__of_one_component_have_room_for_the_name_of_the_axis():
    figure = bars(np.ones(1), np.ones(1))
    figure.draw_without_rendering()
    box = figure.axes[0].yaxis.label.get_window_extent()
    assert box.y0 >= 0
    assert box.y1 <= figure.bbox.y1
