import csv
import os

import numpy as np
import pytest

from bigtensor.data.exporters import csv as exporter
from bigtensor.data.exporters.csv import write_answers_to_csv
from bigtensor.errors import OutputError


def test_csv__one_line_a_row_in_order(labels, answers, tmp_path):
    label, probability = answers
    told = []
    write_answers_to_csv(
        labels, tmp_path / "l.csv", block_rows=300, progress=lambda *rows: told.append(rows)
    )
    with (tmp_path / "l.csv").open() as file:
        names, *rows = csv.reader(file)
    assert names == ["row", "label", "probability_0", "probability_1", "probability_2"]
    values = np.array(rows, float)
    assert values[:, 0].tolist() == list(range(1000))
    assert values[:, 1].tolist() == label.tolist()
    np.testing.assert_allclose(values[:, 2:], probability, rtol=1e-5)
    assert told[-1] == (1000, 1000)


def test_csv__labels_alone(labels, answers, tmp_path):
    write_answers_to_csv(labels, tmp_path / "l.csv", probabilities=False)
    lines = (tmp_path / "l.csv").read_text().splitlines()
    assert lines[:2] == ["row,label", f"0,{answers[0][0]}"]
    assert len(lines) == 1001


def test_csv__nothing_is_left_when_it_stops_midway(labels, tmp_path):
    def stop(done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_answers_to_csv(labels, tmp_path / "l.csv", block_rows=300, progress=stop)
    assert os.listdir(tmp_path) == ["labels.zarr"]  # noqa: PTH208


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full disk here")  # noqa: PTH110
def test_csv__a_full_disk_is_named(labels, tmp_path, monkeypatch):
    partial = tmp_path / "l.csv.partial-full"
    partial.symlink_to("/dev/full")
    monkeypatch.setattr(exporter.secrets, "token_hex", lambda _: "full")
    with pytest.raises(OutputError, match=r"l\.csv cannot be written \(No space left"):
        write_answers_to_csv(labels, tmp_path / "l.csv", probabilities=False)
    assert not (tmp_path / "l.csv").exists()
    assert not partial.is_symlink()
