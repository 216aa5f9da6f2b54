"""Versions of the packages of this environment."""

from importlib.metadata import PackageNotFoundError

import pytest

from bigtensor.cli.descriptions import environment
from bigtensor.errors import MissingDependencyError


def test_requirements__of_a_package_that_is_not_installed_are_refused(monkeypatch):
    def nothing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(environment, "distribution", nothing)
    with pytest.raises(MissingDependencyError, match="pip"):
        environment.pinned_requirements()
