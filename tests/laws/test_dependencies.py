"""The laws of the dependencies: each has a lower bound, none has an upper bound."""

import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import bigtensor

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
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


def test_version__is_the_same_wherever_it_stands():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == bigtensor.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {bigtensor.__version__} ({citation['date-released']})\n" in changelog


def test_conda_recipe__has_the_version_and_bounds_of_the_package():
    recipe = yaml.safe_load((ROOT / "conda.recipe" / "recipe.yaml").read_text(encoding="utf-8"))
    assert str(recipe["context"]["version"]) == bigtensor.__version__
    (python,) = recipe["requirements"]["run"][:1]
    assert python == "python >=${{ python_min }}"
    assert PROJECT["requires-python"] == f">={recipe['context']['python_min']}"
    # conda's 'dask-core' is Dask without what its extras ask for; 'array' asks for NumPy
    conda = {line.replace("dask-core", "dask") for line in recipe["requirements"]["run"][1:]}
    requirements = [Requirement(line) for line in PROJECT["dependencies"]]
    assert conda == {f"{one.name} {one.specifier}" for one in requirements}
    assert f"hatchling {Requirement(REQUIREMENTS[0]).specifier}" in recipe["requirements"]["host"]


def test_conda_recipe__is_rendered_by_the_program_that_builds_it():
    rattler_build = pytest.importorskip(
        "rattler_build", reason="rendering the recipe needs py-rattler-build"
    )
    recipe = rattler_build.Stage0Recipe.from_file(str(ROOT / "conda.recipe" / "recipe.yaml"))
    (rendered,) = recipe.render()
    package = rendered.recipe.package
    assert (package.name, str(package.version)) == ("bigtensor", bigtensor.__version__)
