"""Sections of the report, as data: what their figures show of densities that are known."""

import numpy as np
import pytest
from scipy.stats import norm

from bigtensor import TensorTrainDensity
from bigtensor.models.report_blocks import Group
from bigtensor.models.report_figures import ArcDiagram, Heatmap
from bigtensor.models.tensor_train_density.dependence_section import mutual_informations
from bigtensor.models.tensor_train_density.sections import sections_of


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
    return TensorTrainDensity(8, "z", widths=(0.3, 0.9), random_state=0).fit(X)


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
    drawn = chained._fitted.draw(5_000, np.random.default_rng(3))
    found = mutual_informations(chained._fitted, drawn, [3, 0, 2])
    for (i, a), (j, b) in [((0, "x3"), (1, "x0")), ((0, "x3"), (2, "x2")), ((1, "x0"), (2, "x2"))]:
        expected = chained.mutual_information([a], [b], random_state=7)
        assert found[i, j] == pytest.approx(expected, abs=0.04)


def test_dependence__counts_the_variables_that_are_left_out():
    X = np.random.default_rng(0).normal(size=(80, 43))
    sections = sections_of(TensorTrainDensity(2, "z", widths=(0.6,), n_trains=1).fit(X), None)
    (arcs,) = figures_of(sections, "dependence", ArcDiagram)
    assert len(arcs.names) == 40
    assert "The first 40 of 43 variables are shown." in blocks_of(sections, "dependence")[0].text


def test_dependence__of_rotated_coordinates_has_no_arcs():
    X = np.random.default_rng(0).normal(size=(100, 3))
    sections = sections_of(TensorTrainDensity(2, "zca", widths=(0.6,)).fit(X), None)
    assert not figures_of(sections, "dependence", ArcDiagram)
    assert len(figures_of(sections, "dependence", Heatmap)) == 1


def test_rank_correlations__leave_out_draws_of_other_symbols():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 60)
    X = np.column_stack([kind, kind + 0.2 * rng.normal(size=60)])
    model = TensorTrainDensity(3, "z", random_state=0).fit(X)
    drawn = model._fitted.draw(5_000, np.random.default_rng(0))
    assert np.isnan(drawn[:, 0]).any()
    (ranks,) = figures_of(sections_of(model, None), "dependence", Heatmap)
    assert ranks.shades[0, 1] > 0.7


def test_one_variable__has_no_pairs():
    X = norm.ppf(np.arange(1, 200) / 200)[:, None]
    names = [one.name for one in sections_of(TensorTrainDensity(1).fit(X), None)]
    assert names == ["choice", "margins"]
