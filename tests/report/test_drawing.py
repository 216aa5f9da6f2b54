from typing import get_args

import numpy as np

from bigtensor.models.words.report_figures import (
    ConditionalPlot,
    DensityPlot,
    Figure,
    Heatmap,
    Scatter,
)
from bigtensor.report.drawing import _DRAWN_BY, draw, picture


def test_draw__knows_every_kind_of_figure():
    assert set(get_args(Figure)) == set(_DRAWN_BY)
    assert all(kind.kind == "figure" for kind in _DRAWN_BY)


def test_picture__is_a_bitmap_where_a_drawing_would_be_large():
    points = np.linspace(0, 1, 9)
    density = np.ones((9, 1))
    label, x = np.zeros(4, np.int64), np.arange(4.0)
    few = DensityPlot("", "a", points, density, np.ones(1))
    many = DensityPlot("", "a", points, density, np.ones(1), bitmap=True)
    rows = Scatter("", x, x, label, 1, ("a", "b"))
    given = ConditionalPlot("", x, x, x, x, ("a", "b"), False, x, x)
    kinds = [picture(shown)[:15] for shown in (few, many, rows, given)]
    assert kinds == ["data:image/svg+", *["data:image/png;"] * 3]


def test_draw__gives_a_figure_of_its_own():
    shown = Heatmap("", np.eye(2), ("a", "b"), ("0", "1"), "probability")
    assert draw(shown) is not draw(shown)
