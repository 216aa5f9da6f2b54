"""Small versions of the benchmark of discrete mixtures, and the opponents by plain formulas."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.baselines.count_em import (
    best_of_random_starts,
    expectation_maximisation,
    joint_table,
    random_factors,
)
from tests.benchmarks.baselines.row_em import row_em
from tests.benchmarks.discrete.__main__ import main
from tests.benchmarks.discrete.accuracy import add_growth, errors_of, ratio_row
from tests.benchmarks.discrete.large_alphabet import Truth, add_large_alphabet, column_error
from tests.benchmarks.discrete.methods import EM_LOOSE, EM_MAP, EM_SVD, EM_TIGHT, EX, on_simplex
from tests.benchmarks.discrete.real_data import OURS, PEER, set_rows
from tests.benchmarks.discrete.real_sets import bundled, splice
from tests.benchmarks.discrete.small_alphabets import Drawn
from tests.benchmarks.discrete.times import counted_row, read_row
from tests.benchmarks.tables import Report

pytestmark = pytest.mark.benchmark

SHARED = Path("../shared/data")


def plain_step(counts, factors, pseudo_count):
    """One EM iteration with the posterior probability of every cell and component."""
    weights, first, second, third = factors
    joint = np.einsum("r,ir,jr,lr->ijlr", weights, first, second, third)
    share = counts[..., None] * joint / joint.sum(axis=3, keepdims=True)
    sums = [share.sum(axis=axes) for axes in ((0, 1, 2), (1, 2), (0, 2), (0, 1))]
    return tuple((s + pseudo_count) / (s + pseudo_count).sum(axis=0) for s in sums)


@pytest.mark.parametrize("pseudo_count", [0.0, 0.5])
def test_count_em__is_the_plain_formula(pseudo_count):
    counts = Drawn.of(3, 400, 1).counts
    rng = np.random.default_rng(0)
    starts = [random_factors(counts.shape, 3, rng) for _ in range(3)]
    ends = expectation_maximisation(counts, starts, 1e-5, pseudo_count)
    assert len({end.iterations for end in ends}) > 1
    for start, end in zip(starts, ends, strict=True):
        factors = start
        for _ in range(end.iterations):
            factors = plain_step(counts, factors, pseudo_count)
        for found, expected in zip(end.factors, factors, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_em_of_the_map__climbs_the_posterior():
    drawn = Drawn.of(3, 200, 2)
    free = best_of_random_starts(drawn.counts, 3, 1e-7, np.random.default_rng(0))
    prior = best_of_random_starts(drawn.counts, 3, 1e-7, np.random.default_rng(0), 0.5)
    assert min(array.min() for array in free.factors) < 1e-6
    assert min(array.min() for array in prior.factors) > 1e-3
    assert drawn.error(prior.table) < drawn.error(free.table)


def test_row_em__is_em_on_the_counts():
    drawn = Drawn.of(3, 2000, 3)
    rows = drawn.rows(0).to_numpy()
    of_rows = row_em(rows, drawn.counts.shape, 3, 1e-6, np.random.default_rng(5), starts=4)
    of_counts = best_of_random_starts(drawn.counts, 3, 1e-6, np.random.default_rng(5), starts=4)
    assert of_rows.objective == pytest.approx(of_counts.objective, rel=1e-12)
    np.testing.assert_allclose(of_rows.table, of_counts.table, atol=1e-9)


def test_on_simplex__is_the_nearest_distribution():
    np.testing.assert_allclose(
        on_simplex(np.array([[0.8], [0.7], [-3.0]])), [[0.55], [0.45], [0]], atol=2e-6
    )
    inside = np.array([[0.2], [0.5], [0.3]])
    np.testing.assert_allclose(on_simplex(inside), inside)


def test_drawn__error_is_that_of_the_joint_table():
    drawn = Drawn.of(2, 100_000, 4)
    assert drawn.error(joint_table(drawn.factors)) == 0.0
    assert 0.005 < drawn.error(drawn.counts / 100_000) < 0.03
    rows, weights = drawn.distinct
    assert weights.sum() == 100_000
    assert len(rows) == len(weights) <= 4**3
    assert len(drawn.rows(0)) == 100_000


@pytest.mark.slow
def test_growth__keeps_its_bars_on_average():
    report = Report("small", {})
    add_growth(report, 3, components=(5,), rows=(500, 100_000))
    errors, ratios = (table["rows"] for table in report.tables.values())
    assert [row["rows"] for row in errors] == [500, 100_000]
    assert all(row["holds"] for row in ratios), ratios
    assert errors[1][EX] < 0.15 * errors[0][EX]


def test_ratio_row__leaves_out_models_without_an_estimate():
    errors = {
        EX: np.array([1.0, 3.0]),
        EM_LOOSE: np.array([2.0, 2.0]),
        EM_TIGHT: np.array([10.0, 10.0]),
        EM_SVD: np.array([4.0, np.nan]),
        EM_MAP: np.array([np.nan, np.nan]),
    }
    row = ratio_row(5, 4000, errors)
    assert (row[f"A: {EM_LOOSE}"], row[f"C: {EM_SVD}"], row[f"D: {EM_MAP}"]) == (1.0, 0.25, None)
    assert row["bars"] == "A <= 0.98, B <= 1, C <= 0.9"
    assert row["holds"] is False
    assert "holds" not in ratio_row(5, 10_000, errors)


@pytest.mark.slow
def test_errors__fall_with_the_rows():
    few, many = (errors_of(2, rows, 2, (EX, EM_LOOSE)) for rows in (500, 50_000))
    assert (many[EX] < few[EX]).all()


@pytest.mark.slow
def test_times__em_on_rows_takes_longer():
    row = counted_row(5, 20_000, 1)
    assert row["one by one, ridge none"] > row["ridge none"] > 0.1
    assert read_row(5, 20_000)["ridge none"] > 2.0


@pytest.mark.slow
def test_large_alphabet__is_fitted_from_a_store(tmp_path):
    report = Report("small", {})
    add_large_alphabet(report, tmp_path, rows=250_000, symbols=400, k=3, random_passes=2)
    ((_, table),) = report.tables.items()
    ours = table["rows"][0]
    assert ours["holds"], table["rows"]
    assert ours["EM passes"] == 5
    assert ours["error of the columns"] < 0.1
    truth = Truth.of(400, 3, 1).solution
    assert column_error(truth.by_weight(), truth) == 0.0


def test_real_sets__are_what_they_are_named():
    iris, wine, cancer, digits = bundled()
    assert [len(data.codes) for data in (iris, wine, cancer, digits)] == [150, 178, 569, 1797]
    assert set(iris.sizes) == {3}
    assert max(digits.sizes) == 4
    # corner pixels are always white
    assert len(digits.sizes) == 56
    gaps = wine.with_missing(0.1, 0)
    assert (gaps.codes < 0).mean() == pytest.approx(0.1, abs=0.02)
    assert np.isnan(gaps.floats(np.arange(178))).sum() == (gaps.codes < 0).sum()
    learning, judging = wine.split(0)
    assert sorted([*learning, *judging]) == list(range(178))


@pytest.mark.skipif(not (SHARED / "splice.npz").exists(), reason="splice.npz is not here")
def test_splice__has_no_ambiguous_letter():
    data = splice(SHARED)
    assert data.codes.shape == (3175, 60)
    assert set(np.unique(data.codes)) == {0, 1, 2, 3}
    assert data.class_count == 3


@pytest.mark.parametrize("gaps", [False, True])
def test_real_rows__are_as_likely_as_under_the_peer(gaps):
    pytest.importorskip("stepmix", reason="stepmix is not installed")
    wine = bundled()[1]
    data = wine.with_missing(0.1, 0) if gaps else wine
    ours, plain, peer = set_rows(data, 1, chosen=False)
    assert (ours["method"], peer["method"]) == (OURS, PEER)
    assert ours["holds"], (ours, peer)
    # the same likelihood, from other starts
    assert float(plain["learned rows"]) == pytest.approx(float(peer["learned rows"]), abs=0.05)


@pytest.mark.slow
def test_main__writes_what_it_prints(tmp_path, capsys):
    out = tmp_path / "discrete.json"
    main(["--models", "1", "--only", "sweep", "--out", str(out)])
    ((title, table),) = json.loads(out.read_text())["tables"].items()
    assert title.endswith("number of components, 4,000 rows")
    assert [row["k"] for row in table["rows"]][:-1] == [2, 4, 6, 8, 10, 12, 15]
    assert "rows miss a bar" in capsys.readouterr().out
