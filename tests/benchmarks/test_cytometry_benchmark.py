"""A small run of the benchmark on real cells."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from sklearn.metrics import f1_score

from bigtensor.data.layout import SampleStoreWriter
from tests.benchmarks.baselines import flowsom_labels, flowsom_labels_of_counts
from tests.benchmarks.cytometry import Cells, import_activation, import_spleen
from tests.benchmarks.cytometry.__main__ import main
from tests.benchmarks.cytometry.cells import load_gvhd, repeat_cells
from tests.benchmarks.cytometry.duration import duration_rows
from tests.benchmarks.cytometry.gates import (
    METHODS,
    Clustering,
    clusterings,
    figure_rows,
    gate_rows,
)
from tests.benchmarks.cytometry.gvhd import SEEDED, score, summary_rows
from tests.benchmarks.cytometry.methods import (
    FLOWSOM,
    GMM_DIAGONAL,
    GMM_FULL,
    KMEANS_START,
    POPULATIONS,
    kernel_mixture_labels,
    population_labels,
)
from tests.benchmarks.matching import Match, best_f1

pytestmark = pytest.mark.benchmark

NEEDS_FLOWSOM = "FlowSOM is not installed"


@pytest.fixture(scope="module")
def activation(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Cells:
    """The first file of T-cell activation."""
    store = tmp_path_factory.mktemp("activation") / "cells.zarr"
    return import_activation(shared_data / "activation", store, 1)


def test_import_activation__keeps_the_gates(shared_data: Path, activation: Cells):
    with np.load(shared_data / "activation" / "labels.npz") as stored:
        np.testing.assert_array_equal(activation.gates, stored["Activation_1"].astype(int) - 1)
        assert activation.names == list(stored["label_names"][1:])
    assert len(activation.features) == 11
    assert not {"Time", "FSC-A", "SSC-H"} & set(activation.features)
    assert activation.values().shape == (50_000, 11)


def test_repeat_cells__has_all_features_of_all_cells_again(activation: Cells, tmp_path: Path):
    store = repeat_cells(activation, tmp_path / "repeated.zarr", 3)
    with xr.open_zarr(store) as repeated, xr.open_zarr(activation.store) as once:
        assert list(repeated["feature"].values) == list(once["feature"].values)
        np.testing.assert_array_equal(repeated["X"][-50_000:], once["X"])
        assert repeated.sizes["sample"] == 150_000


def test_load_gvhd__drops_the_unlabelled_cells(shared_data: Path):
    samples = load_gvhd(shared_data / "gvhd.npz")
    assert [sample.number for sample in samples] == list(range(1, 13))
    assert sum(len(sample.values) for sample in samples) == 207_171 - 8_575
    assert [sample.n_classes for sample in samples] == [4, 4, 4, 4, 4, 3, 5, 4, 5, 3, 3, 3]


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


def test_score__every_seeded_method_finds_the_classes_of_a_sample(shared_data: Path):
    pytest.importorskip("flowsom", reason=NEEDS_FLOWSOM)
    sample = load_gvhd(shared_data / "gvhd.npz")[9]
    scores = {name: score(method, sample, 0) for name, method in SEEDED.items()}
    assert min(scores.values()) > 0.95, scores


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
    table = figure_rows(found, held=True)
    assert [row["k"] for row in table] == ["10"] * 3 + ["auto: 3 to 5", "auto: 10", "auto: 10"]
    assert table[0]["mean F1"] == pytest.approx(0.55)
    assert (table[0]["seeds"], table[0]["lowest"]) == (2, 0.5)
    assert [row.get("holds") for row in table] == [False, None, None, True, None, None]
    assert not any("holds" in row for row in figure_rows(found, held=False))
    assert gate_rows(found, ["a", "b"])[0]["b"] == pytest.approx(0.55)


def test_population_labels__are_those_of_a_fit_with_that_number(activation: Cells, tmp_path: Path):
    cells = _first(activation, 2500, 5, tmp_path / "first.zarr")
    # one fit of 10 components for 2 and 3 populations, another one of 12 for 4
    found = {count: labels for count, _, labels in population_labels(cells, [2, 3, 4], 1)}
    assert [len(np.unique(labels)) for labels in found.values()] == [2, 3, 4]
    for count in (3, 4):
        alone = kernel_mixture_labels(cells.store, 1, n_populations=count, views=cells.views)
        np.testing.assert_array_equal(found[count], alone)
    one_cluster = np.zeros(2500, np.intp)
    assert best_f1(found[4], cells.gates) > best_f1(one_cluster, cells.gates) + 0.05


def test_flowsom_labels_of_counts__are_those_of_a_run_for_each(activation: Cells):
    pytest.importorskip("flowsom", reason=NEEDS_FLOWSOM)
    values = activation.values()[:3000]
    found = flowsom_labels_of_counts(values, [4, 12], 2)
    np.testing.assert_array_equal(found[12], flowsom_labels(values, 12, 2))
    assert len(np.unique(found[4])) == 4
    assert (found[4] != flowsom_labels(values, 4, 3)).any()


@pytest.mark.slow
def test_clusterings__every_method_finds_the_b_cells_of_a_spleen(shared_data: Path, tmp_path: Path):
    pytest.importorskip("flowsom", reason=NEEDS_FLOWSOM)
    cells = import_spleen(shared_data / "mouse_spleen", tmp_path / "cells.zarr")
    assert (cells.gates >= 0).sum() == 13_671
    found = list(clusterings(cells, [6], 1))
    table = gate_rows(found, cells.names)
    assert [row["method"] for row in table] == list(METHODS)
    assert all(row["B cells"] > 0.4 for row in table), table
    assert all(0 < row["mean F1"] <= 1 for row in figure_rows(found, held=False))


@pytest.mark.slow
def test_duration_rows__give_a_ratio(activation: Cells, tmp_path: Path):
    pytest.importorskip("flowsom", reason=NEEDS_FLOWSOM)
    (row,) = duration_rows(activation, tmp_path, [10], 2)
    assert row["rows"] == 100_000
    assert row["ratio"] == pytest.approx(row["seconds"] / row["FlowSOM s x 2"])
    assert row["mean F1"] > 0.35
    assert row["fit"] + row["label"] + row["workers"] == pytest.approx(row["seconds"])


@pytest.mark.slow
def test_main__writes_what_it_prints(shared_data: Path, tmp_path: Path, capsys):
    pytest.importorskip("flowsom", reason=NEEDS_FLOWSOM)
    out = tmp_path / "cytometry.json"
    options = ["--only", "activation", "--files", "1", "--clusters", "10", "--seeds", "1"]
    code = main(["--data", str(shared_data), *options, "--out", str(out)])
    figures, gates = json.loads(out.read_text())["tables"].values()
    assert [row["method"] for row in figures["rows"]] == [*METHODS, *METHODS]
    assert [row["k"] for row in figures["rows"]][:5] == ["10"] * 5
    assert gates["rows"][0]["CD4 T CD69-"] > 0.6
    assert gates["rows"][0]["Dead"] > 0.4
    missed = sum(row.get("holds") is False for row in figures["rows"])
    assert f"{missed} rows miss a bar" in capsys.readouterr().out
    assert code == (missed > 0)


def _first(cells: Cells, rows: int, features: int, store: Path) -> Cells:
    """Write the first cells and features to a store of their own."""
    names = cells.features[:features]
    with SampleStoreWriter(store, names, rows=rows) as writer:
        writer.append(cells.values()[:rows, :features])
    return Cells(store, names, cells.gates[:rows], cells.names)


def _clustering(asked: int | str, method: str, f1: float, clusters: int = 10) -> Clustering:
    """Return a clustering with the same F1 of two gates."""
    match = Match(np.full(2, f1), np.arange(2), np.array([5, 5]), f1)
    return Clustering(asked, clusters, method, match)
