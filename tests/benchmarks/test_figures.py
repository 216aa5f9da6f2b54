"""The figures of the documentation, drawn from small tables."""

import json

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from tests.benchmarks.accuracy.__main__ import main as benchmark
from tests.benchmarks.accuracy.drawn import EXAMPLE, GROWTH
from tests.benchmarks.accuracy.methods import EM, SPECTRAL
from tests.benchmarks.discrete.accuracy import GROWTH as DISCRETE_GROWTH
from tests.benchmarks.discrete.methods import METHODS
from tests.benchmarks.figures import (
    DISCRETE_LINES,
    DISCRETE_NAMES,
    MARKOV_NAMES,
    NAMES,
    discrete_error_against_rows,
    error_against_rows,
    main,
    markov_error_against_triples,
    recovered_densities,
)
from tests.benchmarks.hidden_markov.growth import GROWTH as MARKOV_GROWTH
from tests.benchmarks.hidden_markov.growth import GROWTH_METHODS
from tests.benchmarks.hidden_markov.growth import SPECTRAL as SPECTRAL_ALONE
from tests.benchmarks.history_figure import history_figure
from tests.benchmarks.history_figure import main as draw_history

pytestmark = pytest.mark.benchmark


def growth_table():
    """Quartiles of two methods; the error halves from 500 to 1000 rows."""
    return [
        {"rows": rows, "of sets": name, SPECTRAL: place * 50 / rows, EM: place * 0.2}
        for rows in (500, 1000)
        for name, place in (("lower quartile", 0.9), ("median", 1.0), ("upper quartile", 1.2))
    ]


def test_error_against_rows__draws_the_medians_of_every_method():
    figure = error_against_rows({f"{GROWTH}, gamma, k = 4": {"rows": growth_table()}})
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    drawn = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    assert set(drawn) == {NAMES[SPECTRAL], NAMES[EM]}
    np.testing.assert_allclose(drawn[NAMES[SPECTRAL]], [[500, 0.1], [1000, 0.05]])
    assert axes.get_title(loc="left") == "Gaussian and Gamma components, k = 4"


def discrete_table():
    """Errors of all methods, each a tenth of what it was before."""
    return [{"rows": 10**e, **dict.fromkeys(METHODS, 10.0 ** (2 - e))} for e in (3, 4, 6)]


def test_discrete_error_against_rows__draws_a_panel_for_every_number_of_components():
    tables = {
        f"{DISCRETE_GROWTH}, k = 5": {"rows": discrete_table()},
        f"{DISCRETE_GROWTH}, k = 5: ratio of the error": {"rows": []},
        f"{DISCRETE_GROWTH}, k = 10": {"rows": discrete_table()},
    }
    panels = discrete_error_against_rows(tables).axes
    assert [axes.get_title(loc="left") for axes in panels] == ["k = 5", "k = 10"]
    lines = {line.get_label(): line.get_xydata() for line in panels[0].get_lines()}
    assert list(lines) == list(DISCRETE_NAMES.values())
    assert set(DISCRETE_LINES) == set(DISCRETE_NAMES) <= set(METHODS)
    expected = [[1e3, 0.1], [1e4, 0.01], [1e6, 1e-4]]
    np.testing.assert_allclose(lines["bigtensor"], expected)
    ticks = [label.get_text() for label in panels[0].get_xticklabels()]
    assert ticks == ["1k", "10k", "1M"]


def test_figures__need_their_tables():
    with pytest.raises(SystemExit, match="error-against-m"):
        error_against_rows({})
    with pytest.raises(SystemExit, match="recovered-densities"):
        recovered_densities({})
    with pytest.raises(SystemExit, match=f"no table '{DISCRETE_GROWTH}'"):
        discrete_error_against_rows({})
    with pytest.raises(SystemExit, match=f"no table '{MARKOV_GROWTH}'"):
        markov_error_against_triples({})


@pytest.mark.slow
def test_main__draws_what_the_benchmark_wrote(tmp_path):
    source, out = tmp_path / "drawn.json", tmp_path / "figures"
    assert benchmark(["--only", "recovered-densities", "--out", str(source)]) == 0
    contents = json.loads(source.read_text())
    curves, errors = contents["tables"].values()
    assert next(iter(contents["tables"])).startswith(EXAMPLE)
    assert [len(view["grid"]) for view in curves["curves"]] == [250] * 3
    by_method = {row["method"]: row["error"] for row in errors["rows"]}
    assert by_method[SPECTRAL] < by_method[EM]
    contents["tables"][f"{GROWTH}, gaussian, k = 4"] = {"rows": growth_table()}
    contents["tables"][f"{DISCRETE_GROWTH}, k = 5"] = {"rows": discrete_table()}
    source.write_text(json.dumps(contents))
    main(["--from", str(source), "--out", str(out)])
    assert sorted(path.name for path in out.iterdir()) == [
        "discrete-error-against-rows.svg",
        "error-against-rows.svg",
        "recovered-densities.svg",
    ]
    assert all(path.stat().st_size < 150_000 for path in out.iterdir())


def test_markov_error_against_triples__draws_every_method_a_panel_a_model():
    rows = [
        {"rows": 10**e, **dict.fromkeys(GROWTH_METHODS, 10.0 ** (2 - e)), SPECTRAL_ALONE: 1.0}
        for e in (3, 4)
    ]
    figure = markov_error_against_triples({f"{MARKOV_GROWTH}, k = 5": {"rows": rows}})
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_title(loc="left")) == ("triples", "k = 5")
    drawn = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    assert set(drawn) == set(MARKOV_NAMES.values())
    np.testing.assert_allclose(drawn["bigtensor"], [[1000, 0.1], [10_000, 0.01]])
    np.testing.assert_allclose(drawn["spectral alone"], [[1000, 1.0], [10_000, 1.0]])


def test_history__is_a_line_for_every_number_of_rows(tmp_path):
    history = tmp_path / "sizes.jsonl"
    ratios = {"ICA(4) 150": 4.0, "ICA(4) 1000": 2.0, "TopicModel(5) 150": 0.5}
    runs = [
        {"date": "2026-01-01", "ratios": ratios},
        {"date": "2026-01-02", "ratios": {**ratios, "ICA(4) 150": 8.0}},
    ]
    history.write_text("".join(json.dumps(run) + "\n" for run in runs))
    first, second = history_figure(history).axes[:2]
    assert [first.get_title(), second.get_title()] == ["ICA(4)", "TopicModel(5)"]
    by_rows = {line.get_label(): line.get_ydata() for line in first.get_lines()}
    np.testing.assert_array_equal(by_rows["150 rows"], [4.0, 8.0])
    np.testing.assert_array_equal(by_rows["1,000 rows"], [2.0, 2.0])
    assert draw_history(["--history", str(history), "--out", str(tmp_path / "drawn.svg")]) == 0
    assert "2026-01-02" in (tmp_path / "drawn.svg").read_text()
