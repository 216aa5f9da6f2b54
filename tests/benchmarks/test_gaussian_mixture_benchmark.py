"""Small version of the benchmark of Gaussian mixtures."""

import json
from pathlib import Path

import pytest

from tests.benchmarks.gaussian_mixture.__main__ import main

pytestmark = pytest.mark.benchmark


def test_benchmark__finds_all_components_where_scikit_learn_does_not(tmp_path: Path) -> None:
    out = tmp_path / "gaussian.json"
    main(["--models", "2", "--small", "--out", str(out)])
    (table,) = json.loads(out.read_text())["tables"].values()
    assert all(row["error holds"] for row in table["rows"])
