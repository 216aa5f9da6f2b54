"""Report of a hidden Markov model: decoded states beside the fitted chain."""

import numpy as np
import pytest
import xarray as xr

from bigtensor import HiddenMarkovModel
from bigtensor.errors import DataError, MissingValueWarning, ParameterError
from bigtensor.models.contract.opening_for_answers import with_features_of_fit
from bigtensor.models.hidden_markov.decoded_section import (
    decoded_summary,
    dwell_curves,
    dwell_section,
    strip_section,
)
from bigtensor.models.words.report_blocks import Group, Table
from bigtensor.models.words.report_figures import Heatmap, StateStrip
from bigtensor.report.drawing import draw
from bigtensor.report.html import comparison_of, render_report
from bigtensor.report.style import palette
from bigtensor.statistics.sequences.decoded import DecodedSummary
from tests.statistics.sequences.recursions import Chain

TRANSITION = np.array([[0.9, 0.06, 0.04], [0.1, 0.85, 0.05], [0.05, 0.1, 0.85]])


@pytest.fixture(scope="module")
def steps() -> xr.Dataset:
    """States that nearly every step shows, and that last several steps."""
    emission = np.repeat(0.94 * np.eye(3) + 0.02, 2, axis=1) / 2
    chain = Chain(np.full(3, 1 / 3), TRANSITION, emission)
    codes = chain.drawn_codes([2_000] * 30, np.random.default_rng(8))
    data = xr.Dataset(
        {
            "X": (("sample", "feature"), codes[:, None]),
            "sequence": ("sample", np.repeat(np.arange(30), 2_000)),
        },
        coords={"feature": ["symbol"]},
    )
    data["X"].attrs["categories"] = {"symbol": list("abcdef")}
    return data


@pytest.fixture(scope="module")
def model(steps: xr.Dataset) -> HiddenMarkovModel:
    return HiddenMarkovModel(3, refine="triples", random_state=0).fit(steps)


def test_decoded_summary__agrees_with_predict_and_with_the_chain(
    model: HiddenMarkovModel, steps: xr.Dataset
) -> None:
    found = decoded_summary(model, with_features_of_fit(model, steps))
    state = model.predict(steps).to_numpy()
    np.testing.assert_array_equal(found.counts.sum(axis=0), np.bincount(state, minlength=3))
    np.testing.assert_array_equal(found.first_states, state[:300])
    np.testing.assert_allclose(found.counts.sum(axis=0) / 60_000, model.occupancy_, atol=0.02)
    expected = 1 / (1 - np.diag(model.transition_))
    np.testing.assert_allclose(found.mean_run(), expected, rtol=0.15)


def test_dwell_section__shows_the_geometric_law_and_the_means(
    model: HiddenMarkovModel, steps: xr.Dataset
) -> None:
    found = decoded_summary(model, with_features_of_fit(model, steps))
    stay = np.diag(model.transition_.to_numpy())
    (panel,) = dwell_curves(stay, found).panels
    for state in range(3):
        decoded, geometric = panel.items[2 * state : 2 * state + 2]
        assert decoded.y[0] == geometric.y[0] == 1
        assert (np.diff(decoded.y) <= 0).all()
        np.testing.assert_allclose(geometric.y, stay[state] ** (geometric.x - 1.0))
        assert geometric.dashed
        assert geometric.y.min() >= 1e-3
    beside = dwell_section(model.occupancy_, stay, found).blocks[1]
    assert isinstance(beside, Group)
    table = beside.blocks[1]
    assert isinstance(table, Table)
    assert [row[3].text for row in table.rows] == [f"{1 / (1 - one):,.1f}" for one in stay]


def test_dwell_curves__mark_states_that_never_last() -> None:
    counts, ended = np.array([[2, 4]]), np.array([[0, 2, 0], [0, 0, 2]])
    summary = DecodedSummary(counts, ended, 0 * ended, np.zeros(6, int), np.zeros(6, bool))
    (panel,) = dwell_curves(np.array([0.0, 0.5]), summary).panels
    (decoded,) = [item for item in panel.items if item.name == "state 0"]
    assert len(decoded.x) == 1
    assert decoded.marker > 0


