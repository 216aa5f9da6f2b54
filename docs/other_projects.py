"""Addresses of other projects' reference pages, for links from this one.

They are kept here, so that the site is built without a network. Sphinx reads them as inventories.
"""

from __future__ import annotations

import zlib
from pathlib import Path

Target = tuple[str, str, str]
"""Kind of a name for Sphinx, the name, and its page below the project's address."""

PROJECTS: dict[str, tuple[str, list[Target]]] = {
    "anndata": (
        "https://anndata.readthedocs.io/en/stable/",
        [("class", "anndata.AnnData", "generated/anndata.AnnData.html")],
    ),
    "dask": (
        "https://docs.dask.org/en/stable/",
        [("class", "dask.array.Array", "generated/dask.array.Array.html")],
    ),
    "distributed": (
        "https://distributed.dask.org/en/stable/",
        [("class", "distributed.Client", "api.html#distributed.Client")],
    ),
    "numpy": (
        "https://numpy.org/doc/stable/",
        [
            ("class", "numpy.ndarray", "reference/generated/numpy.ndarray.html"),
            ("class", "numpy.random.RandomState", "reference/random/legacy.html"),
        ],
    ),
    "pandas": (
        "https://pandas.pydata.org/docs/",
        [("class", "pandas.DataFrame", "reference/api/pandas.DataFrame.html")],
    ),
    "sklearn": (
        "https://scikit-learn.org/stable/",
        [
            ("class", f"sklearn.{name}", f"modules/generated/sklearn.{name}.html")
            for name in ("exceptions.ConvergenceWarning", "exceptions.NotFittedError")
        ],
    ),
    "xarray": (
        "https://docs.xarray.dev/en/stable/",
        [
            ("class", f"xarray.{name}", f"generated/xarray.{name}.html")
            for name in ("DataArray", "Dataset")
        ],
    ),
}

SHORT_NAMES = {
    "AnnData": "anndata.AnnData",
    "DataArray": "xarray.DataArray",
    "DataFrame": "pandas.DataFrame",
    "Dataset": "xarray.Dataset",
    "NotFittedError": "sklearn.exceptions.NotFittedError",
    "RandomState": "numpy.random.RandomState",
    "ndarray": "numpy.ndarray",
}
"""Names by which docstrings call classes of other projects."""


def write_inventories(folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory of every project, and return what ``intersphinx_mapping`` holds."""
    mapping = {}
    for project, (address, targets) in PROJECTS.items():
        lines = "".join(f"{name} py:{kind} 1 {page} -\n" for kind, name, page in targets)
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
        head += "# The remainder of this file is compressed using zlib.\n"
        file = folder / f"{project}.inv"
        file.write_bytes(head.encode() + zlib.compress(lines.encode()))
        mapping[project] = address, str(file)
    return mapping


def links_of_types() -> dict[str, str]:
    """Return the links of the names of classes in the types of parameters."""
    full = [name for _, targets in PROJECTS.values() for _, name, _ in targets]
    links = {name: f":class:`{name}`" for name in full}
    return links | {short: f":class:`{short} <{name}>`" for short, name in SHORT_NAMES.items()}
