"""Fixtures shared by all tests."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# a busy machine may take any time for an example
settings.register_profile("quick", deadline=None, max_examples=50)
settings.load_profile("quick")
# .ci/nightly tries laws on twenty times as many examples
settings.register_profile("thorough", max_examples=1000)


def pytest_configure(config: pytest.Config) -> None:
    """Give processes that share the tests one BLAS thread each; with more, tests take longer."""
    if config.getoption("numprocesses", default=None):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: pytest.Collector) -> Any:
    """Mark cases as slow that ``quick_cases`` of their test does not name.

    The cases that are named are the cheapest, or the two or three most unlike. Almost always, what
    breaks a behaviour breaks it in one of them as well.
    """
    items = yield
    cases = [item for item in items if isinstance(item, pytest.Function)] if items else []
    for mark in [mark for item in cases[:1] for mark in item.iter_markers("quick_cases")]:
        absent = set(mark.args) - {case.callspec.id for case in cases}
        if absent:
            raise collector.CollectError(
                f"quick_cases of {cases[0].originalname} names {sorted(absent)}, which are no cases"
            )
        for case in cases:
            if case.callspec.id not in mark.args:
                case.add_marker("slow")
    return items


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the project; tests that need it skip without it."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the real data are not on this machine (looked in {folder})")
    return folder


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the figures of reports empty, for tests of what surrounds them.

    Maps and drawings take nearly all of the time of a report. `tests/report` draws them.
    """
    monkeypatch.setattr("bigtensor.report.embedding.optional_umap", lambda: None)
    monkeypatch.setattr("bigtensor.report.html.picture", lambda _: "data:image/svg+xml,")


@pytest.fixture
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A disk of the size that a test gives as an indirect parameter, such as 64k."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a small disk can only be mounted by root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def locked_folder() -> Iterator[Path]:
    """A folder in which this process can read but not write, whoever runs the tests."""
    # outside of the folders of pytest, which nobody else may enter
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65_534)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)
