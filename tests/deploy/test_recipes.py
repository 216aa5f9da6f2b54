"""Laws of all recipes, and the command that fills them in."""

import os
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigtensor.cli import main
from bigtensor.cli.recipes import KINDS, templates
from bigtensor.engine.clusters.local_cluster import KEEP_FREED_MEMORY
from tests.deploy.conftest import ROOT

README_LINES = 40
MIB = 2**20


def run(*arguments: object) -> Result:
    """Run ``bigtensor deploy`` in this process."""
    return CliRunner().invoke(main, ["deploy", *map(str, arguments)])


@pytest.mark.parametrize("kind", KINDS)
def test_readme__is_short(kind: str) -> None:
    readme = templates() / kind / "README.md"
    assert len(readme.read_text(encoding="utf-8").splitlines()) <= README_LINES


@pytest.mark.parametrize("kind", KINDS)
def test_files__have_no_field_left_and_a_test_of_their_own(kind: str) -> None:
    done = run(kind)
    assert done.exit_code == 0, done.output
    assert "{{" not in done.stdout
    assert "==> README.md <==" in done.stdout
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert re.search(rf'deploy\("{kind}"|"deploy", "{kind}"', tests)


def test_folders__are_the_kinds() -> None:
    folders = {path.name for path in (ROOT / "deploy").iterdir()}
    assert folders == {*KINDS, "local", "queue"}


@pytest.mark.parametrize("folder", ["local", "queue", "slurm", "kubernetes", "cloud"])
def test_places_that_start_workers__let_them_use_memory_again(folder: str) -> None:
    text = "".join(path.read_text() for path in (ROOT / "deploy" / folder).iterdir())
    for name, value in KEEP_FREED_MEMORY.items():
        assert re.search(rf'{name}"?(=|: "){value}\b', text)


def test_memory__is_that_of_the_plan_and_can_be_set(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study)
    fit = ("fit", "rows.zarr", "--components", 3, "--out", "model.zarr")
    planned = int(re.search(r"--memory-limit (\d+)MiB", run("slurm", *fit).stdout)[1])
    assert 512 <= planned < 2048
    assert "--memory-limit 3072MiB" in run("slurm", "--memory", "3GiB", *fit).stdout
    refused = run("slurm", "--memory", "400MiB", *fit)
    assert refused.exit_code == 1
    assert "--memory)" in refused.stderr


def test_command__is_checked_and_quoted(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)
    done = run("slurm", "fit", "rows.zarr", "--components", 3, "--out", "my model.zarr")
    (line,) = (line for line in done.stdout.splitlines() if "set -- fit" in line)
    words = shlex.split(line.partition("set -- ")[2])
    assert words[:4] == ["fit", "rows.zarr", "--components", "3"]
    assert words[4:] == ["--out", "my model.zarr", "--checkpoint", "parts"]
    kept = run("slurm", "fit", "rows.zarr", "--out", "model.zarr", "--checkpoint=there")
    assert "--checkpoint=there\n" in kept.stdout
    assert run("slurm", "fit", "rows.zarr", "--componts", 3).exit_code == 2
    assert run("slurm", "predict", "model.zarr", "rows.zarr").exit_code == 2


@pytest.mark.parametrize("place", ["workers", "memory-limit", "scheduler", "tls-ca-file", "tls-key"])
def test_places__are_not_options_of_the_fit(place: str) -> None:
    refused = run("slurm", "fit", "rows.zarr", "--out", "m.zarr", f"--{place}", 3)
    assert refused.exit_code == 2
    assert f"--{place} " in refused.stderr


@pytest.mark.parametrize(
    ("time", "hours"),
    [("1-02:00:00", "26:00:00"), ("2-00", "48:00:00"), ("0-04:30", "04:30:00"), ("0-4", "04:00:00")],
)
def test_time__with_days_is_given_in_hours(time: str, hours: str) -> None:
    assert f"#SBATCH --time={hours}\n" in run("slurm", "--time", time).stdout


@pytest.mark.parametrize("time", ["1-24:00", "0-00", "-01:00:00", "1-02:60"])
def test_time__with_days_is_one_in_which_a_job_can_run(time: str) -> None:
    assert run("slurm", "--time", time).exit_code == 2


