"""Sections of the report, as data: what their figures show of densities that are known."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

from bigtensor import TensorTrainDensity, TensorTrainOptions
from bigtensor.errors import ConstantFeatureWarning
from bigtensor.models.tensor_train_density.conditional_section import conditional_quantiles
from bigtensor.models.tensor_train_density.dependence_section import mutual_informations
from bigtensor.models.tensor_train_density.description import _method_in_words
from bigtensor.models.tensor_train_density.sections import sections_of
from bigtensor.models.words.report_blocks import Group, Table
from bigtensor.models.words.report_figures import ArcDiagram, ConditionalPlot, Heatmap, Scatter
from bigtensor.models.words.sampled_rows import SampledRows
from bigtensor.report.html import render_report
from bigtensor.testing import small_data


def blocks_of(sections, name):
    """Return the blocks of a section, those of groups among them."""
    (section,) = [one for one in sections if one.name == name]
    found = list(section.blocks)
    for block in section.blocks:
        if isinstance(block, Group):
            found += block.blocks
    return found


def figures_of(sections, name, kind):
    return [block for block in blocks_of(sections, name) if isinstance(block, kind)]


@pytest.fixture(scope="module")
def chained():
    """A Gaussian pair with a correlation of .8, its parabola and a variable by itself."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=3_000)
    second = 0.8 * first + 0.6 * rng.normal(size=3_000)
    parabola = second**2 + 0.5 * rng.normal(size=3_000)
    X = np.column_stack([first, rng.normal(size=3_000), parabola, second])
    return TensorTrainDensity(8, coordinates="z", widths=(0.3, 0.9), random_state=0).fit(X)


def test_arcs__are_the_dependence_of_pairs_in_the_order_of_the_chain(chained):
    (arcs,) = figures_of(sections_of(chained, None), "dependence", ArcDiagram)
    assert list(arcs.names) == chained.order_
    strength = {
        frozenset((a, b)): arcs.strengths[i, j]
        for i, a in enumerate(arcs.names)
        for j, b in enumerate(arcs.names)
        if i != j
    }
    # of two Gaussian variables it is their correlation
    assert strength[frozenset(("x0", "x3"))] == pytest.approx(0.8, abs=0.04)
    # a parabola has no rank correlation
    assert strength[frozenset(("x2", "x3"))] > 0.7
    (ranks,) = figures_of(sections_of(chained, None), "dependence", Heatmap)
    at = [arcs.names.index(name) for name in ("x2", "x3")]
    assert abs(ranks.shades[tuple(at)]) < 0.1
    for other in ("x0", "x2", "x3"):
        assert strength[frozenset(("x1", other))] == 0
    assert np.array_equal(arcs.strengths, arcs.strengths.T)


def test_mutual_informations__agree_with_the_model(chained):
    drawn = chained.solution_.draw(5_000, np.random.default_rng(3))
    found = mutual_informations(chained.solution_, drawn, [3, 0, 2])
    for (i, a), (j, b) in [((0, "x3"), (1, "x0")), ((0, "x3"), (2, "x2")), ((1, "x0"), (2, "x2"))]:
        expected = chained.mutual_information([a], [b], random_state=7)
        assert found[i, j] == pytest.approx(expected, abs=0.04)


@pytest.mark.slow
def test_dependence__counts_the_variables_that_are_left_out():
    X = np.random.default_rng(0).normal(size=(80, 43))
    sections = sections_of(
        TensorTrainDensity(
            2, coordinates="z", widths=(0.6,), trains=TensorTrainOptions(n_trains=1)
        ).fit(X),
        None,
    )
    (arcs,) = figures_of(sections, "dependence", ArcDiagram)
    assert len(arcs.names) == 40
    assert "The first 40 of 43 variables are shown." in blocks_of(sections, "dependence")[0].text


def test_margins__count_the_variables_that_are_left_out(chained, monkeypatch):
    monkeypatch.setattr("bigtensor.models.tensor_train_density.sections.MOST_PLOTS", 2)
    words = blocks_of(sections_of(chained, None), "margins")[0].text
    assert "The first 2 of 4 variables are shown." in words


