"""A file of views to begin with, beside the store that an import made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path


def views_path(store: Path) -> Path:
    """Return the file of views beside a store: ``cells.views.toml`` beside ``cells.zarr``."""
    return store.with_name(f"{store.name.removesuffix('.zarr')}.views.toml")


def write_starter_views(
    store: Path, features: Sequence[str], left_out: Mapping[str, Sequence[str]]
) -> bool:
    """Write the default views of a store to a file beside it, to be edited.

    Features that are left out, such as scatter and time, are comments.

    Parameters
    ----------
    store : Path
        Store that an import has made.
    features : sequence of str
        Features of the default views.
    left_out : mapping of str to sequence of str
        The other features, by the reasons why they are left out.

    Returns
    -------
    bool
        False if there is a file already. It stays as it is.

    Raises
    ------
    OSError
        When the file cannot be written.
    """
    try:
        with views_path(store).open("x", encoding="utf-8") as file:
            file.write(starter_views(store.name, features, left_out))
    except FileExistsError:
        return False
    return True


def starter_views(
    store: str, features: Sequence[str], left_out: Mapping[str, Sequence[str]]
) -> str:
    """Return the text of a file of views: every feature used by default is its own view.

    Parameters
    ----------
    store : str
        The name of the store.
    features : sequence of str
        Features of the default views.
    left_out : mapping of str to sequence of str
        The other features, by the reasons why they are left out.
    """
    lines = [
        f"# The views that a fit of {json.dumps(store)} has by itself. Edit them and give",
        "# this file with --views. Features that depend on each other within a population share",
        '# a view: "T cells" = ["CD3", "CD4"]',
        "",
        "[views]",
        *map(_line, features),
    ]
    for reason, names in left_out.items():
        lines += ["", f"# Left out ({reason}):", *(f"# {_line(name)}" for name in names)]
    return "\n".join(lines) + "\n"


def _line(feature: str) -> str:
    """Return a view of one feature, as TOML."""
    # what JSON leaves unescaped and TOML does not allow
    name = json.dumps(feature, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"{name} = [{name}]"