def test_strip__has_an_area_a_state_and_a_line_a_sequence() -> None:
    shares = np.array([[0.25, 0.75], [1.0, 0.0]])
    first, begins = np.array([0, 0, 1, -1, 1]), np.array([True, False, True, False, False])
    above, below = draw(StateStrip("", shares, first, begins)).axes
    tops = [patch.get_data().values.tolist() for patch in above.patches]
    assert tops == [[0.25, 1.0], [1.0, 1.0]]
    image = below.images[0].get_array()
    assert image[0].tolist() == [0, 0, 1, None, 1]
    assert [line.get_xdata()[0] for line in below.lines] == [1.5]
    assert [patch.get_facecolor() for patch in above.patches] == [
        pytest.approx((*(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)), 1.0))
        for colour in palette(2)
    ]


def test_strip__leaves_rows_out_of_the_shares(model: HiddenMarkovModel, steps: xr.Dataset) -> None:
    data = steps.isel(sample=slice(3_000)).copy(deep=True)
    data["X"][5:20] = -1
    tolerant = HiddenMarkovModel(2, missing="omit", refine="triples", random_state=0)
    with pytest.warns(MissingValueWarning, match="left out"):
        tolerant.fit(data)
    samples = with_features_of_fit(tolerant, data)
    with pytest.warns(MissingValueWarning, match="left out"):
        found = decoded_summary(tolerant, samples)
    assert found.counts.sum() == 2_985
    assert (found.first_states[5:20] == -1).all()
    strip = strip_section(found).blocks[1]
    assert isinstance(strip, StateStrip)
    # columns of ten rows: the second has no row, the first five
    np.testing.assert_allclose(strip.shares.sum(axis=1)[:3], [1, 0, 1])


def test_heatmap__names_its_axes() -> None:
    shown = Heatmap("", np.eye(2), ("a", "b"), ("c", "d"), "", row_axis="from", column_axis="to")
    axes = draw(shown).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("to", "from")


def test_page__decodes_where_there_are_data(model: HiddenMarkovModel, steps: xr.Dataset) -> None:
    alone, page = render_report(model), render_report(model, data=steps)
    for title in ("States along time", "Dwell times"):
        assert title in page
        assert title not in alone
    assert "paths of all 60,000 rows" in page


@pytest.mark.slow  # a page that decodes is quick
def test_page__compares_stored_states_with_known_labels(
    model: HiddenMarkovModel, steps: xr.Dataset
) -> None:
    state = model.predict(steps)
    known = xr.DataArray(
        np.where(state.to_numpy() == 1, "asleep", "awake"), dims="sample", name="stage"
    )
    data = steps.assign(stage=known)
    page = render_report(model, data=data, labels=state, truth="stage")
    assert 'id="classes"' in page
    for name in ("asleep", "awake"):
        assert f'<th scope="row">{name}</th>' in page
    assert 'id="classes"' not in render_report(model, data=steps, labels=state)
    with pytest.raises(DataError, match="states 0 to 2"):
        render_report(model, data=steps, labels=state + 1)


def test_render_report__says_why_samples_are_not_compared(
    model: HiddenMarkovModel, steps: xr.Dataset
) -> None:
    data = steps.assign(sample_id=("sample", np.repeat(["a", "b", "c"], 20_000)))
    comparison = comparison_of({"sample": ["a", "b", "c"], "dose": ["0", "1", "2"]}, "dose")
    with pytest.raises(ParameterError, match=r"kind \(HiddenMarkovModel\); .*'bigtensor compare'"):
        render_report(model, data=data, comparison=comparison)
    assert model.weights_by(data).sizes["sample_id"] == 3


def test_page__says_where_a_broad_figure_goes_on(model: HiddenMarkovModel) -> None:
    # the shadow at the edge of a narrow window, as of tables
    assert 'class="figure broad scroll"' in render_report(model)
