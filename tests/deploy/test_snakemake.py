"""The workflow of ``bigtensor deploy snakemake``, run with the real Snakemake."""

import os
import shutil
import subprocess
from pathlib import Path

import anndata
import flowio
import numpy as np
import pytest
from click.testing import CliRunner

from bigtensor.cli import main

EVENTS, CHANNELS = 15_000, ["CD3", "CD4", "CD19"]
CENTRES = np.array([[100.0, 100.0, 3000.0], [3000.0, 200.0, 100.0], [3000.0, 3000.0, 150.0]])


def write_fcs(path: Path, seed: int) -> None:
    """Write the events of three populations."""
    random = np.random.default_rng(seed)
    events = random.choice(CENTRES, EVENTS) * random.lognormal(0, 0.3, (EVENTS, len(CHANNELS)))
    with path.open("wb") as file:
        flowio.create_fcs(file, events.ravel().tolist(), CHANNELS)


def written_files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow  # every rule is a process with imports of its own
def test_workflow__labels_every_event_and_writes_to_its_folder_alone(
    tmp_path: Path, program_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    snakemake = os.environ.get("SNAKEMAKE") or shutil.which("snakemake")
    if snakemake is None:
        pytest.skip("Snakemake is not installed; .ci/nightly installs it and sets SNAKEMAKE")
    study, home, scratch = (tmp_path / name for name in ("study", "home", "scratch"))
    for folder in (study, home, scratch):
        folder.mkdir()
    for seed in range(2):
        write_fcs(study / f"donor_{seed}.fcs", seed)
    monkeypatch.chdir(study)
    fit = ["fit", "cells.zarr", "--components", "3", "--out", "model.zarr"]
    options = ["--workers", "1", "--memory", "1GiB", "--out", "job"]
    arguments = ["deploy", "snakemake", *options, *fit]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    done = subprocess.run(
        [snakemake, "--snakefile", "job/Snakefile", "--cores", "2", "--config", "import_options="],
        cwd=study,
        env=program_environment
        | {"HOME": str(home), "TMPDIR": str(scratch), "XDG_CACHE_HOME": str(home / ".cache")},
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert done.returncode == 0, done.stderr
    labelled = anndata.read_h5ad(study / "labelled.h5ad")
    assert labelled.n_obs == 2 * EVENTS
    assert set(labelled.obs["bigtensor_label"].unique()) == {"0", "1", "2"}
    assert not [path for path in written_files(home) if "snakemake" not in str(path)]
    assert list((study / ".numba").rglob("*.nbc"))
