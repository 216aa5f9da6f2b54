import numpy as np
import pytest

from bigtensor.models.kernel_mixture.report import diagnostics, sections
from bigtensor.models.kernel_mixture.report.feature_profiles import FeatureProfile
from bigtensor.models.kernel_mixture.report.levels import Level, Levels
from bigtensor.models.words.label_level import LabelLevel
from bigtensor.models.words.sampled_rows import LabelledRows

NOTHING = np.zeros(0)


def text_of(table):
    return [[cell.text for cell in row] for row in table.rows]


def levels_of(weights, of_component, component_means, features):
    """Return components that are merged, without densities."""
    count = max(of_component) + 1
    profiles = tuple(FeatureProfile(name, name, *[NOTHING] * 4) for name in features)
    merged = np.bincount(of_component, weights)
    shown = Level("population", merged, profiles, np.zeros((len(features), count)), np.eye(count))
    labels = LabelLevel("population", merged, np.asarray(weights), np.asarray(of_component))
    return Levels(shown, labels, np.asarray(component_means))


def test_level_columns__name_the_nearest_and_what_stands_out():
    overlap = np.array([[1.0, 0.2, 0.0], [0.2, 1.0, 0.4], [0.0, 0.4, 1.0]])
    standardised = np.array([[2.0, -1.0, 0.0], [0.0, 0.0, 0.0]])
    profiles = tuple(FeatureProfile(name, name, *[NOTHING] * 4) for name in ("CD3", "CD4"))
    shown = Level("component", np.array([0.6, 0.3, 0.1]), profiles, standardised, overlap)
    nearest, features = sections.level_columns(shown, ("no name",))
    assert nearest.texts == ("1 (0.20)", "2 (0.40)", "1 (0.40)")
    assert features.texts[:2] == ("CD3 very high", "CD3 low")
    assert features.wide
    one = Level("component", np.ones(1), profiles, np.zeros((2, 1)), np.eye(1))
    assert sections.level_columns(one, ("no name",))[0].texts == ("",)


@pytest.mark.parametrize("categorical", [False, True])
def test_density_section__puts_a_histogram_behind_measured_features(categorical):
    points, density = np.linspace(0, 1, 5), np.ones((5, 2))
    profile = FeatureProfile("a", "a", points, density, np.zeros(2), np.ones(2), categorical)
    weights, none = np.array([0.5, 0.5]), np.zeros((1, 2))
    shown = Level("component", weights, (profile,), none, np.eye(2))
    rows = LabelledRows(
        values=np.arange(3.0)[:, None],
        label=np.zeros(3, np.int64),
        probability=np.ones((3, 1)),
        weight=np.array([1.0, 2.0, 3.0]),
        truth=None,
        sample_id=None,
        total=3,
        left_out=0,
    )
    levels = Levels(shown, LabelLevel("component", weights, weights), none)
    (figure,) = sections._density_section(levels, rows).blocks[1].blocks
    assert (figure.values is None) == categorical
    assert figure.value_weights is rows.weight


def test_conditioning_table__names_groups_by_their_views(fitted_mixture):
    found = fitted_mixture.diagnostics_
    names = [", ".join(members) for members in found["groups"]]
    rows = dict(text_of(diagnostics.conditioning_table(found["spectral"], found["groups"])))
    pairs = found["spectral"]["condition_numbers"]["pairs"]
    key = f"pair moments of {names[0]} with {names[2]}"
    assert float(rows[key]) == pytest.approx(pairs["0-2"], rel=1e-2)
    gap = found["spectral"]["spectral_gap"][1]
    assert float(rows[f"spectral gap of {names[1]}"]) == pytest.approx(gap, rel=1e-2)


def test_member_table__lists_components_with_their_weights():
    weights, of_component = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0, 1, 0, 1])
    table = sections.member_table(levels_of(weights, of_component, np.zeros((1, 4)), ["a"]))
    assert [
        [cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in table.rows
    ] == [
        ["0", "65.0 %", "2", "0 (50.00), 2 (15.00)"],
        ["1", "35.0 %", "2", "1 (30.00), 3 (5.00)"],
    ]


def test_component_table__names_the_population_of_every_component():
    standardised = np.array([[2.0, -1.0]])
    table = sections.component_table(levels_of([0.7, 0.3], [1, 0], standardised, ["CD3"]))
    assert text_of(table) == [
        ["0", "1", "70.0 %", "CD3 very high"],
        ["1", "0", "30.0 %", "CD3 low"],
    ]


@pytest.mark.parametrize(
    ("scores", "header", "shown"),
    [
        ({"spectral_gaps": [0.3, 0.44444]}, "spectral gap", ["0.3", "0.4444"]),
        (
            {"held_out_log_likelihood": [None, -6.86436]},
            "held-out log-likelihood",
            ["none", "-6.8644"],
        ),
    ],
)
def test_bandwidth_table__marks_what_was_chosen(scores, header, shown):
    table = diagnostics.bandwidth_table({"chosen": 0.5, "factors": [0.25, 0.5], **scores})
    assert table.header[1] == header
    assert text_of(table) == [["0.25", shown[0], ""], ["0.5", shown[1], "chosen"]]


def test_landmark_table__shows_what_landmarks_leave_out():
    found = {"a": {"count": 100, "trace_error": 4.41e-5}, "b": {"count": 7, "trace_error": None}}
    table = diagnostics.landmark_table(found)
    assert text_of(table) == [["a", "100", "4.4e-05"], ["b", "7", "unknown"]]
