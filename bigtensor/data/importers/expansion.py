"""Expansion of folders and patterns to the files in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from glob import glob, has_magic
from pathlib import Path

from bigtensor.errors import FileFormatError

FCS_ENDINGS = (".fcs", ".lmd")
"""Endings of files of a cytometer."""

_DIGITS = re.compile(r"(\d+)")


def expand_paths(paths: Iterable[Path], endings: Iterable[str]) -> list[Path]:
    """Replace folders and patterns by the files that they stand for.

    A folder stands for the files in it that have a known ending. In a folder with FCS files, tables
    are those of the panel and of the samples, and are left out. A pattern such as ``day1/*.fcs``
    stands for what matches it; what exists under a name is never taken for a pattern. Files come
    in the order of their names, in which ``s2`` is before ``s10``.

    Parameters
    ----------
    paths : iterable of Path
        Zarr stores, which are folders too, stay as they are.
    endings : iterable of str
        Known endings of files, such as ``".fcs"``; ``.gz`` may follow.

    Raises
    ------
    FileFormatError
        If a folder holds no such file or may not be read, or a pattern matches nothing.
    """
    endings, files = tuple(endings), list[Path]()
    for path in paths:
        try:
            files += _expanded(path, endings)
        except OSError as error:
            raise unreachable(path, error) from error
    return files


def unreachable(path: Path, error: Exception) -> FileFormatError:
    """Return the error for a path that the file system cannot access."""
    return FileFormatError(
        f"{path} cannot be reached ({error}); check the path and its permissions"
    )


def _expanded(path: Path, endings: tuple[str, ...]) -> list[Path]:
    """Return the files of one folder, pattern or path."""
    if path.is_dir() and path.suffix.lower() != ".zarr":
        files = [file for file in path.iterdir() if file.is_file() and _ends_in(file, endings)]
        cytometer = tuple(ending for ending in endings if ending in FCS_ENDINGS)
        files = [file for file in files if _ends_in(file, cytometer)] or files
        if not files:
            raise FileFormatError(
                f"the folder {path} holds no file that ends in one of {', '.join(endings)}; give "
                "the folder that does, or the files"
            )
    elif has_magic(str(path)) and not path.exists():
        # of absolute and relative patterns alike
        files = [Path(name) for name in glob(str(path), recursive=True)]  # noqa: PTH207
        if not files:
            raise FileFormatError(f"no file matches {path}; check the pattern")
    else:
        return [path]
    return sorted(files, key=_natural)


def _ends_in(file: Path, endings: tuple[str, ...]) -> bool:
    """Return True if the name of a file has one of the endings, also compressed."""
    return file.name.lower().removesuffix(".gz").endswith(endings)


def _natural(path: Path) -> list[tuple[int, str]]:
    """Return a sort key that compares numbers inside names as numbers."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(str(path))
    ]
