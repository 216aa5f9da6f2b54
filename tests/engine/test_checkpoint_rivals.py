"""Several runs with one checkpoint at the same time, and what killed runs leave there."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bigtensor.engine.checkpoint import PassCheckpoint

ROOT = Path(__file__).resolve().parents[2]

RUN = """
import sys, time
from pathlib import Path

import numpy as np

from bigtensor.data.opening import open_samples
from bigtensor.engine.checkpoint import Checkpoint
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.statistics.base import Pass
from tests.engine.sums import ColumnSums


class LargeState(ColumnSums):
    # takes long enough to write that another run often finishes meanwhile
    def state_arrays(self):
        return {**super().state_arrays(), "large": ((1_000_000,), "float64")}


folder, number = Path(sys.argv[1]), sys.argv[2]
samples = open_samples(np.ones((600_000, 2)))
for factor in range(1, 4):
    # all three begin the pass together, as nothing else makes them meet
    (folder / f"{factor}-{number}").touch()
    deadline = time.monotonic() + 20
    while len(list(folder.glob(f"{factor}-*"))) < 3:
        assert time.monotonic() < deadline, "another run has ended"
        time.sleep(0.001)
    result = run_pass(
        samples,
        Pass("sums", LargeState(2, factor=float(factor))),
        ThreadedRuntime(2),
        checkpoint=Checkpoint(str(folder / "parts"), "data"),
    )
    assert result["sums"].tolist() == [600_000.0 * factor] * 2
print("finished")
"""


@pytest.mark.slow
def test_three_runs__with_one_checkpoint_all_finish(tmp_path: Path) -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", RUN, str(tmp_path), str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for number in range(3)
    ]
    told = [run.communicate(timeout=120) for run in runs]
    assert [said for said, _ in told] == ["finished\n"] * 3, told
    assert len(list((tmp_path / "parts").iterdir())) == 3
    assert not list((tmp_path / "parts").rglob("*.unfinished"))


DROP = """
import sys

from bigtensor.engine.checkpoint import PassCheckpoint

parts = PassCheckpoint(sys.argv[1])
print("begun", flush=True)
while True:
    parts.drop_parts()
"""


def test_part__is_stored_while_another_run_drops_the_parts(tmp_path: Path) -> None:
    parts = PassCheckpoint(str(tmp_path))
    state = {"large": np.ones(200_000)}
    parts.store(None, state)
    rival = subprocess.Popen(
        [sys.executable, "-c", DROP, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert rival.stdout is not None
        assert rival.stdout.readline() == "begun\n"
        for start in range(200):
            parts.store((start, start + 1), state)
        assert rival.poll() is None
    finally:
        rival.kill()
        rival.communicate()
    assert parts.load(None) is not None
    assert not list(tmp_path.glob("*.unfinished"))
