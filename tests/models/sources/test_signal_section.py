"""Sources along the rows in reports."""

import numpy as np
import pytest

from bigtensor import ICA
from bigtensor.models.sources.signal_section import MOST_ROWS, signal_sections
from bigtensor.report.rows import read_rows


@pytest.fixture(scope="module")
def signals():
    drawn = np.random.default_rng(0)
    sources = drawn.laplace(size=(3_000, 3))
    return sources @ drawn.normal(size=(3, 3))


def test_signals__are_the_sources_of_the_first_rows(signals):
    model = ICA(random_state=0).fit(signals)
    (section,) = signal_sections(model.solution_, read_rows(model, signals))
    assert "all 3 sources" in section.blocks[0].text
    (figure,) = section.blocks[1].blocks
    expected = model.transform(signals[:MOST_ROWS])
    shown = np.column_stack([panel.items[0].y for panel in figure.panels])
    np.testing.assert_allclose(shown, expected)


def test_signals__are_not_shown_of_scattered_rows(signals):
    model = ICA(random_state=0).fit(signals)
    assert not signal_sections(model.solution_, read_rows(model, signals, sample_size=64))
