import numpy as np
import pytest
from sklearn.metrics import f1_score

from bigtensor.models.words.label_level import LabelLevel
from bigtensor.models.words.report_blocks import Column
from bigtensor.models.words.sampled_rows import Groups, LabelledRows
from bigtensor.report import tables


def text_of(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_agreement__is_the_best_f1_score_of_every_label():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 500)
    label = np.where(rng.random(500) < 0.8, (truth + 1) % 3, rng.integers(0, 4, 500))
    found = tables.agreement(label, Groups(truth, ("a", "b", "c")), 4)
    for index in range(3):
        scores = [f1_score(truth == index, label == h) for h in range(4)]
        assert found.matched[index] == int(np.argmax(scores))
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


def test_level_table__says_what_is_known_of_every_component():
    rows = LabelledRows(
        values=np.zeros((3, 2)),
        label=np.array([0, 0, 1]),
        probability=np.array([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]]),
        weight=np.array([1.0, 1.0, 2.0]),
        truth=None,
        sample_id=None,
        total=3,
        left_out=0,
    )
    weights = np.array([0.6, 0.3, 0.1])
    level = LabelLevel("component", weights, weights)
    named = Column("features", ("CD3 high", "CD3 low", ""), wide=True)
    table = tables.level_table(level, rows, [named])
    assert table.header == ("component", "weight", "labelled", "certainty")
    assert text_of(table) == [
        ["0", "60.0 %", "50.0 %", "0.75"],
        ["1", "30.0 %", "50.0 %", "0.80"],
        ["2", "10.0 %", "0 %", ""],
    ]
    assert [row[0].colour for row in table.rows] == [0, 1, 2]
    assert [row[0].below for row in table.rows] == ["CD3 high", "CD3 low", ""]
    assert tables.level_table(level, None).header == ("component", "weight")


def test_pass_table__shows_what_was_read():
    one = {"name": "moments", "rows": 1234567, "parts": 10, "reused_parts": 4}
    assert text_of(tables.pass_table([one])) == [["moments", "1,234,567", "10", "4"]]


def test_pass_table__has_one_line_for_iterations_of_one_name():
    names = ["triples", *(f"messages {n}" for n in (1, 2, 1)), "expectation 1", "expectation 2"]
    passes = [{"name": name, "rows": 900, "parts": 2, "reused_parts": 1} for name in names]
    assert text_of(tables.pass_table(passes)) == [
        ["triples", "900", "2", "1"],
        ["messages 3 times", "900", "2", "3"],
        ["expectation 1 to 2", "900", "2", "2"],
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
