"""The Python scripts of recipes, run with a cluster in the process of the script."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bigtensor import KernelMixture, SpectralOptions, open_samples
from bigtensor.cli import main
from bigtensor.cli.recipes import templates
from tests.deploy.conftest import COMPONENTS, weights_of
from tests.parameters import first_quick

CONDITION = "view1 > 0.5 and view2 < 3"
SCRIPTS = {"sge": "fit_with_jobqueue.py", "cloud": "fit_on_ec2.py"}
STARTED = "the cluster has started"

CLUSTER = f"""
from distributed import LocalCluster
class {{name}}(LocalCluster):
    def __init__(self, **_):
        print("{STARTED}", flush=True)
        # the script requires encryption
        tls = dict(protocol="tls://", security=True, host="127.0.0.1")
        super().__init__(1, processes=False, dashboard_address=None, **tls)
    def adapt(self, **_):
        pass
"""
"""Module with a class of clusters in place of those that need a queue or an account."""

RunScript = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_script(
    study: Path, program_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> RunScript:
    """Return a function that deploys a fit of the rows, and runs the script of a kind."""
    packages = study / "packages"
    (packages / "dask_cloudprovider").mkdir(parents=True)
    (packages / "dask_jobqueue.py").write_text(CLUSTER.format(name="SGECluster"))
    cloud = packages / "dask_cloudprovider" / "aws.py"
    cloud.write_text(CLUSTER.format(name="EC2Cluster"))
    path = os.pathsep.join([str(packages), program_environment["PYTHONPATH"]])

    def run(kind: str, *options: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(study)
        fit = ("fit", "rows.zarr", "-k", str(COMPONENTS), "--out", "model.zarr", *options)
        done = CliRunner().invoke(main, ["deploy", kind, "--out", "job", *fit])
        assert done.exit_code == 0, done.output
        return subprocess.run(
            [sys.executable, study / "job" / SCRIPTS[kind]],
            cwd=study,
            env=program_environment | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture(scope="module")
def expected(rows: Path) -> KernelMixture:
    """Return the model of the rows that meet the condition."""
    selected = open_samples(rows, where=CONDITION)
    spectral = SpectralOptions(landmarks="uniform")
    model = KernelMixture(COMPONENTS, spectral=spectral, random_state=0)
    return model.fit(selected, scheduler="threads")


@pytest.mark.parametrize("kind", SCRIPTS)
@pytest.mark.quick_cases("cloud")
def test_script__fits_the_rows_that_meet_the_condition_and_replaces_the_model(
    kind: str, run_script: RunScript, study: Path, rows: Path, expected: KernelMixture
) -> None:
    selected = open_samples(rows, where=CONDITION)
    other = KernelMixture(2, max_iter=1, init="kmeans", pilot_rows=500, random_state=0)
    other.fit(selected).save(study / "model.zarr")
    done = run_script(kind, "--where", CONDITION, "--landmarks", "uniform", "--overwrite")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{selected.rows:,} rows" in done.stdout
    assert np.array_equal(weights_of(study / "model.zarr"), expected.weights_)


@pytest.mark.parametrize("kind", first_quick(SCRIPTS))
@pytest.mark.slow  # a script that fits is quick
def test_script__refuses_a_model_that_exists_before_the_cluster_starts(
    kind: str, run_script: RunScript, study: Path, rows: Path
) -> None:
    shutil.copytree(rows, study / "model.zarr")
    done = run_script(kind)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: model.zarr")
    assert STARTED not in done.stdout
    assert not (study / "parts").exists()


def test_scripts__import_public_names_of_the_package_alone() -> None:
    scripts = [path for path in templates().rglob("*.py") if "bigtensor" in path.read_text()]
    assert len(scripts) >= 2
    for path in scripts:
        modules = re.findall(r"^(?:from|import) (bigtensor[\w.]*)", path.read_text(), re.M)
        assert set(modules) <= {"bigtensor", "bigtensor.errors", "bigtensor.termination"}, path
