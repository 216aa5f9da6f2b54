"""Stores of labels made on the spot, so that each test shows what its store holds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from bigtensor.data.stores.layout import SampleStoreWriter

ROWS, COMPONENTS = 1000, 3
FEATURES = ["CD3", "CD4", "CD19"]


def write_labels(path: Path, rows: int = ROWS, probabilities: bool = True) -> Path:
    """Write labels with a few rows left out, and views of the first and the last feature."""
    group = zarr.create_group(
        path, attributes={"model": "KernelMixture", "views": {"t": ["CD3"], "b": ["CD19"]}}
    )
    probability = np.random.default_rng(0).dirichlet(np.ones(COMPONENTS), rows).astype(np.float32)
    label = probability.argmax(axis=1).astype(np.int32)
    label[7::100], probability[7::100] = -1, np.nan
    group.create_array("label", data=label)
    if probabilities:
        group.create_array("probability", data=probability)
    return path


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Return a store of labels with probabilities."""
    return write_labels(tmp_path / "labels.zarr")


@pytest.fixture
def answers(labels: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and probabilities of the store."""
    group = zarr.open_group(labels, mode="r")
    return group["label"][:], group["probability"][:]


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """Return the store of the rows that were labelled, of two patients."""
    path = tmp_path / "cells.zarr"
    variables: dict[str, Any] = {"sample_id": ("int32", {"categories": ["p", "q"]})}
    with SampleStoreWriter(path, FEATURES, rows=ROWS, row_variables=variables) as store:
        values = np.random.default_rng(1).normal(size=(ROWS, len(FEATURES)))
        store.append(values, sample_id=np.arange(ROWS) // 500)
    return path
