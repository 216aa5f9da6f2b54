"""A small run of the accuracy benchmark, held to its bars."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bigtensor.data.simulate import kernel_mixture
from tests.benchmarks.accuracy import CASES, Truth, main, measure, precision_row

pytestmark = pytest.mark.benchmark

BY_NAME = {case.name.split()[0]: case for case in CASES}


def test_truth__a_perfect_estimate_has_no_error_in_any_order():
    truth = Truth.of(kernel_mixture(500, 3, "gamma", random_state=3))
    swapped = [density[:, [2, 0, 1]] for density in truth.densities]
    assert truth.error(swapped) == pytest.approx(0.0, abs=1e-12)
    assert truth.labelled_error() > 0.01


@pytest.mark.parametrize(("name", "k"), [("B1", 3), ("B2", 4), ("B3", 2)])
def test_measure__one_data_set_keeps_its_bars(name: str, k: int):
    spectral, kmeans = measure(replace(BY_NAME[name], components=(k,)), sets=1)
    assert (spectral["fit"], kmeans["fit"]) == ("spectral", "kmeans")
    assert spectral["holds"], spectral
    # with little overlap the start does not matter
    assert kmeans["error"] == pytest.approx(spectral["error"], rel=0.05)


def test_measure__under_overlap_one_pass_after_kmeans_is_not_enough():
    spectral, _, kmeans_once = measure(BY_NAME["B4"], sets=1)
    assert spectral["holds"], spectral
    assert kmeans_once["holds"], kmeans_once


def test_measure__more_passes_do_not_break_a_fit_of_few_rows():
    rows = measure(BY_NAME["B5"], sets=2)
    assert [row["holds"] for row in rows[:2]] == [True, True], rows
    assert all(row["largest x labelled"] >= row["x labelled"] for row in rows)


def test_precision_row__float32_features_give_the_same_moments():
    row = precision_row(10_000)
    assert row["directions"] == 12
    assert 0 < row["relative difference"] <= 1e-6


def test_main__writes_what_it_prints(tmp_path, capsys):
    out = tmp_path / "accuracy.json"
    assert main(["--sets", "1", "--only", "B4", "--out", str(out)]) == 0
    (table,) = json.loads(out.read_text())["tables"].values()
    assert [row["fit"] for row in table["rows"]] == ["spectral", "kmeans", "kmeans, 1 pass"]
    assert all(np.isfinite(row["error"]) for row in table["rows"])
    assert "0 rows miss a bar" in capsys.readouterr().out
