"""The Python files of the package, wherever it is installed."""

import ast
from functools import cache
from pathlib import Path

import bigtensor

PACKAGE = Path(bigtensor.__file__).parent

FILES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    # a wheel holds templates there, which are no Python before they are filled in
    if path.relative_to(PACKAGE).parts[0] != "deploy"
)


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file, which is parsed at the first call."""
    return ast.parse(path.read_text(encoding="utf-8"))
