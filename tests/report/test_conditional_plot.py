import numpy as np
from matplotlib.collections import LineCollection, PathCollection

from bigtensor.models.words.report_figures import ConditionalPlot
from bigtensor.report.drawings.conditional_plot import conditional_plot

NONE = np.empty(0)
LONG = "a name of a variable that is longer than the axis of the figure"


def plot(given, *, categorical=False, x=NONE, y=NONE, names=("a", "b")):
    given = np.asarray(given, np.float64)
    return ConditionalPlot(
        "", given, 2 * given, 2 * given - 1, 2 * given + 3, names, categorical, x, y
    )


def test_conditional_plot__has_a_line_and_a_band():
    (axes,) = conditional_plot(plot([0, 1, 4], names=("a", LONG))).axes
    (line,) = axes.lines
    np.testing.assert_array_equal(line.get_xydata(), [[0, 0], [1, 2], [4, 8]])
    (band,) = axes.collections
    corners = band.get_paths()[0].vertices
    assert {(0, -1), (4, 7), (0, 3), (4, 11)} <= set(map(tuple, corners))
    assert axes.get_ylim()[0] < -1
    assert axes.get_ylim()[1] > 11
    assert axes.get_ylabel().replace("\n", " ") == LONG
    assert max(map(len, axes.get_ylabel().splitlines())) < 40


def test_conditional_plot__has_an_interval_for_every_category():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 3, 200).astype(float), rng.normal(size=200)
    y[0] = 1e6
    (axes,) = conditional_plot(plot([0, 1, 2], categorical=True, x=x, y=y)).axes
    (lines,) = [one for one in axes.collections if isinstance(one, LineCollection)]
    ends = [segment.tolist() for segment in lines.get_segments()]
    assert ends == [[[h, 2 * h - 1], [h, 2 * h + 3]] for h in range(3)]
    (rows,) = [one for one in axes.collections if isinstance(one, PathCollection)]
    places = np.asarray(rows.get_offsets())
    # rows of a category lie beside each other, and nearer to it than to any other
    assert np.array_equal(np.round(places[:, 0]), x)
    assert np.unique(places[:, 0]).size == 200
    assert np.array_equal(places[:, 1], y)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1", "2"]
    # a single row far away does not set the scale
    assert axes.get_ylim()[1] < 10
