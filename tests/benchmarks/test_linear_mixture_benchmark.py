"""Small versions of the benchmark of linear mixtures."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.figures import main as draw
from tests.benchmarks.linear_mixture.__main__ import main
from tests.benchmarks.linear_mixture.columns import column_errors
from tests.benchmarks.linear_mixture.growth import DEFAULT, ORACLE, SWEEPS

pytestmark = pytest.mark.benchmark


@pytest.mark.slow
def test_benchmark__bars_hold_at_a_small_size(tmp_path: Path) -> None:
    out = tmp_path / "linear.json"
    assert (
        main(["--models", "1", "--small", "--only", "accuracy", "labels", "--out", str(out)]) == 0
    )
    tables = json.loads(out.read_text())["tables"]
    assert all(row["holds"] for table in tables.values() for row in table["rows"])


@pytest.mark.slow
def test_benchmark__power_updates_alone_are_worse(tmp_path: Path) -> None:
    out = tmp_path / "power.json"
    main(["--models", "1", "--small", "--only", "power", "--out", str(out)])
    (table,) = json.loads(out.read_text())["tables"].values()
    assert table["rows"][0]["error ratio"] > 3


def test_column_errors__are_sines_of_matched_columns() -> None:
    truth = [np.eye(3)] * 3
    turned = np.eye(3)[:, [2, 0, 1]] * -2.0
    turned[:, 0] = [0, 0.6, 0.8]
    error, found = column_errors(truth, [turned, np.eye(3)[:, [2, 0, 1]], turned])
    assert np.isclose(error, 0.6 / 3)
    assert np.isclose(found, 2 / 3)


def test_benchmark__tensorly_is_no_more_precise(tmp_path: Path) -> None:
    pytest.importorskip("tensorly", reason="tensorly is not installed")
    out = tmp_path / "explicit.json"
    assert main(["--models", "2", "--small", "--only", "tensorly", "--out", str(out)]) == 0
    (table,) = json.loads(out.read_text())["tables"].values()
    assert table["rows"][-1]["moments found"] == "2/2"


@pytest.mark.slow
def test_benchmark__methods_have_the_same_error(tmp_path: Path) -> None:
    out = tmp_path / "methods.json"
    main(["--models", "1", "--small", "--only", "methods", "--out", str(out)])
    (table,) = json.loads(out.read_text())["tables"].values()
    (row,) = table["rows"]
    assert max(row["sample"], row["compressed"], row["explicit"]) < 1.01 * row["sample"]
    assert row["taken"] == "sample"


@pytest.mark.slow
def test_benchmark__growth_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    out = tmp_path / "growth.json"
    assert main(["--models", "1", "--small", "--only", "growth", "--out", str(out)]) == 0
    passes, rows = json.loads(out.read_text())["tables"].values()
    last = {row["method"]: row["error"] for row in passes["rows"]}
    assert last[DEFAULT] < last[SWEEPS]
    assert all(row[DEFAULT] < 1.2 * row[ORACLE] for row in rows["rows"])
    assert draw(["--from", str(out), "--out", str(tmp_path)]) == 0
    assert (tmp_path / "linear-mixture-error.svg").stat().st_size > 5000
