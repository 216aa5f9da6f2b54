import numpy as np
import pytest

from bigtensor.models.kernel_mixture.report import diagnostics
from bigtensor.models.kernel_mixture.report.notices import standing_out
from bigtensor.report.drawing import draw


def test_spectrum__fills_what_is_kept():
    values = [[1.0, 0.5, 0.01, 0.005], [1.0, 0.4, 0.02]]
    figure = draw(diagnostics.spectrum(values, 2, ["one", "two"]))
    (axes,) = figure.axes
    for index, expected in enumerate(values):
        whole, hollow = axes.lines[2 * index : 2 * index + 2]
        assert list(whole.get_ydata()) == expected
        assert list(hollow.get_ydata()) == expected[2:]
        assert hollow.get_markerfacecolor() == "white"
    assert axes.lines[-1].get_xdata()[0] == 2.5
    assert axes.get_yscale() == "log"
    assert [text.get_text() for text in figure.legends[0].texts] == ["one", "two"]
    figure.draw_without_rendering()
    assert not any("$" in label.get_text() for label in axes.get_yticklabels())


def test_likelihood_by_pass__counts_passes_from_one():
    (axes,) = draw(diagnostics.likelihood_by_pass([-7.2, -7.1, -7.05])).axes
    (line,) = axes.lines
    assert line.get_xdata().tolist() == [1, 2, 3]
    assert list(line.get_ydata()) == [-7.2, -7.1, -7.05]


def test_scree__fills_what_exceeds_the_null_by_the_ratio():
    values, null = [[8.0, 4.0, 1.0, 0.9], [9.0, 1.4, 1.3]], [[1.0, 1.0, 1.0], [1.0, 1.0]]
    figure = draw(diagnostics.scree(values, null, 1.5, ["one", "two"]))
    (axes,) = figure.axes
    for index, kept in enumerate((2, 1)):
        whole, hollow, limit = axes.lines[3 * index : 3 * index + 3]
        assert list(whole.get_ydata()) == values[index]
        assert list(hollow.get_ydata()) == values[index][kept:]
        assert list(limit.get_ydata()) == [1.5] * len(null[index])
        assert limit.get_linestyle() == "--"
    names = [text.get_text() for text in figure.legends[0].texts]
    assert names == ["one", "two", "1.5 times independence"]
    figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("values", "null", "count"),
    [([3.0, 1.0, 0.5], [1.0, 1.0, 0.1], 1), ([1.0], [1.0, 1.0], 0), ([4.0, 4.0], [1.0], 1)],
)
def test_standing_out__ends_at_the_first_that_does_not(values, null, count):
    assert standing_out(values, null, 1.5) == count


def test_standing_out__is_what_the_count_of_components_rests_on():
    from bigtensor.decomposition.multiview.component_count import count_components

    rng = np.random.default_rng(2)
    label = rng.integers(0, 3, 4000)
    groups = [np.eye(3)[label] + 0.3 * rng.normal(size=(4000, 3)) for _ in range(3)]
    found = count_components(groups)
    counts = [standing_out(g.singular_values, g.null, g.ratio) for g in found.by_group]
    assert found.count == 1 + max(counts) == 3


CUTS = {
    "counts": [2, 3, 4, 5],
    "agreement": [0.99, 0.9, 0.95, 0.4],
    "misclassification": [0.01, 0.02, 0.05, 0.3],
    "chosen": 4,
    "as_good": [],
    "separate_below": 0.12,
}


def test_agreement_of_cuts__marks_what_was_chosen_and_what_is_shown():
    figure = draw(diagnostics.agreement_of_cuts(CUTS, 3))
    for axes, name in zip(figure.axes, ("agreement", "misclassification"), strict=True):
        line, shown, chosen = axes.lines[:3]
        assert list(line.get_xdata()) == CUTS["counts"]
        assert list(line.get_ydata()) == CUTS[name]
        assert shown.get_xdata()[0] == 3
        assert (chosen.get_xdata()[0], chosen.get_ydata()[0]) == (4, CUTS[name][2])
        low, high = axes.get_ylim()
        assert low <= min(CUTS[name]) < max(CUTS[name]) < high
    assert figure.axes[1].lines[3].get_ydata()[0] == 0.12
    names = [text.get_text() for text in figure.legends[0].texts]
    assert names == ["shown: 3", "chosen: 4", "largest that is considered"]


def test_agreement_of_cuts__is_drawn_where_nothing_was_chosen_and_for_earlier_models():
    found = {**CUTS, "chosen": 1}
    del found["separate_below"]
    figure = draw(diagnostics.agreement_of_cuts(found, 1))
    assert [text.get_text() for text in figure.legends[0].texts] == ["shown: 1"]
    assert all(len(axes.lines) == 2 for axes in figure.axes)
