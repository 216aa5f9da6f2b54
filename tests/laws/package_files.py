"""The Python files of the package, wherever it is installed."""

from pathlib import Path

import bigtensor

PACKAGE = Path(bigtensor.__file__).parent

FILES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    # a wheel holds templates there, which are no Python before they are filled in
    if path.relative_to(PACKAGE).parts[0] != "deploy"
)
