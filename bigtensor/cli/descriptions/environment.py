"""Versions of the packages that this process runs with, for machines that have to have the same."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bigtensor.errors import MissingDependencyError

OBJECT_STORES = ("s3fs", "gcsfs", "adlfs")
"""Packages for object stores: nothing requires them, and a cluster that reads from one does."""


def pinned_requirements() -> list[str]:
    """Return the installed dependencies of bigtensor and of its extras, each with its version.

    Packages that are not installed are left out, and so are those that are for tests alone.

    Returns
    -------
    list of str
        Such as ``"numpy==2.4.0"``, sorted.

    Raises
    ------
    MissingDependencyError
        If bigtensor runs from a folder and is not installed.
    """
    versions: dict[str, str] = {}
    waiting = [Requirement("bigtensor[all,hpc,kubernetes]"), *map(Requirement, OBJECT_STORES)]
    visited = set[str]()
    while waiting:
        requirement = waiting.pop()
        if str(requirement) in visited:
            continue
        visited.add(str(requirement))
        try:
            installed = distribution(requirement.name)
        except PackageNotFoundError:
            continue
        versions[canonicalize_name(requirement.name)] = installed.version
        waiting += [
            dependency
            for dependency in map(Requirement, installed.requires or ())
            if dependency.marker is None
            or any(
                dependency.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)
            )
        ]
    if "bigtensor" not in versions:
        raise MissingDependencyError(
            "the versions of bigtensor's dependencies are not known here, because bigtensor is not "
            "installed as a package; install it with pip, and run the command again"
        )
    del versions["bigtensor"]
    return sorted(f"{name}=={version}" for name, version in versions.items())


def environment_fields() -> dict[str, str]:
    """Return the fields of templates that describe this environment."""
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "requirements": "\n".join(pinned_requirements()),
    }
