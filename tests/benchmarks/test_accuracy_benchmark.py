"""A small run of the accuracy benchmark, held to its bars."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from bigtensor.data.simulate import kernel_mixture
from tests.benchmarks.accuracy.__main__ import main
from tests.benchmarks.accuracy.cases import CASES, Bar
from tests.benchmarks.accuracy.drawn import growth_rows
from tests.benchmarks.accuracy.methods import (
    BASELINES,
    EM,
    KMEANS,
    KMEANS_ONCE,
    LABELLED,
    METHODS,
    NPEM,
    SPECTRAL,
    SPECTRAL_SIX,
    SPHERICAL,
)
from tests.benchmarks.accuracy.moments_pass import precision_row, rate_row
from tests.benchmarks.accuracy.rows import error_rows, failure_notes, measure, ratio_rows
from tests.benchmarks.accuracy.truth import Truth

pytestmark = pytest.mark.benchmark

BY_NAME = {case.key: case for case in CASES}


def test_truth__a_perfect_estimate_has_no_error_in_any_order():
    truth = Truth.of(kernel_mixture(500, 3, "gamma", random_state=3))
    swapped = [density[:, [2, 0, 1]] for density in truth.densities]
    assert truth.error(swapped) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(truth.in_true_order(swapped), truth.densities)


@pytest.mark.slow
def test_methods__all_estimate_densities_of_mass_one():
    truth = Truth.of(kernel_mixture(1500, 3, random_state=3))
    for name, estimate in METHODS.items():
        densities = estimate(truth)
        assert densities is not None, name
        masses = [
            np.trapezoid(density, grid, axis=0)
            for density, grid in zip(densities, truth.grids, strict=True)
        ]
        # a poor estimate may reach beyond the grid
        np.testing.assert_allclose(masses, 1.0, atol=0.3 if name == SPHERICAL else 0.03)
        assert truth.error(densities) > 0.001, name
    assert METHODS[SPHERICAL](Truth.of(kernel_mixture(500, 4))) is None


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k"), [("B1", 3), ("B2", 4), ("B3", 2)])
def test_measure__one_data_set_keeps_its_bars(name: str, k: int):
    case = BY_NAME[name]
    errors = measure(case, k, 1, (SPECTRAL, KMEANS, LABELLED, EM, NPEM))
    spectral, kmeans = ratio_rows(k, errors, case.bars)
    assert (spectral["method"], kmeans["method"]) == (SPECTRAL, KMEANS)
    assert spectral["holds"], spectral
    assert kmeans["holds"] is None
    # with little overlap the start does not matter, and both end where npEM does
    assert errors[KMEANS] == pytest.approx(errors[SPECTRAL], rel=0.05)
    assert errors[NPEM] == pytest.approx(errors[SPECTRAL], rel=0.05)


@pytest.mark.slow
def test_measure__under_overlap_one_pass_after_kmeans_is_not_enough():
    case = BY_NAME["B4"]
    errors = measure(case, 4, 1, (SPECTRAL, KMEANS_ONCE, LABELLED))
    rows = ratio_rows(4, errors, case.bars)
    assert [(row["method"], row["holds"]) for row in rows] == [
        (SPECTRAL, True),
        (KMEANS_ONCE, True),
    ]


@pytest.mark.slow  # the whole benchmark runs quickly below
def test_measure__more_passes_do_not_break_a_fit_of_few_rows():
    case = BY_NAME["B5"]
    rows = ratio_rows(8, measure(case, 8, 2, (SPECTRAL, SPECTRAL_SIX, LABELLED)), case.bars)
    assert [row["holds"] for row in rows] == [True, True], rows
    assert all(row["largest x labelled KDE"] >= row["x labelled KDE"] for row in rows)


def test_data_sets__have_the_seeds_of_their_case():
    small = [replace(case, rows=10) for case in CASES]
    seeds = {
        case.name: [truth.data.attrs["random_state"] for truth in case.data_sets(4, 3)]
        for case in small
    }
    assert [seeds[BY_NAME[key].name] for key in ("B1", "B4", "B5")] == [
        [4, 1004, 2004],
        [4, 104, 204],
        [4, 81, 158],
    ]
    assert all(seeds[name] == [11, 1011, 2011] for name in seeds if name.startswith("B6"))


def test_rows__count_only_the_data_sets_with_an_estimate():
    errors = {SPECTRAL: np.array([1.0, 2.0, 6.0]), SPHERICAL: np.array([np.nan, 5.0, np.nan])}
    mean, median = error_rows(2, errors)
    assert (mean[SPECTRAL], median[SPECTRAL]) == (3.0, 2.0)
    assert (mean[SPHERICAL], median[SPHERICAL]) == (5.0, 5.0)
    (note,) = failure_notes(2, errors)
    assert re.match("k=2: Hsu-Kakade .* 2 of 3 ", note)
    (none, _) = error_rows(4, {SPHERICAL: np.full(3, np.nan)})
    assert none[SPHERICAL] is None


def test_ratio_rows__hold_a_bar_to_the_figure_that_it_names():
    errors = {SPECTRAL: np.array([1.0, 1.0, 4.0]), LABELLED: np.array([1.0, 2.0, 1.0])}
    mean, largest = Bar(SPECTRAL, LABELLED, 2.0), Bar(SPECTRAL, LABELLED, 2.0, "largest")
    (row,) = ratio_rows(2, errors, (mean,))
    assert (row["x labelled KDE"], row["largest x labelled KDE"]) == (pytest.approx(5.5 / 3), 4.0)
    assert row["holds"] is True
    (row,) = ratio_rows(2, errors, (mean, largest))
    assert row["holds"] is False
    assert row["bars"].split(", ") == ["mean x labelled KDE <= 2", "largest x labelled KDE <= 2"]
    # a bar against a method that was not run says nothing
    assert ratio_rows(2, errors, (Bar(SPECTRAL, EM, 0.1),))[0]["holds"] is None
    assert ratio_rows(2, {SPECTRAL: errors[SPECTRAL]}, (mean,)) == []


def test_precision_row__float32_features_give_the_same_moments():
    row = precision_row(10_000)
    assert row["directions"] == 12
    assert 0 < row["relative difference"] <= 1e-6


@pytest.mark.slow  # the whole benchmark runs quickly
def test_rate_row__is_a_share():
    row = rate_row(20_000, repeats=1)
    # how busy the machine is decides about the bar
    assert 0.02 < row["share of GEMM rate"] < 1


@pytest.mark.slow
def test_growth_rows__errors_fall():
    rows = list(growth_rows("gamma", (500, 5000), 2, (SPECTRAL, EM)))
    assert [(row["rows"], row["of sets"]) for row in rows[::3]] == [
        (500, "lower quartile"),
        (5000, "lower quartile"),
    ]
    few, many = rows[1], rows[4]
    assert many[SPECTRAL] < few[SPECTRAL]
    assert many[SPECTRAL] < many[EM]
    assert rows[0][SPECTRAL] <= few[SPECTRAL] <= rows[2][SPECTRAL]


def test_main__writes_what_it_prints(tmp_path, capsys):
    out = tmp_path / "accuracy.json"
    assert main(["--sets", "1", "--only", "B5", "--out", str(out)]) == 0
    errors, ratios = json.loads(out.read_text())["tables"].values()
    assert [row["of sets"] for row in errors["rows"]] == ["mean", "median"]
    assert set(BASELINES) < set(errors["rows"][0])
    assert [row["method"] for row in ratios["rows"]] == [SPECTRAL, KMEANS, SPECTRAL_SIX]
    assert all(np.isfinite(row["x EM-GMM"]) for row in ratios["rows"])
    assert "0 rows miss a bar" in capsys.readouterr().out
