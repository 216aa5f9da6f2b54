import numpy as np
from matplotlib.patches import Arc

from bigtensor.models.words.report_figures import ArcDiagram
from bigtensor.report.drawings.arc_diagram import arc_diagram

STRENGTHS = np.array([[1, 0.9, 0, 0.4], [0.9, 1, 0, 0], [0, 0, 1, 0.6], [0.4, 0, 0.6, 1]])


def test_arc_diagram__joins_the_pairs_that_have_a_strength():
    shown = ArcDiagram("", STRENGTHS, ("a", "a longer name of a $variable", "c", "d"), "dependence")
    (axes,) = arc_diagram(shown).axes
    arcs = [patch for patch in axes.patches if isinstance(patch, Arc)]
    ends = [(arc.center[1] - arc.height / 2, arc.center[1] + arc.height / 2) for arc in arcs]
    # the weakest lies below
    assert ends == [(0, 3), (2, 3), (0, 1)]
    widths = [arc.get_linewidth() for arc in arcs]
    assert widths == sorted(widths)
    assert [arc.get_alpha() for arc in arcs] == sorted(arc.get_alpha() for arc in arcs)
    assert [label.get_text() for label in axes.get_yticklabels()] == list(shown.names)
    low, high = axes.get_ylim()
    assert low > high
    assert max(arc.width / 2 for arc in arcs) < axes.get_xlim()[1]


def test_arc_diagram__of_members_without_pairs_has_no_arcs():
    (axes,) = arc_diagram(ArcDiagram("", np.eye(3), ("a", "b", "c"), "dependence")).axes
    assert not axes.patches
