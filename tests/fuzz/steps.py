"""Steps that inputs and readers of several kinds share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from click.testing import CliRunner

from bigtensor.cli import main
from bigtensor.data.opening import open_samples

SOME_ROWS = 500


def new_entry(folder: Path, name: str, entry: str) -> Path:
    """Return the path of a new input."""
    (folder / name).mkdir()
    return folder / name / entry


def values(data: Any, groups: str | None = None) -> dict[str, Any]:
    """Open samples and read their first rows."""
    samples = open_samples(data, groups=groups)
    source = samples.sources[0]
    columns = source.read(0, min(samples.rows, SOME_ROWS))
    held = {"rows": samples.rows, "features": list(samples.features), **vars(columns)}
    return held if groups is None else held | {"groups": repr(samples.groups)}


def show(path: Path) -> None:
    """Describe a file or store as ``bigtensor info`` does.

    An error of the package ends the command in one line. What a user does next ends in it again.
    """
    result = CliRunner().invoke(main, ["info", str(path)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if "this was not expected" in result.output or "\x1b" in result.output:
        raise RuntimeError(f"bigtensor info printed {result.output!r}")
