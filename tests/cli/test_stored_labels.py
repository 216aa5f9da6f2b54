import numpy as np
import pytest
import zarr
from sklearn.metrics import accuracy_score, adjusted_rand_score, f1_score, recall_score

from bigtensor.cli import stored_labels as module
from bigtensor.cli.stored_labels import agreement, label_counts


def store(path, labels):
    group = zarr.create_group(path)
    group.create_array("label", data=np.asarray(labels, np.int32))
    return path


@pytest.fixture
def labels(tmp_path):
    """Labels of three populations under other names, with a fifth of the rows wrong."""
    rng = np.random.default_rng(5)
    true = rng.choice(3, size=5000, p=[0.6, 0.3, 0.1])
    found = np.array([2, 0, 1])[true]
    wrong = rng.random(5000) < 0.2
    found[wrong] = rng.integers(3, size=wrong.sum())
    return true, found, store(tmp_path / "true.zarr", true), store(tmp_path / "found.zarr", found)


def test_agreement__equals_scikit_learn_after_matching(labels, monkeypatch):
    true, found, true_path, found_path = labels
    monkeypatch.setattr(module, "BLOCK_ROWS", 999)
    result = agreement(true_path, found_path, 3)
    assert result.matched.tolist() == [2, 0, 1]
    renamed = np.argsort(result.matched)[found]
    assert result.accuracy == pytest.approx(accuracy_score(true, renamed))
    assert result.f1 == pytest.approx(f1_score(true, renamed, average=None))
    assert result.recall == pytest.approx(recall_score(true, renamed, average=None))
    assert result.adjusted_rand == pytest.approx(adjusted_rand_score(true, found), abs=1e-12)


def test_agreement__rows_without_a_label_do_not_count(tmp_path):
    true = store(tmp_path / "true.zarr", [0, 0, 1, 1, -1])
    found = store(tmp_path / "found.zarr", [1, 1, 0, -1, 0])
    result = agreement(true, found, 2)
    assert result.counts.sum() == 3
    assert result.accuracy == 1.0
    assert result.adjusted_rand == 1.0


def test_label_counts__adds_up_over_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 2)
    path = store(tmp_path / "labels.zarr", [2, 0, 2, -1, 2])
    assert label_counts(path) == {-1: 1, 0: 1, 2: 3}
