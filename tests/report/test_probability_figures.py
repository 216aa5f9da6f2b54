import numpy as np
import pytest

from bigtensor.models.words.report_figures import Histograms, ReliabilityDiagram
from bigtensor.report import probability_figures as figures


def test_label_histograms__are_weighted_and_of_one_height():
    label = np.array([0, 0, 0, 2, -1])
    certainty = np.array([0.99, 0.98, 0.51, 1.0, 0.1])
    weight = np.array([1.0, 1.0, 4.0, 1.0, 9.0])
    shown = Histograms("", label, certainty, weight, 3, "population", "largest")
    (axes,) = figures.label_histograms(shown).axes
    first, third = axes.patches
    tops, edges, baseline = first.get_data()
    assert baseline == 0
    assert edges == pytest.approx(np.linspace(0, 1, 21))
    expected = np.zeros(20)
    expected[[10, 19]] = 1.0, 0.5
    assert -tops == pytest.approx(figures.ROW_HEIGHT * expected)
    # a probability of one is in the last bin
    assert (2 - third.get_data()[0]).argmax() == 19
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("population", "largest")
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0", "1", "2"]
    low, high = axes.get_ylim()
    assert low > 2
    assert high < 0


def test_reliability_diagram__draws_filled_bins_and_counts():
    counts = np.array([0, 0, 0, 0, 5, 0, 0, 0, 20, 1200])
    confidence, right = np.full((2, 10), np.nan)
    confidence[[4, 8, 9]], right[[4, 8, 9]] = (0.45, 0.84, 0.99), (0.2, 0.9, 0.98)
    figure = figures.reliability_diagram(ReliabilityDiagram("", counts, confidence, right, 0.0123))
    above, below = figure.axes
    diagonal, line = above.lines
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata()) == [0, 1]
    assert list(line.get_xdata()) == [0.45, 0.84, 0.99]
    assert list(line.get_ydata()) == [0.2, 0.9, 0.98]
    (intervals,) = above.collections
    ends = np.array([segment[:, 1] for segment in intervals.get_segments()])
    z = 1.959964
    n, p = np.array([5, 20, 1200]), np.array([0.2, 0.9, 0.98])
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    assert ends == pytest.approx(np.column_stack([middle - half, middle + half]), abs=1e-6)
    assert above.texts[0].get_text() == "expected calibration error 0.012"
    assert [bar.get_height() for bar in below.patches] == counts.tolist()
    middles = [bar.get_x() + bar.get_width() / 2 for bar in below.patches]
    assert middles == pytest.approx(np.arange(0.05, 1, 0.1))
    assert [text.get_text() for text in below.texts][-2:] == ["20", "1,200"]
