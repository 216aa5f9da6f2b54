"""Small versions of the benchmark of linear mixtures."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.linear_mixture.__main__ import main
from tests.benchmarks.linear_mixture.columns import column_errors

pytestmark = pytest.mark.benchmark


def test_benchmark__bars_hold_at_a_small_size(tmp_path: Path) -> None:
    out = tmp_path / "linear.json"
    assert (
        main(["--models", "1", "--small", "--only", "accuracy", "labels", "--out", str(out)]) == 0
    )
    tables = json.loads(out.read_text())["tables"]
    assert all(row["holds"] for table in tables.values() for row in table["rows"])


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
