"""Rows of the cytometry benchmark and their bars, from figures by hand."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from tests.benchmarks.calibration import Reliability
from tests.benchmarks.cytometry.cuts import cut_rows
from tests.benchmarks.cytometry.gates import PEERS, Bars, Clustering, figure_rows, gate_rows
from tests.benchmarks.cytometry.gvhd import summary_rows
from tests.benchmarks.cytometry.methods import (
    FLOWSOM,
    GMM_DIAGONAL,
    GMM_FULL,
    KMEANS_START,
    POPULATIONS,
)
from tests.benchmarks.cytometry.simulated import simulated_row
from tests.benchmarks.cytometry.weights import weight_row
from tests.benchmarks.matching import Match, best_f1


def test_best_f1__is_the_best_of_all_clusters_by_sklearn():
    rng = np.random.default_rng(4)
    populations = rng.integers(0, 4, 400)
    clusters = np.where(rng.random(400) < 0.6, populations // 2, rng.integers(0, 6, 400))
    expected = sum(
        np.mean(populations == one)
        * max(f1_score(populations == one, clusters == other) for other in range(6))
        for one in range(4)
    )
    assert best_f1(clusters, populations) == pytest.approx(expected, abs=1e-12)
    unknown = np.append(populations, [-1, -1]), np.append(clusters, [0, 1])
    assert best_f1(unknown[1], unknown[0]) == pytest.approx(expected, abs=1e-12)
    assert best_f1(np.full(400, -1), populations) == 0


def test_summary_rows__hold_both_bars():
    scores = {
        KMEANS_START: np.full((12, 2), 0.92),
        FLOWSOM: np.array([[0.8, 1.0]] * 12),
        GMM_DIAGONAL: np.repeat([[0.92], [0.93]], [10, 2], axis=0),
    }
    mean, spread, not_worse = summary_rows(scores)
    assert (mean[KMEANS_START], mean["holds"]) == (pytest.approx(0.92), True)
    assert spread[FLOWSOM] == pytest.approx(0.1)
    assert (not_worse[KMEANS_START], not_worse["holds"]) == (10, True)
    scores[KMEANS_START] = np.full((12, 2), 0.909)
    mean, _, not_worse = summary_rows(scores)
    assert (mean["holds"], not_worse[KMEANS_START], not_worse["holds"]) == (False, 0, False)


def test_figure_rows__hold_the_populations_to_the_better_peer():
    found = [
        _clustering(10, POPULATIONS, 0.6),
        _clustering(10, POPULATIONS, 0.5),
        _clustering(10, FLOWSOM, 0.4),
        _clustering(10, GMM_FULL, 0.56),
        _clustering("auto", POPULATIONS, 0.3, clusters=3),
        _clustering("auto", POPULATIONS, 0.3, clusters=5),
        _clustering("auto", FLOWSOM, 0.3),
        _clustering("auto", GMM_FULL, 0.1),
    ]
    table = figure_rows(found, Bars(peers=PEERS), 10_000)
    assert [row["k"] for row in table] == ["10"] * 3 + ["auto: 3 to 5", "auto: 10", "auto: 10"]
    assert table[0]["mean F1"] == pytest.approx(0.55)
    assert (table[0]["seeds"], table[0]["lowest"]) == (2, 0.5)
    assert [row.get("holds") for row in table] == [False, None, None, True, None, None]
    assert not any("holds" in row for row in figure_rows(found, Bars(), 10_000))
    assert gate_rows(found, ["a", "b"])[0]["b"] == pytest.approx(0.55)


def test_figure_rows__hold_some_numbers_to_some_peers_and_to_figures():
    found = [
        _clustering(6, POPULATIONS, 0.5),
        _clustering(6, FLOWSOM, 0.4),
        _clustering(6, GMM_FULL, 0.6),
        _clustering("auto", POPULATIONS, 0.3),
        _clustering("auto", FLOWSOM, 0.4),
    ]
    of_peer = figure_rows(found, Bars(peers=(FLOWSOM,), compared=(6,)), 10)
    assert [row["bars"] for row in of_peer if "holds" in row] == ["mean F1 >= 0.400"]
    of_figure = figure_rows(found, Bars(least={6: 0.5, "auto": 0.31}), 10)
    assert [row["holds"] for row in of_figure if "holds" in row] == [True, False]


def test_figure_rows__hold_many_cells_to_a_spread_over_seeds():
    near = [_clustering(10, POPULATIONS, f1) for f1 in (0.5, 0.52, 0.529)]
    (row,) = figure_rows(near, Bars(), 10_001)
    assert (row["spread"], row["holds"]) == (pytest.approx(0.029), True)
    (row,) = figure_rows([*near, _clustering(10, POPULATIONS, 0.54)], Bars(), 10_001)
    assert not row["holds"]
    assert "holds" not in figure_rows(near[:1], Bars(), 10_001)[0]


def test_cut_rows__hold_the_chosen_number_to_the_best_mean():
    scores = [{4: 0.5, 5: 0.2}, {4: 0.3, 5: 0.5}]
    *cuts, chosen = cut_rows(scores, 0.381)
    assert [row["mean F1"] for row in cuts] == pytest.approx([0.4, 0.35])
    assert chosen["holds"]
    assert not cut_rows(scores, 0.379)[-1]["holds"]


def test_simulated_row__counts_found_populations_and_clusters_of_outliers():
    truth = np.repeat([*range(10), -1], [*[4] * 10, 3])
    labels = np.repeat(np.arange(11), [*[4] * 10, 3])
    curve = Reliability.of_classes(np.ones((2, 1)), np.zeros(2, int))
    row = simulated_row(0, 10, POPULATIONS, labels, truth, curve)
    assert (row["found"], row["of outliers"], row["holds"]) == (10, 1, False)
    assert simulated_row(0, 10, POPULATIONS, labels.clip(0, 9), truth, curve)["holds"]
    assert simulated_row(0, "auto", POPULATIONS, labels.clip(0, 8), truth, curve)["holds"]
    assert not simulated_row(0, "auto", POPULATIONS, labels.clip(0, 7), truth, curve)["holds"]
    assert "holds" not in simulated_row(0, 10, GMM_FULL, labels, truth, curve)


def test_weight_row__holds_estimated_weights_to_counted_labels():
    assert weight_row([(0.1, 0.2), (0.3, 0.2)], k="4")["holds"]
    assert not weight_row([(0.1, 0.2), (0.32, 0.2)])["holds"]


def _clustering(asked: int | str, method: str, f1: float, clusters: int = 10) -> Clustering:
    """Return a clustering with the same F1 of two gates."""
    match = Match(np.full(2, f1), np.arange(2), np.array([5, 5]), f1)
    return Clustering(asked, clusters, method, match)
