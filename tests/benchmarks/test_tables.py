"""The report of a benchmark."""

import json

import numpy as np

from tests.benchmarks.tables import Report, aligned, bars


def test_aligned__has_a_column_for_every_key_and_a_dash_for_missing_values():
    lines = aligned([{"k": 2, "ratio": 1.23456}, {"k": 10_000, "holds": False}]).splitlines()
    assert [line.split() for line in lines] == [
        ["k", "ratio", "holds"],
        ["2", "1.23", "-"],
        ["10,000", "-", "NO"],
    ]
    assert len({len(line) for line in lines}) == 1


def test_report__writes_every_table_and_names_what_is_missed(tmp_path, capsys):
    out = tmp_path / "figures.json"
    report = Report("speed", {"rows": 7}, out)
    report.add("first", [{"ratio": np.float64(0.5), "holds": np.bool_(True)}], ["a note"])
    report.add("second", [{"ratio": 3.0, "holds": False}, {"ratio": 4.0, "holds": None}])
    stored = json.loads(out.read_text())
    assert list(stored["tables"]) == ["first", "second"]
    assert stored["tables"]["first"] == {
        "rows": [{"ratio": 0.5, "holds": True}],
        "notes": ["a note"],
    }
    assert stored["settings"] == {"rows": 7}
    assert [row["ratio"] for row in report.missed] == [3.0]
    assert "a note" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [out]


def test_bars__all_have_to_hold():
    assert bars({}) == {}
    assert bars({"a": True, "b": False}) == {"bars": "a, b", "holds": False}
    assert bars({"a": True})["holds"]
