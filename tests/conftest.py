"""Fixtures shared by all tests."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the project; tests that need it skip without it."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the real data are not on this machine (looked in {folder})")
    return folder
