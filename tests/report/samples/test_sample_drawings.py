import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from bigtensor.abundance.differential import differential_abundance
from bigtensor.abundance.sample_weights import weights_of_counts
from bigtensor.models.words.sample_figures import SampleMap
from bigtensor.report.drawing import draw, picture
from bigtensor.report.samples.abundance_figures import (
    map_of_samples,
    shares_by_group,
    shares_by_sample,
)
from bigtensor.report.samples.stacked_bars import bar_places

COUNTS = np.array([[900, 80, 20], [800, 195, 5], [910, 75, 15], [880, 40, 80], [850, 52, 98]])
NAMES = ["s10", "s9", "s2", "s1", "s3"]
SAMPLES = {"file": NAMES, "arm": [*"bba", "", "a"], "age": [30, 41, 5, 6, 7]}


@pytest.fixture
def weights():
    return weights_of_counts(COUNTS, NAMES, ["B", "T", "2"])


def texts(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_stacked_bars__are_whole_and_in_natural_order(weights):
    shown = shares_by_sample(weights)
    (axes,) = draw(shown).axes
    assert texts(axes) == ["s1", "s2", "s3", "s9", "s10"]
    assert [bars.get_label() for bars in axes.containers] == ["B", "T", "2"]
    ends = [bar.get_x() + bar.get_width() for bar in axes.containers[-1]]
    assert ends == pytest.approx([100] * 5)
    low, high = axes.get_ylim()
    assert low > high


def test_stacked_bars__stand_in_their_groups_with_headings(weights):
    shown = shares_by_sample(weights, SAMPLES, "arm")
    assert shown.sample_names == ("s1", "s2", "s3", "s9", "s10")
    assert shown.sections == ("not recorded", "a", "a", "b", "b")
    (axes,) = draw(shown).axes
    assert [text.get_text() for text in axes.texts] == ["arm not recorded", "arm a", "arm b"]
    places = bar_places(shown.sections, 5)
    gaps = np.diff(places)
    assert (gaps[[0, 2]] > 1.5).all()
    assert (gaps[[1, 3]] == 1).all()


def test_sample_map__has_points_names_and_groups(weights):
    shown = map_of_samples(weights, SAMPLES, "arm")
    (axes,) = draw(shown).axes
    assert [text.get_text() for text in axes.texts] == list(shown.sample_names)
    sizes = [len(points.get_offsets()) for points in axes.collections]
    assert sizes == [1, 2, 2]
    (legend,) = axes.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["not recorded", "a", "b"]
    x, y = axes.get_xlim(), axes.get_ylim()
    for text in axes.texts:
        assert x[0] < text.get_position()[0] < x[1]
        assert y[0] < text.get_position()[1] < y[1]
    assert picture(map_of_samples(weights)).startswith("data:image/svg")


@pytest.mark.parametrize(("count", "names"), [(24, "sample{}"), (12, "Activation_{}")])
def test_sample_map__has_readable_names_if_one_sample_is_far_away(count, names):
    points = np.random.default_rng(0).normal(size=(count, 2))
    points[0] = [30, 9]
    shown = SampleMap(
        "map",
        points,
        np.array([0.9, 0.05]),
        tuple(names.format(number) for number in range(count)),
        np.arange(count) % 2,
        ("control", "treated"),
        "treatment",
    )
    figure = draw(shown)
    FigureCanvasAgg(figure).draw()
    (axes,) = figure.axes
    boxes = [text.get_window_extent() for text in axes.texts]
    inside = axes.get_window_extent()
    for number, box in enumerate(boxes):
        assert inside.x0 < box.x0
        assert box.x1 < inside.x1
        for other in boxes[:number]:
            apart = max(box.x0 - other.x1, other.x0 - box.x1, box.y0 - other.y1, other.y0 - box.y1)
            assert apart > -3  # pixels; letters are drawn differently by versions of Matplotlib
    # a name beside the crowd is joined to its point
    assert len(axes.lines) > count / 2
    starts = np.array([line.get_xydata()[0] for line in axes.lines])
    assert (np.abs(starts[:, None] - points).sum(axis=2).min(axis=1) < 1e-9).all()


def test_grouped_shares__have_a_panel_for_every_population_the_surest_first(weights):
    result = differential_abundance(weights, SAMPLES, "arm")
    shown = shares_by_group(weights, SAMPLES, "arm", result=result)
    order = result["population"].values[np.argsort(result["p_value"].values)]
    assert [title.split("\n")[0].removeprefix("population ") for title in shown.titles] == [*order]
    assert "FDR" in shown.titles[0]
    figure = draw(shown)
    assert len(figure.axes) == 3
    assert len(figure.axes[0].lines[0].get_xdata()) == 4
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["a", "b"]


def test_grouped_shares__of_a_number_stand_at_its_values(weights):
    shown = shares_by_group(weights, SAMPLES, "age", populations=["T"])
    (axes,) = draw(shown).axes
    assert axes.lines[0].get_xdata().tolist() == [6, 5, 7, 41, 30]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [4, 7.5, 5.2, 19.5, 8])
    assert shown.colours == (1,)


def test_grouped_shares__of_doses_stand_at_equal_distances():
    names = [f"s{number}" for number in range(8)]
    weights = weights_of_counts(np.tile(COUNTS[0], (8, 1)), names, ["B", "T", "2"])
    doses = {"file": names, "dose": [0, 0, 0.005, 0.005, 0.05, 0.05, 0.5, 0.5]}
    (axes,) = draw(shares_by_group(weights, doses, "dose", populations=["T"])).axes
    assert axes.lines[0].get_xdata().tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0", "0.005", "0.05", "0.5"]
