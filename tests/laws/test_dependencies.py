"""The laws of the dependencies: each has a lower bound, none has an upper bound."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PYPROJECT = tomllib.loads(
    (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8")
)
PROJECT = PYPROJECT["project"]
REQUIREMENTS = [
    *PYPROJECT["build-system"]["requires"],
    *PROJECT["dependencies"],
    *(line for extra in PROJECT["optional-dependencies"].values() for line in extra),
]


@pytest.mark.parametrize("line", sorted(set(REQUIREMENTS)))
def test_dependency__has_a_lower_bound_and_no_other(line: str):
    requirement = Requirement(line)
    if requirement.name == PROJECT["name"]:
        assert requirement.extras, f"{line} names no extra of the package"
    else:
        operators = [part.operator for part in requirement.specifier]
        assert operators == [">="], f"{line} must have one lower bound and nothing else"
        assert not requirement.marker, f"{line} has a marker, which .ci/lowest does not read"


def test_dependency__has_the_same_bound_wherever_it_stands():
    bounds: dict[str, set[str]] = {}
    for line in REQUIREMENTS:
        requirement = Requirement(line)
        bounds.setdefault(requirement.name, set()).add(str(requirement.specifier))
    assert {name: found for name, found in bounds.items() if len(found) > 1} == {}
