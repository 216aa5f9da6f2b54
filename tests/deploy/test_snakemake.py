"""The workflow of ``bigtensor deploy snakemake``, run with the real Snakemake."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from unittest.mock import Mock

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


def rendered(*fit: object, folder: str = "job") -> str:
    """Return the workflow of a fit."""
    arguments = ["deploy", "snakemake", "--memory", "1GiB", "--out", folder, *map(str, fit)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return (Path(folder) / "Snakefile").read_text()


def run_head(snakefile: str, config: dict[str, str]) -> Mock:
    """Run what comes before the rules, which is Python, and return Snakemake's shell."""
    shell = Mock()
    exec(snakefile.split("\nrule all:")[0], {"config": config, "shell": shell})
    return shell


@pytest.mark.parametrize("name", ["my study", "it's {1}", "two  spaces; $HOME"])
def test_compiled_code__stays_in_the_folder_of_the_workflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Snakemake formats the prefix of commands before a shell reads it."""
    study = tmp_path / name
    study.mkdir()
    monkeypatch.chdir(study)
    (study / "donor.fcs").touch()
    shell = run_head(rendered(), {})
    prefix = shell.prefix.call_args.args[0].format()
    command = [*("sh", "-c"), prefix + "printf %s \"$NUMBA_CACHE_DIR\""]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == str(study / ".numba")


def test_workflow__without_files_names_the_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    snakefile = rendered()
    for config, pattern in (({}, r"\*\.fcs"), ({"files": "d/*.fcs"}, r"d/\*\.fcs")):
        with pytest.raises(ValueError, match=f"matches {pattern}.*--config files="):
            run_head(snakefile, config)


def test_workflow__takes_braces_of_a_command_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result of a function is not searched for wildcards, as texts are."""
    monkeypatch.chdir(tmp_path)
    condition = 'sample_id in ["a{1}"]'
    snakefile = rendered("fit", "cells.zarr", "--out", "model.zarr", "--where", condition)
    (line,) = (line for line in snakefile.splitlines() if "a{1}" in line)
    name, _, function = line.partition("=")
    assert name.strip() == "params: command"
    assert condition in shlex.split(eval(function)(None))


@pytest.mark.parametrize(("data", "out"), [("a{1}.zarr", "m.zarr"), ("a.zarr", "{m}.zarr")])
def test_workflow__refuses_braces_in_paths(data: str, out: str) -> None:
    """Snakemake knows no form of a path that holds braces."""
    result = CliRunner().invoke(main, ["deploy", "snakemake", "fit", data, "--out", out])
    assert result.exit_code == 2
    assert (data if "{" in data else out) in result.stderr
    assert "wildcards" in result.stderr


@pytest.mark.slow  # every rule is a process with imports of its own
def test_workflow__labels_every_event_and_writes_to_its_folder_alone(
    tmp_path: Path, program_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    snakemake = os.environ.get("SNAKEMAKE") or shutil.which("snakemake")
    if snakemake is None:
        pytest.skip("Snakemake is not installed; .ci/nightly installs it and sets SNAKEMAKE")
    study, home, scratch = (tmp_path / name for name in ("it's my study", "home", "scratch"))
    for folder in (study, home, scratch):
        folder.mkdir()
    for seed in range(2):
        write_fcs(study / f"donor_{seed}.fcs", seed)
    monkeypatch.chdir(study)
    fit = ["fit", "cells.zarr", "--components", "3", "--out", "model.zarr"]
    fit += ["--checkpoint", "parts {1}"]
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
    assert (study / "parts {1}").is_dir()
