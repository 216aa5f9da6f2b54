"""The image of ``bigtensor deploy container``: linted, installed, and built where a builder is."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.conftest import ROOT, weights_of

BUILD = Path(__file__).with_name("build_image.sh")
BUILD_SECONDS = 1500


def pinned(folder: Path) -> dict[str, str]:
    """Return the versions of the requirements by name."""
    lines = (folder / "requirements.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines)


def test_requirements__are_the_versions_of_this_environment(deploy: Callable[..., Path]) -> None:
    versions = pinned(deploy("container"))
    assert {"numpy", "numba", "dask", "distributed", "zarr", "xarray", "anndata"} <= set(versions)
    assert all(version(name) == pin for name, pin in versions.items())
    assert not {"bigtensor", "pytest", "mypy"} & set(versions)


def test_dockerfile__passes_the_linter(deploy: Callable[..., Path]) -> None:
    hadolint = shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed; .ci/nightly installs it")
    subprocess.run([hadolint, deploy("container") / "Dockerfile"], check=True)


@pytest.mark.slow
@pytest.mark.timeout(BUILD_SECONDS)
def test_image__is_built_and_fits_with_the_same_bits(
    deploy: Callable[..., Path], study: Path, rows: Path, weights_on_threads: np.ndarray
) -> None:
    base = os.environ.get("BASE_IMAGE_FOLDER")
    if shutil.which("buildah") is None or base is None:
        pytest.skip("no builder of images; .ci/nightly installs one and sets BASE_IMAGE_FOLDER")
    folder = deploy("container")
    wheel = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(wheel, cwd=ROOT, check=True, capture_output=True)
    data = study / "data"
    shutil.copytree(rows, data / "rows.zarr")
    subprocess.run([BUILD, base, folder, data], check=True, timeout=BUILD_SECONDS)
    assert np.array_equal(weights_of(data / "model.zarr"), weights_on_threads)