def test_method__says_how_much_of_a_density_is_gaussian():
    diagnostics = {
        "system": "ns",
        "pilot_rows": 178,
        "held_out_log_density": [],
        "categorical": [],
        "gaussian_components": 4,
        "gaussian_share": 0.72,
    }
    text = " ".join(_method_in_words(diagnostics))
    assert re.search(r"72\.0 %.* 4 components.* 28\.0 %", text)


def test_dependence__of_rotated_coordinates_has_no_arcs():
    X = np.random.default_rng(0).normal(size=(100, 3))
    sections = sections_of(TensorTrainDensity(2, coordinates="zca", widths=(0.6,)).fit(X), None)
    assert not figures_of(sections, "dependence", ArcDiagram)
    assert len(figures_of(sections, "dependence", Heatmap)) == 1


def test_rank_correlations__leave_out_draws_of_other_symbols():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 60)
    X = np.column_stack([kind, kind + 0.2 * rng.normal(size=60)])
    model = TensorTrainDensity(3, coordinates="z", random_state=0).fit(X)
    drawn = model.solution_.draw(5_000, np.random.default_rng(0))
    assert np.isnan(drawn[:, 0]).any()
    (ranks,) = figures_of(sections_of(model, None), "dependence", Heatmap)
    assert ranks.shades[0, 1] > 0.7


def test_one_variable__has_no_pairs():
    X = norm.ppf(np.arange(1, 200) / 200)[:, None]
    names = [one.name for one in sections_of(TensorTrainDensity(1).fit(X), None)]
    assert names == ["margins"]


def test_conditional_quantiles__are_integrals_of_conditional_densities(chained):
    at = np.array([-1.5, 0.2, 1.1])
    median, lower, upper = conditional_quantiles(chained.solution_, 3, 2, at)
    for k, value in enumerate(at):
        one = chained.marginal(["x2", "x3"]).conditional({"x3": value})
        grid = np.linspace(-40, 60, 200_001)
        heights = np.exp(one.score_samples(grid[:, None]))
        below = np.append(0, np.cumsum((heights[1:] + heights[:-1]) / 2 * np.diff(grid)))
        expected = np.interp([0.5, 0.1, 0.9], below, grid)
        assert [median[k], lower[k], upper[k]] == pytest.approx(expected, abs=0.01)


def test_conditionals__of_gaussian_neighbours_are_near_the_truth(chained):
    plots = figures_of(sections_of(chained, None), "conditionals", ConditionalPlot)
    order = chained.order_
    assert [plot.names for plot in plots] == list(pairwise(order))
    (plot,) = [plot for plot in plots if set(plot.names) == {"x0", "x3"}]
    core = np.abs(plot.condition) < 1.2
    half = 0.6 * norm.ppf(0.9)
    assert plot.median[core] == pytest.approx(0.8 * plot.condition[core], abs=0.15)
    assert plot.lower[core] == pytest.approx(0.8 * plot.condition[core] - half, abs=0.25)
    assert plot.upper[core] == pytest.approx(0.8 * plot.condition[core] + half, abs=0.25)
    assert not plot.x.size


@pytest.fixture(scope="module")
def with_categories():
    """Two categories that agree, a measured variable that depends on them, and a constant."""
    rng = np.random.default_rng(2)
    kind = rng.integers(0, 3, 900)
    twin = np.where(rng.random(900) < 0.9, kind, 0)
    X = np.column_stack([kind, twin, 2 * kind + rng.normal(size=900), np.full(900, 3.0)])
    X[::10, 2] = np.nan
    model = TensorTrainDensity(3, coordinates="z", widths=(0.3,), random_state=0)
    with pytest.warns(ConstantFeatureWarning, match="x3"):
        return X, model.fit(X)


def test_conditionals__ask_for_measured_variables_alone(with_categories):
    X, model = with_categories
    rows = SampledRows(X, np.ones(len(X)), None, None, len(X), 0)
    plots = figures_of(sections_of(model, rows), "conditionals", ConditionalPlot)
    place = model.order_.index("x2")
    near = set(model.order_[max(place - 1, 0) : place + 2]) - {"x2", "x3"}
    assert near
    assert {plot.names for plot in plots} == {(name, "x2") for name in near}
    for plot in plots:
        assert plot.categorical
        assert list(plot.condition) == [0, 1, 2]
        assert len(plot.x) == len(plot.y) == np.sum(~np.isnan(X[:, 2]))
        if plot.names[0] == "x0":
            assert plot.median == pytest.approx([0, 2, 4], abs=0.3)
            assert plot.upper - plot.lower == pytest.approx(np.full(3, 2 * norm.ppf(0.9)), abs=0.4)


