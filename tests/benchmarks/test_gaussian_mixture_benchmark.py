"""Small version of the benchmark of Gaussian mixtures."""

import json
from pathlib import Path

import pytest

from tests.benchmarks.gaussian_mixture import real_sets
from tests.benchmarks.gaussian_mixture.__main__ import main

pytestmark = pytest.mark.benchmark


@pytest.mark.slow
def test_benchmark__finds_all_components_where_scikit_learn_does_not(tmp_path: Path) -> None:
    out = tmp_path / "gaussian.json"
    main(["--models", "2", "--small", "--out", str(out)])
    (table,) = json.loads(out.read_text())["tables"].values()
    assert all(row["error holds"] for row in table["rows"])


@pytest.mark.slow
def test_real_sets__are_compared(tmp_path: Path) -> None:
    out = tmp_path / "real.json"
    real_sets.main([str(tmp_path), "--seeds", "1", "--out", str(out)])
    spherical, tied = json.loads(out.read_text())["tables"].values()
    assert len(spherical["rows"]) == 2 * len(real_sets.BUNDLED) + 2
    assert [row["set"] for row in tied["rows"][:2]] == ["digits", "digits, standardised"]
    for table in (spherical, tied):
        for row in table["rows"][-2:]:
            assert row["ours"] > row["scikit-learn x1"] - 0.1
