"""A small run of the benchmark on real cells."""

from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.cytometry import clustering_rows, import_activation, import_spleen

pytestmark = pytest.mark.benchmark


def test_import_activation__keeps_the_gates(shared_data: Path, tmp_path: Path):
    cells = import_activation(shared_data / "activation", tmp_path / "cells.zarr", 1)
    with np.load(shared_data / "activation" / "labels.npz") as stored:
        np.testing.assert_array_equal(cells.gates, stored["Activation_1"].astype(int) - 1)
        assert cells.names == list(stored["label_names"][1:])
    assert len(cells.features) == 11
    assert not {"Time", "FSC-A", "SSC-H"} & set(cells.features)
    assert cells.values().shape == (50_000, 11)


@pytest.mark.slow
def test_clustering_rows__every_method_finds_the_b_cells_of_a_spleen(
    shared_data: Path, tmp_path: Path
):
    pytest.importorskip("flowsom", reason="FlowSOM is not installed")
    cells = import_spleen(shared_data / "mouse_spleen", tmp_path / "cells.zarr")
    assert (cells.gates >= 0).sum() == 13_671
    table = clustering_rows(cells, [6])
    assert [row["method"] for row in table] == [
        "bigtensor, spectral",
        "bigtensor, kmeans",
        "FlowSOM",
        "GaussianMixture, full",
    ]
    assert all(row["B cells"] > 0.4 for row in table), table
    assert all(0 < row["mean F1"] <= 1 for row in table)
