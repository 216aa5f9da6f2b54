"""A file of views to begin with, beside the store that an import made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

NAME = "views.toml"


def write_starter_views(
    store: Path, features: Sequence[str], untransformed: Sequence[str]
) -> Path | None:
    """Write the default views of a store to ``views.toml`` beside it, to be edited.

    Features that the import left linear, such as scatter and time, are comments.

    Parameters
    ----------
    store : Path
        Store that an import has made.
    features, untransformed : sequence of str
        All features, and those left linear.

    Returns
    -------
    Path, optional
        The file; None where there is one already, which stays as it is.

    Raises
    ------
    OSError
        When the file cannot be written.
    """
    path = store.with_name(NAME)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(starter_views(store.name, features, untransformed))
    except FileExistsError:
        return None
    return path


def starter_views(store: str, features: Sequence[str], untransformed: Sequence[str]) -> str:
    """Return the text of a file of views: every feature on the common scale is its own view.

    Parameters
    ----------
    store : str
        The name of the store.
    features, untransformed : sequence of str
        All features, and those left linear. Where all are linear they are views all the same.
    """
    left_out = set(untransformed) if set(untransformed) < set(features) else set[str]()
    lines = [
        f"# The views that a fit of {json.dumps(store)} has by itself. Edit them and give",
        "# this file with --views. Features that depend on each other within a population share",
        '# a view: "T cells" = ["CD3", "CD4"]',
        "",
        "[views]",
        *(_line(name) for name in features if name not in left_out),
    ]
    if left_out:
        lines += [
            "",
            "# Left linear by the import:",
            *(f"# {_line(name)}" for name in features if name in left_out),
        ]
    return "\n".join(lines) + "\n"


def _line(feature: str) -> str:
    """Return a view of one feature, as TOML."""
    # what JSON leaves unescaped and TOML does not allow
    name = json.dumps(feature, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"{name} = [{name}]"
