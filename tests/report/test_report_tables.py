import numpy as np
import pytest
from sklearn.metrics import f1_score

from bigtensor.report import diagnostic_tables, tables
from bigtensor.report.level import Level
from bigtensor.report.profiles import FeatureProfile
from bigtensor.report.rows import Groups, ReportRows

NOTHING = np.zeros(0)


def text_of(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_agreement__is_the_best_f1_score_of_every_label():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 500)
    label = np.where(rng.random(500) < 0.8, (truth + 1) % 3, rng.integers(0, 4, 500))
    found = tables.agreement(label, Groups(truth, ("a", "b", "c")), 4)
    for index in range(3):
        scores = [f1_score(truth == index, label == h) for h in range(4)]
        assert found.best[index] == int(np.argmax(scores))
        assert found.f1[index] == pytest.approx(max(scores))
    assert found.mean_f1 == pytest.approx(found.f1.mean())


def test_agreement__leaves_out_rows_and_labels_that_do_not_occur():
    truth = Groups(np.array([0, 0, 2, -1]), ("a", "never", "c"))
    found = tables.agreement(np.array([0, -1, 1, 0]), truth, 2)
    assert found.names == ("a", "c")
    assert found.counts.tolist() == [[1, 0], [0, 1]]
    assert tables.agreement(np.array([-1]), Groups(np.array([0]), ("a",)), 2) is None


def test_agreement_table__gives_per_cent_of_every_label_largest_first():
    truth = Groups(np.array([0] * 2 + [1] * 8), ("few", "many"))
    found = tables.agreement(np.array([0, 0, 1, 1, 1, 1, 1, 1, 0, 0]), truth, 2)
    table = tables.agreement_table(found)
    assert table.header == ("class", "rows", "0", "1", "best component", "its F1")
    assert text_of(table) == [
        ["many", "8", "25", "75", "1", "0.857"],
        ["few", "2", "100", "·", "0", "0.667"],
    ]
    assert table.rows[0][3].shade == pytest.approx(0.75)


def test_composition_table__keeps_the_order_of_samples():
    weights = np.array([[1.0, 0.0], [0.33, 0.67], [0.0, 1.0]])
    errors = np.array([[0.0, 0.0], [0.021, 0.021], [0.0, 0.0]])
    table = tables.composition_table(("s1", "s2", "s4"), np.array([1, 3, 1]), weights, errors)
    assert text_of(table) == [
        ["s1", "1", "100.0\xa0±0.0", "·"],
        ["s2", "3", "33.0\xa0±2.1", "67.0\xa0±2.1"],
        ["s4", "1", "·", "100.0\xa0±0.0"],
    ]


def test_composition_table__is_cut_where_it_would_be_endless():
    count = tables.MOST_GROUPS + 15
    names = [f"s{i}" for i in range(count)]
    table = tables.composition_table(names, np.ones(count, int), *np.ones((2, count, 1)))
    assert len(table.rows) == tables.MOST_GROUPS
    assert f"The {tables.MOST_GROUPS} largest of {count} are shown." in table.caption


def test_level_rows__say_what_is_known_of_every_component():
    overlap = np.array([[1.0, 0.2, 0.0], [0.2, 1.0, 0.4], [0.0, 0.4, 1.0]])
    rows = ReportRows(
        values=np.zeros((3, 2)),
        label=np.array([0, 0, 1]),
        probability=np.array([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]]),
        weight=np.array([1.0, 1.0, 2.0]),
        truth=None,
        sample_id=None,
        total=3,
        left_out=0,
    )
    standardised = np.array([[2.0, -1.0, 0.0], [0.0, 0.0, 0.0]])
    profiles = tuple(FeatureProfile(name, name, *[NOTHING] * 4) for name in ("CD3", "CD4"))
    weights = np.array([0.6, 0.3, 0.1])
    found = tables.level_rows(Level("component", weights, profiles, standardised, overlap), rows)
    assert found[0] == tables.LevelRow(0, "60.0 %", "CD3 very high", "1", "0.20", "50.0 %", "0.75")
    assert (found[1].nearest, found[1].affinity, found[1].certainty) == ("2", "0.40", "0.80")
    assert found[2].certainty == ""
    one = Level("component", np.ones(1), profiles, np.zeros((2, 1)), np.eye(1))
    alone = tables.level_rows(one, None)
    assert (alone[0].nearest, alone[0].share) == ("", "")


def test_conditioning_table__names_groups_by_their_views(fitted_mixture):
    found = fitted_mixture.diagnostics_
    names = [", ".join(members) for members in found["groups"]]
    rows = dict(text_of(diagnostic_tables.conditioning_table(found["spectral"], found["groups"])))
    pairs = found["spectral"]["condition_numbers"]["pairs"]
    key = f"pair moments of {names[0]} with {names[2]}"
    assert float(rows[key]) == pytest.approx(pairs["0-2"], rel=1e-2)
    gap = found["spectral"]["spectral_gap"][1]
    assert float(rows[f"spectral gap of {names[1]}"]) == pytest.approx(gap, rel=1e-2)


def test_pass_table__shows_what_was_read():
    one = {"name": "moments", "rows": 1234567, "parts": 10, "reused_parts": 4}
    assert text_of(diagnostic_tables.pass_table([one])) == [["moments", "1,234,567", "10", "4"]]


def test_member_table__lists_components_with_their_weights():
    weights, of_component = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0, 1, 0, 1])
    table = tables.member_table(weights, of_component)
    assert [
        [cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in table.rows
    ] == [
        ["0", "65.0 %", "2", "0 (50.00), 2 (15.00)"],
        ["1", "35.0 %", "2", "1 (30.00), 3 (5.00)"],
    ]


def test_component_table__names_the_population_of_every_component():
    standardised = np.array([[2.0, -1.0]])
    table = tables.component_table(np.array([0.7, 0.3]), np.array([1, 0]), standardised, ["CD3"])
    assert text_of(table) == [
        ["0", "1", "70.0 %", "CD3 very high"],
        ["1", "0", "30.0 %", "CD3 low"],
    ]


def test_tables__speak_of_populations_where_labels_are_these():
    groups, label = Groups(np.array([0, 1]), ("a", "b")), np.array([0, 1])
    table = tables.agreement_table(tables.agreement(label, groups, 2), "population")
    assert table.header[4] == "best population"
    composition = tables.composition_table(
        ["a"], np.ones(1, int), *np.full((2, 1, 2), 0.5), "population"
    )
    assert "weights of every population" in composition.caption
    assert "estimated by maximum likelihood" in composition.caption


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
    table = diagnostic_tables.bandwidth_table({"chosen": 0.5, "factors": [0.25, 0.5], **scores})
    assert table.header[1] == header
    assert text_of(table) == [["0.25", shown[0], ""], ["0.5", shown[1], "chosen"]]


def test_landmark_table__shows_what_landmarks_leave_out():
    found = {"a": {"count": 100, "trace_error": 4.41e-5}, "b": {"count": 7, "trace_error": None}}
    table = diagnostic_tables.landmark_table(found)
    assert text_of(table) == [["a", "100", "4.4e-05"], ["b", "7", "unknown"]]
