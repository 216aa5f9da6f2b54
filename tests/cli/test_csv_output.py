import csv
import os

import numpy as np
import pytest
import zarr

from bigtensor.cli import csv_output
from bigtensor.cli.csv_output import write_csv
from bigtensor.errors import OutputError


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.zarr"
    group = zarr.create_group(path)
    rng = np.random.default_rng(0)
    probability = rng.dirichlet(np.ones(3), size=1000).astype(np.float32)
    group.create_array("probability", data=probability)
    group.create_array("label", data=probability.argmax(axis=1).astype(np.int32))
    return path, probability


def test_write_csv__one_line_a_row_in_order(labels, tmp_path, monkeypatch):
    path, probability = labels
    monkeypatch.setattr(csv_output, "BLOCK_ROWS", 300)
    told = []
    write_csv(
        path, tmp_path / "l.csv", probabilities=True, progress=lambda *rows: told.append(rows)
    )
    with (tmp_path / "l.csv").open() as file:
        names, *rows = csv.reader(file)
    assert names == ["row", "label", "probability_0", "probability_1", "probability_2"]
    values = np.array(rows, float)
    assert values[:, 0].tolist() == list(range(1000))
    assert values[:, 1].tolist() == probability.argmax(axis=1).tolist()
    np.testing.assert_allclose(values[:, 2:], probability, rtol=1e-5)
    assert told[-1] == (1000, 1000)


def test_write_csv__labels_alone(labels, tmp_path):
    path, probability = labels
    write_csv(path, tmp_path / "l.csv", probabilities=False, progress=lambda *_: None)
    lines = (tmp_path / "l.csv").read_text().splitlines()
    assert lines[:2] == ["row,label", f"0,{probability[0].argmax()}"]
    assert len(lines) == 1001


def test_write_csv__nothing_is_left_when_it_stops_midway(labels, tmp_path, monkeypatch):
    path, _ = labels
    monkeypatch.setattr(csv_output, "BLOCK_ROWS", 300)

    def stop(done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_csv(path, tmp_path / "l.csv", probabilities=True, progress=stop)
    assert os.listdir(tmp_path) == ["labels.zarr"]  # noqa: PTH208


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full disk here")  # noqa: PTH110
def test_write_csv__a_full_disk_is_named(labels, tmp_path, monkeypatch):
    path, _ = labels
    partial = tmp_path / "l.csv.partial-full"
    partial.symlink_to("/dev/full")
    monkeypatch.setattr(csv_output.secrets, "token_hex", lambda _: "full")
    with pytest.raises(OutputError, match=r"l\.csv cannot be written \(No space left"):
        write_csv(path, tmp_path / "l.csv", probabilities=False, progress=lambda *_: None)
    assert not (tmp_path / "l.csv").exists()
    assert not partial.is_symlink()