@pytest.mark.parametrize("time", ["4h", "00:00:00", "26:99:99", "01:60:00", "1:00:00", "01:00:000"])
def test_time__is_one_in_which_a_job_can_run(time: str) -> None:
    refused = run("slurm", "--time", time)
    assert refused.exit_code == 2
    assert repr(time) in refused.stderr


@pytest.mark.parametrize(
    ("time", "minutes"), [("48:00:00", "48:00"), ("00:00:30", "00:01"), ("01:59:01", "02:00")]
)
def test_time__of_a_queue_without_seconds_is_rounded_up(time: str, minutes: str) -> None:
    assert f'walltime: "{minutes}"' in run("lsf", "--time", time).stdout
    assert f'walltime: "{time}"' in run("slurm", "--time", time).stdout


def test_condition__is_one_that_the_fit_takes(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study)
    out = ("--components", 3, "--out", "model.zarr")
    for data, condition, fact in [
        ("rows.zarr", "NOPE > 3", "NOPE"),
        ("rows.zarr", "view1 > 1e9", "view1 > 1e9"),
        ("absent.zarr", "CD3 >", "CD3 >"),
    ]:
        refused = run("sge", "fit", data, *out, "--where", condition)
        assert refused.exit_code == 1
        assert fact in refused.stderr.splitlines()[-1]
        assert not refused.stdout
    assert run("sge", "fit", "rows.zarr", *out, "--where", "view1 > 0").exit_code == 0


def test_output__is_not_the_data(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)
    assert run("sge", "fit", "rows.zarr", "--out", "./rows.zarr", "--overwrite").exit_code == 2


def test_rows_and_workers__are_those_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fit = "fit log.zarr --model hidden-markov --components 3 --sequence donor --out model.zarr"
    done = run("slurm", *fit.split(), "--where", "donor != 'a'", "--wait-for-workers", "2h")
    assert done.exit_code == 0, done.output
    assert "('log.zarr', sequence='donor', where=" in done.stdout
    assert """where="donor != 'a'")""" in done.stdout
    assert "wait_for_workers=7200.0" in done.stdout
    assert "HiddenMarkovModel(n_components=3" in done.stdout


def test_data_elsewhere__have_no_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("kubernetes", "fit", "absent.zarr", "--out", "model.zarr")
    assert done.exit_code == 0
    assert "4096MiB" in done.stdout
    assert "absent.zarr" in done.stderr


def test_files__are_written_to_a_new_folder_only(study: Path, deploy: Callable[..., Path]) -> None:
    deploy("slurm")
    before = (study / "job" / "fit.sbatch").read_text()
    refused = run("slurm", "--workers", 9, "--out", "job")
    assert refused.exit_code == 1
    assert (study / "job" / "fit.sbatch").read_text() == before


def test_readme__names_the_folder_of_its_files(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study)
    assert run("slurm", "--out", "my fit").exit_code == 0
    readme = (study / "my fit" / "README.md").read_text()
    assert "    sbatch 'my fit'/fit.sbatch " in readme
    assert "--out 'my fit' " in readme
    assert "job/fit.sbatch" not in readme
    # a Job of Kubernetes is no folder
    assert run("kubernetes", "--out", "pods").exit_code == 0
    assert "logs -f job/bigtensor-fit" in (study / "pods" / "README.md").read_text()


# not all files of a recipe have room on this disk
@pytest.mark.parametrize("small_disk", ["20k"], indirect=True)
def test_files__on_a_full_disk_leave_nothing(small_disk: Path) -> None:
    for folder in (small_disk / "job", small_disk / "study" / "job"):
        refused = run("slurm", "--out", folder)
        assert refused.exit_code == 1
        (line,) = refused.stderr.splitlines()
        assert line.startswith("error: ")
        assert str(folder) in line
        assert "OSError" not in line
        assert list(small_disk.iterdir()) == []


def test_scripts__are_shown_to_nobody_whom_the_umask_excludes(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study)
    before = os.umask(0o077)
    try:
        done = run("slurm", "--out", "job")
    finally:
        os.umask(before)
    assert done.exit_code == 0, done.output
    assert (study / "job" / "fit.sbatch").stat().st_mode & 0o777 == 0o700


def test_installed_package__holds_the_templates(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    packed = {Path(name) for name in zipfile.ZipFile(wheel).namelist()}
    files = {path for path in (ROOT / "deploy").rglob("*") if path.is_file()}
    assert {Path("bigtensor") / path.relative_to(ROOT) for path in files} <= packed
