"""The laws of names: one word for one thing in all signatures, and no participles for variables."""

import ast
import inspect
import re
from collections.abc import Iterator

import pytest

import bigtensor
from bigtensor.models.contract.declarations import options_classes
from bigtensor.models.contract.registry import MODELS, declared_parameters
from tests.laws.package_files import FILES, PACKAGE, tree_of

REPLACED = {
    "n_states": "n_components",
    "n_topics": "n_components",
    "em_iterations": "max_iter",
    "posterior_passes": "max_iter",
    "polish_passes": "max_iter",
    "passes": "max_iter",
    "start": "init",
    "sample_size": "pilot_rows",
    "kernels": "kernel",
    "groups": "view_groups",
}
"""Names of parameters that a model must not have, with the name that stands for the thing."""

CONDITIONAL = ("tensor_train_density", "estimator.py")

PARTICIPLES = {"found", "told", "wanted", "known", "given", "seen", "some", "of"}
"""Names that do not say what a variable holds."""


@pytest.mark.parametrize("name", MODELS)
def test_parameters__have_the_names_of_the_vocabulary(name):
    parameters = list(inspect.signature(getattr(bigtensor, name)).parameters.values())
    options = options_classes(declared_parameters(name))
    fields = [entry for one in options for entry in inspect.signature(one).parameters.values()]
    names = {parameter.name for parameter in [*parameters, *fields]}
    assert not {old: new for old, new in REPLACED.items() if old in names}
    assert [parameter.kind for parameter in parameters[1:]] == [
        inspect.Parameter.KEYWORD_ONLY for _ in parameters[1:]
    ], "only the first parameter is positional"
    assert "none" not in [entry.default for entry in [*parameters, *fields]], "None is not used"


def stored_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of everything that a module names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def test_variables__are_called_what_they_are():
    places = [
        f"{path.relative_to(PACKAGE)}:{line} {name}"
        for path in FILES
        for line, name in stored_names(tree_of(path))
        if name.strip("_") in PARTICIPLES
        # p(of | given), as conditional densities are read
        and not (name in {"of", "given"} and path.parts[-2:] == CONDITIONAL)
    ]
    assert not places, "say what it is, such as mixture or diagnostics:\n" + "\n".join(places)


SECTIONS = {"Parameters", "Attributes", "Returns", "Yields"}


def bare_entries(docstring: str) -> Iterator[str]:
    """Yield the entries of the sections of a docstring that have a type and nothing else."""
    _, *parts = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", docstring, flags=re.MULTILINE)
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        lines = [line for line in body.splitlines() if line.strip()]
        if title in SECTIONS:
            for line, following in zip(lines, [*lines[1:], ""], strict=True):
                if not line.startswith(" ") and not following.startswith(" "):
                    yield line


def test_entries_of_docstrings__say_more_than_a_type():
    bare = [
        f"{path.relative_to(PACKAGE)}:{node.lineno} {entry}"
        for path in FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for entry in bare_entries(ast.get_docstring(node) or "")
    ]
    assert not bare, "say what it is, or leave the entry out:\n" + "\n".join(bare)


def test_bare_entries__are_those_without_text():
    text = (
        "A sum.\n\nParameters\n----------\na : int\nb : float\n    The other.\n\n"
        "Returns\n-------\nint\n\nNotes\n-----\nSlow."
    )
    assert list(bare_entries(text)) == ["a : int", "int"]