def test_categories_alone__have_no_sections_of_measured_variables():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (300, 3)).astype(float)
    names = [one.name for one in sections_of(TensorTrainDensity(2).fit(X), None)]
    assert not {"conditionals", "margins"} & {*names}


def test_dependence__of_categories_has_no_rank_correlations():
    model = TensorTrainDensity(2, random_state=0).fit(small_data("codes"))
    sections = sections_of(model, None)
    assert len(figures_of(sections, "dependence", ArcDiagram)) == 1
    assert not figures_of(sections, "dependence", Heatmap)
    assert "rank correlation" not in blocks_of(sections, "dependence")[0].text


def test_unusual_rows__have_names_of_categories():
    codes = np.random.default_rng(0).integers(0, 2, (300, 3)).astype("int32")
    codes[5] = [2, 0, 0]
    names = [f"base{number}" for number in range(3)]
    attrs = {"categories": {name: ["A", "C", "G"] for name in names}}
    data = xr.DataArray(codes, {"feature": names}, ("sample", "feature"), "X", attrs)
    model = TensorTrainDensity(2, random_state=0).fit(data)
    rows = SampledRows(codes.astype(float), np.ones(300), None, None, 300, 0)
    (table,) = figures_of(sections_of(model, rows), "unusual", Table)
    assert [cell.text for cell in table.rows[0]][::2] == ["5", "base0 = G"]


@pytest.mark.slow
def test_sections__of_a_variable_without_values_leave_it_out():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:, 2] = np.nan
    model = TensorTrainDensity(2, coordinates="z", widths=(0.6,), random_state=0)
    with pytest.warns(ConstantFeatureWarning, match="x2"):
        model.fit(X)
    rows = SampledRows(X, np.ones(len(X)), None, None, len(X), 0)
    sections = sections_of(model, rows)
    (arcs,) = figures_of(sections, "dependence", ArcDiagram)
    assert not arcs.strengths[arcs.names.index("x2")].any()
    (ranks,) = figures_of(sections, "dependence", Heatmap)
    assert not ranks.shades[arcs.names.index("x2")].any()
    for name, kind in (("conditionals", ConditionalPlot), ("pairs", Scatter)):
        assert not [plot for plot in figures_of(sections, name, kind) if "x2" in plot.names]
    assert "Unusual rows" in render_report(model, data=X)


def test_unusual_rows__have_their_names_or_numbers(chained):
    X = np.tile([0.0, 0.0, 0.5, 0.0], (30, 1))
    X[7, 3], X[21, 1] = 6.0, 3.0
    index = np.arange(100, 130)
    rows = SampledRows(X, np.ones(30), None, None, 200, 0, index=index)
    (table,) = figures_of(sections_of(chained, rows), "unusual", Table)
    assert [row[0].text for row in table.rows[:2]] == ["107", "121"]
    assert table.rows[0][2].text.startswith("x3 = 6") or table.rows[0][2].text.startswith("x2")
    named = replace(rows, names=np.array([f"patient {place}" for place in range(30)]))
    (table,) = figures_of(sections_of(chained, named), "unusual", Table)
    assert [row[0].text for row in table.rows[:2]] == ["patient 7", "patient 21"]


def test_pairs__are_of_measured_variables_with_a_legend(chained, with_categories):
    X, model = with_categories
    rows = SampledRows(X, np.ones(len(X)), None, None, len(X), 0)
    assert not [one for one in sections_of(model, rows) if one.name == "pairs"]
    of_normal = SampledRows(np.zeros((9, 4)), np.ones(9), None, None, 9, 0)
    plots = figures_of(sections_of(chained, of_normal), "pairs", Scatter)
    assert len(plots) == 3
    assert all(plot.legend and len(plot.label_names) == 2 for plot in plots)
