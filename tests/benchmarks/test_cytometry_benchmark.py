"""A small run of the benchmark on real cells."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from bigtensor.data.stores.layout import SampleStoreWriter
from tests.benchmarks.baselines import flowsom_labels, flowsom_labels_of_counts
from tests.benchmarks.cytometry import Cells, import_activation, import_spleen
from tests.benchmarks.cytometry.__main__ import HIPC_BARS, main
from tests.benchmarks.cytometry.cells import Sample, import_hipc, load_gvhd, repeat_cells
from tests.benchmarks.cytometry.cuts import cut_scores
from tests.benchmarks.cytometry.duration import duration_rows
from tests.benchmarks.cytometry.experiment import measure, reliabilities
from tests.benchmarks.cytometry.first_calls import first_call_row, stability_rows
from tests.benchmarks.cytometry.fits import Fits
from tests.benchmarks.cytometry.gates import (
    METHODS,
    Bars,
    clusterings,
    figure_rows,
    gate_rows,
)
from tests.benchmarks.cytometry.gvhd import AUTOMATIC, SEEDED, score
from tests.benchmarks.cytometry.gvhd_probabilities import add_gvhd_probabilities
from tests.benchmarks.cytometry.methods import (
    GMM_FULL,
    KMEANS_START,
    POPULATIONS,
    kernel_mixture_labels,
)
from tests.benchmarks.cytometry.oracle import LabelledRows, oracle_labels, oracle_row
from tests.benchmarks.cytometry.reliability import calibration_rows
from tests.benchmarks.cytometry.sklearn_sets import LOADERS
from tests.benchmarks.cytometry.weights import distances, tilted
from tests.benchmarks.matching import best_f1, match_clusters
from tests.benchmarks.tables import Report

pytestmark = pytest.mark.benchmark

NEEDS_FLOWSOM = "FlowSOM is not installed"


@pytest.fixture(scope="module")
def activation(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Cells:
    """The first file of T-cell activation."""
    store = tmp_path_factory.mktemp("activation") / "cells.zarr"
    return import_activation(shared_data / "activation", store, 1)


@pytest.fixture(scope="module")
def fits(activation: Cells, tmp_path_factory: pytest.TempPathFactory) -> Fits:
    """Fits of the first cells and five features."""
    store = tmp_path_factory.mktemp("first") / "cells.zarr"
    return Fits(_first(activation, 2500, 5, store), 1)


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


def test_score__every_seeded_method_finds_the_classes_of_a_sample(shared_data: Path):
    pytest.importorskip("flowsom", reason=NEEDS_FLOWSOM)
    sample = load_gvhd(shared_data / "gvhd.npz")[9]
    # populations of a chosen number are not told how many classes there are, and split some
    told = {name: method for name, method in SEEDED.items() if name != AUTOMATIC}
    scores = {name: score(method, sample, 0) for name, method in told.items()}
    # groups of views decide how well moments separate these classes: .96 and .77 in two orders
    assert scores.pop("bigtensor, spectral") > 0.7
    assert min(scores.values()) > 0.95, scores


@pytest.mark.slow
def test_fits__populations_are_those_of_a_fit_with_that_number(fits: Fits):
    cells = fits.cells
    # one fit of 50 components serves all numbers
    found = {count: np.asarray(fits.populations(count).predict(cells.store)) for count in (2, 3, 4)}
    assert [len(np.unique(labels)) for labels in found.values()] == [2, 3, 4]
    for count in (3, 4):
        alone = kernel_mixture_labels(
            cells.store, fits.seed, n_populations=count, views=cells.views
        )
        np.testing.assert_array_equal(found[count], alone)
    one_cluster = np.zeros(2500, np.intp)
    assert best_f1(found[4], cells.gates) > best_f1(one_cluster, cells.gates) + 0.05


def test_cut_scores__are_those_of_predicted_populations(fits: Fits):
    scores = cut_scores(fits.populations("auto"), fits.cells)
    assert list(scores) == list(range(4, 31))
    for count in (4, 11, 30):
        labels = np.asarray(fits.populations(count).predict(fits.cells.store))
        score = match_clusters(labels, fits.cells.gates).mean_f1
        # sums of float32 probabilities may give a cell between two populations to the other one
        assert scores[count] == pytest.approx(score, abs=0.002)


def test_reliabilities__are_of_the_gated_cells(fits: Fits):
    curves = reliabilities(fits, {4: 4})
    assert list(curves) == [(4, POPULATIONS), (4, GMM_FULL)]
    gated = int((fits.cells.gates >= 0).sum())
    assert all(curve.rows.sum() == gated for curve in curves.values())
    labels = np.asarray(fits.populations(4).predict(fits.cells.gated_values()))
    classes = fits.cells.gated_classes
    right = sum(np.bincount(classes[labels == one]).max() for one in np.unique(labels))
    assert curves[4, POPULATIONS].right.sum() >= right
    table = calibration_rows({name: [curve] for name, curve in curves.items()}, 1.0)
    assert [row.get("holds") for row in table] == [True, None]
    assert table[0]["calibration error"] < table[1]["calibration error"] + 0.2


def test_distances__of_gated_shares_and_of_parts(fits: Fits):
    values, classes = fits.cells.gated_values(), fits.cells.gated_classes
    model = fits.populations(11)
    parts = tilted(classes, 3, np.random.default_rng(0))
    ours, counted = distances(model, values, classes, parts, np.asarray(model.predict(values)))
    assert 0 < ours < 0.5
    assert ours == pytest.approx(counted, abs=0.1)


@pytest.mark.slow
def test_gvhd_probabilities__are_measured_for_every_model(shared_data: Path, capsys):
    whole = load_gvhd(shared_data / "gvhd.npz")[9]
    sample = Sample(whole.number, whole.values[::8], whole.classes[::8])
    report = Report("cytometry", {})
    add_gvhd_probabilities(report, [sample], 1)
    errors, curve, weights = (table["rows"] for table in report.tables.values())
    assert [row["method"] for row in errors] == [POPULATIONS, POPULATIONS, KMEANS_START, GMM_FULL]
    assert all(row["calibration error"] < 0.05 for row in errors)
    cells = sum(row[f"{POPULATIONS}: rows"] for row in curve)
    assert cells == len(sample.values)
    assert score(SEEDED[AUTOMATIC], sample, 0) > 0.8
    assert len(weights) == 6
    assert all(row["weights_by"] < 0.1 for row in weights)


@pytest.mark.slow
def test_main__measures_the_sets_that_nothing_was_tuned_on(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for slow in ("breast cancer", "digits"):
        monkeypatch.delitem(LOADERS, slow)
    out = tmp_path / "cytometry.json"
    options = ["--only", "mfeat", "sklearn", "simulated", "--seeds", "1", "--rows", "200"]
    sizes = ["--cells", "5000", "--outliers", "3"]
    main(["--data", str(shared_data), *options, *sizes, "--out", str(out)])
    stored = json.loads(out.read_text())
    assert (stored["settings"]["rows"], stored["settings"]["cells"]) == (200, 5000)
    digits, sets, simulated, curve = (table["rows"] for table in stored["tables"].values())
    assert digits[0]["accuracy"] > 0.6
    assert [row["rows"] for row in sets] == [178, 150]
    assert all(row["KernelMixture(k)"] > 0.2 for row in sets)
    assert [row["k"] for row in simulated] == ["10", "10", "auto", "auto"]
    assert simulated[0]["found"] >= 6
    assert sum(row[f"{POPULATIONS}: rows"] for row in curve) == 5000 - 3


def test_import_hipc__gives_every_cell_a_class(shared_data: Path, tmp_path: Path):
    cells = import_hipc(shared_data / "hipc_w2.npz", tmp_path / "hipc.zarr", 2000)
    assert cells.values().shape == (2000, 7)
    assert cells.features[:2] == ["CCR7", "CD4"]
    assert set(np.unique(cells.gates)) <= set(range(10))
    whole = import_hipc(shared_data / "hipc_w2.npz", tmp_path / "hipc.zarr", 10**6)
    assert np.bincount(whole.gates).tolist()[:2] == [6371, 6387]


@pytest.mark.slow
def test_measure__has_the_figures_of_every_table(shared_data: Path, tmp_path: Path):
    pytest.importorskip("flowsom", reason=NEEDS_FLOWSOM)
    cells = import_hipc(shared_data / "hipc_w2.npz", tmp_path / "hipc.zarr", 3000)
    found = measure(cells, [10, "auto"], 2)
    assert len(found.cuts) == 2
    assert [len(curves) for curves in found.curves.values()] == [2] * 4
    table = figure_rows(found.clusterings, HIPC_BARS, len(cells.gates))
    assert [row["bars"] for row in table if "holds" in row] == [
        "mean F1 >= 0.580",
        "mean F1 >= 0.520",
    ]


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
    found = list(clusterings(Fits(cells, 0), [6]))
    table = gate_rows(found, cells.names)
    assert [row["method"] for row in table] == list(METHODS)
    assert all(row["B cells"] > 0.4 for row in table), table
    assert all(0 < row["mean F1"] <= 1 for row in figure_rows(found, Bars(), 0))


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
    tables = json.loads(out.read_text())["tables"]
    figures, gates, cuts, errors, _, weights = tables.values()
    assert [row["method"] for row in figures["rows"]] == [*METHODS, *METHODS]
    assert [row["k"] for row in figures["rows"]][:5] == ["10"] * 5
    assert gates["rows"][0]["CD4 T CD69-"] > 0.6
    assert gates["rows"][0]["Dead"] > 0.4
    assert cuts["rows"][-1]["mean F1"] == figures["rows"][5]["mean F1"]
    assert all(row["calibration error"] < 0.2 for row in errors["rows"])
    assert [row["k"] for row in weights["rows"]] == ["10", "10", "auto", "auto"]
    missed = sum(row.get("holds") is False for table in tables.values() for row in table["rows"])
    assert f"{missed} rows miss a bar" in capsys.readouterr().out
    assert code == (missed > 0)


def _first(cells: Cells, rows: int, features: int, store: Path) -> Cells:
    """Write the first cells and features to a store of their own."""
    names = cells.features[:features]
    with SampleStoreWriter(store, names, rows=rows) as writer:
        writer.append(cells.values()[:rows, :features])
    return Cells(store, names, cells.gates[:rows], cells.names)


def test_oracle__gives_components_to_the_class_of_most_of_their_mass():
    probabilities = np.array([[0.6, 0.4, 0], [0.1, 0.5, 0.4], [0, 0.1, 0.9], [0.3, 0.3, 0.4]])
    # component 1 has .9 of class 0 and .1 of class 1; the last row has no class
    labels = oracle_labels(probabilities, np.array([0, 0, 1, -1]))
    np.testing.assert_array_equal(labels, [0, 0, 1, 0])


@pytest.mark.slow  # other scores are quick
def test_oracle__merges_components_at_least_as_well_as_the_tree(shared_data: Path):
    sample = load_gvhd(shared_data / "gvhd.npz")[0]
    chosen = np.random.default_rng(0).choice(len(sample.values), 3000, replace=False)
    part = LabelledRows(sample.values[chosen], sample.classes[chosen], {})
    row = oracle_row("GvHD", [part], 1)
    assert row["components"] > row["classes"]
    assert row["oracle"] >= row["tree"] - 0.02


def test_first_call__is_compared_with_options_and_peers(shared_data: Path):
    pytest.importorskip("flowsom", reason=NEEDS_FLOWSOM)
    sample = load_gvhd(shared_data / "gvhd.npz")[0]
    part = LabelledRows(sample.values[:3000], sample.classes[:3000], {})
    found: list[tuple[float, float]] = []
    row = first_call_row("GvHD", [part], 1, found)
    assert 0 < row["first call"] <= 1
    assert row["best options"] >= row["first call"] - 0.2
    assert all(0 < row[method] <= 1 for method in ("FlowSOM", "k-means", "GMM, full"))
    table = stability_rows(np.array(found))
    assert sum(line["populations"] for line in table) == len(found) > 0
