"""Small version of the benchmark of hidden Markov models, and the reference by a plain formula."""

import json
from itertools import product

import numpy as np
import pytest

from tests.benchmarks.baselines.markov_em import (
    best_of_random_starts,
    expectation_maximisation,
    random_parameters,
    triple_table,
)
from tests.benchmarks.figures import markov_error_against_triples, save
from tests.benchmarks.hidden_markov.__main__ import PARTS, main
from tests.benchmarks.hidden_markov.accuracy import add_accuracy, ratio_row
from tests.benchmarks.hidden_markov.classification import (
    MarkovChains,
    RawHistograms,
    add_classification,
)
from tests.benchmarks.hidden_markov.densities import add_densities
from tests.benchmarks.hidden_markov.growth import GROWTH, SPECTRAL, add_growth
from tests.benchmarks.hidden_markov.state_choice import add_state_choice
from tests.benchmarks.hidden_markov.times import add_times
from tests.benchmarks.hidden_markov.triples import METHODS, OURS, Drawn
from tests.benchmarks.tables import Report

pytestmark = pytest.mark.benchmark


def plain_step(counts, parameters, pseudo_count):
    """One EM iteration, path by path."""
    start, transitions, emissions = parameters
    k = len(start)
    sums = np.zeros(k), np.zeros((k, k)), np.zeros(emissions.shape)
    table = triple_table(parameters)
    for symbols in np.argwhere(counts > 0):
        for path in product(range(k), repeat=3):
            p = start[path[0]] * transitions[path[0], path[1]] * transitions[path[1], path[2]]
            p *= np.prod(emissions[list(path), symbols])
            share = counts[tuple(symbols)] * p / table[tuple(symbols)]
            sums[0][path[0]] += share
            np.add.at(sums[1], (list(path[:2]), list(path[1:])), share)
            np.add.at(sums[2], (list(path), symbols), share)
    added = [array + pseudo_count for array in sums]
    return tuple(array / array.sum(axis=-1, keepdims=True) for array in added)


@pytest.mark.parametrize("pseudo_count", [0.0, 0.5])
def test_markov_em__is_the_plain_formula(pseudo_count):
    counts = Drawn.of(2, 100, 1).counts
    rng = np.random.default_rng(0)
    starts = [random_parameters(4, 2, rng) for _ in range(3)]
    ends = expectation_maximisation(counts, starts, 1e-4, pseudo_count)
    assert len({end.iterations for end in ends}) > 1
    for start, end in zip(starts, ends, strict=True):
        parameters = start
        for _ in range(end.iterations):
            parameters = plain_step(counts, parameters, pseudo_count)
        for found, expected in zip(end.parameters, parameters, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_drawn__is_judged_on_triples_of_the_truth():
    drawn = Drawn.of(3, 1_000_000, 4)
    assert drawn.error(drawn.truth) == 0
    shares = triple_table(drawn.truth)[tuple(drawn.judged.T)]
    assert shares.mean() == pytest.approx((triple_table(drawn.truth) ** 2).sum(), rel=0.1)
    found = best_of_random_starts(drawn.counts, 3, 1e-7, np.random.default_rng(0))
    assert drawn.error(found.parameters) < 0.02


@pytest.mark.slow
def test_accuracy__keeps_its_bars_on_average():
    report = Report("small", {})
    add_accuracy(report, 3, rows={5: (500, 100_000)})
    errors, ratios, seconds = (table["rows"] for table in report.tables.values())
    assert all(row["holds"] for row in ratios), ratios
    assert errors[1][OURS] < 0.2 * errors[0][OURS]
    assert set(METHODS) < set(seconds[0])


def test_ratio_row__names_the_bars_that_belong_to_its_rows():
    errors = {name: np.array([0.7, 0.9]) for name in METHODS} | {OURS: np.array([0.6, 0.8])}
    few, many = ratio_row(9999, errors), ratio_row(10_000, errors)
    assert few["F: EM(10) 1e-4"] == pytest.approx(0.875)
    assert (few["bars"], few["holds"]) == ("F <= 1, F2 <= 1.15", True)
    assert (many["bars"], many["holds"]) == ("F <= 0.6, F2 <= 1.15", False)


def test_peers__learn_what_their_models_say():
    """Classes that differ in the second letter after a letter, and in nothing of shorter range."""
    rng = np.random.default_rng(0)
    codes, classes = rng.integers(0, 4, (400, 60)), np.arange(400) % 2
    for step in range(2, 60):
        copied = (classes == 1) & (rng.random(400) < 0.5)
        codes[copied, step] = codes[copied, step - 2]
    learning, judging = slice(0, 300), slice(300, 400)
    accuracy = {}
    for name, model in {
        "order 1": MarkovChains(1),
        "order 2": MarkovChains(2),
        "raw": RawHistograms(),
    }.items():
        fitted = model.fit(codes[learning], classes[learning])
        accuracy[name] = np.mean(fitted.predict(codes[judging]) == classes[judging])
    assert accuracy["order 2"] > 0.9
    assert accuracy["raw"] > 0.7
    assert accuracy["order 1"] < 0.7


@pytest.mark.slow
def test_main__writes_all_tables(tmp_path, monkeypatch):
    monkeypatch.setitem(
        PARTS, "accuracy", lambda report, asked: add_accuracy(report, asked.models, {2: (50,)})
    )
    monkeypatch.setitem(PARTS, "times", lambda report, _: add_times(report, 2000, 2))
    monkeypatch.setitem(
        PARTS,
        "densities",
        lambda report, _: add_densities(report, 1, first_seed=5, rows=5000, starts=1),
    )
    monkeypatch.setitem(
        PARTS, "classification", lambda report, _: add_classification(report, 2, tmp_path)
    )
    monkeypatch.setitem(
        PARTS, "states", lambda report, asked: add_state_choice(report, asked.models, {2: (500,)})
    )
    monkeypatch.setitem(
        PARTS, "growth", lambda report, asked: add_growth(report, asked.models, {2: (50, 100)})
    )
    out, figure = tmp_path / "out.json", tmp_path / "errors.svg"
    code = main(["--models", "1", "--out", str(out), "--figure", str(figure)])
    assert figure.read_text().startswith("<?xml")
    written = json.loads(out.read_text())
    assert code in (0, 1)
    assert written["settings"]["models"] == 1
    assert len(written["tables"]) == 9


def test_main__draws_no_figure_of_another_table(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--only", "times", "--figure", str(tmp_path / "errors.svg")])
    assert "--figure draws the table growth" in capsys.readouterr().err


@pytest.mark.slow
def test_growth__the_descent_and_iterations_improve_the_spectral_step(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    report = Report("hidden_markov", {})
    add_growth(report, 2, {3: (2000, 50_000)})
    rows = report.tables[f"{GROWTH}, k = 3"]["rows"]
    assert [row["rows"] for row in rows] == [2000, 50_000]
    for row in rows:
        assert 0 < row[OURS] < row[SPECTRAL]
    assert rows[1][OURS] < rows[0][OURS]
    save(markov_error_against_triples(report.tables), tmp_path / "errors.svg")
    assert (tmp_path / "errors.svg").read_text().count("<path") > 10
