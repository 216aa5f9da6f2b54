"""Configuration of the documentation's site: ``sphinx-build -W -n docs site``."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from numpydoc.xref import DEFAULT_LINKS
from sphinx.application import Sphinx

import bigtensor

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from gallery_reports import write_reports  # noqa: E402
from other_projects import links_of_types, write_inventories  # noqa: E402

project = "bigtensor"
author = "the bigtensor developers"
copyright = "the bigtensor developers, BSD-3-Clause"  # noqa: A001
version = release = bigtensor.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
]
templates_path = ["templates"]
exclude_patterns = ["templates", "built"]
html_extra_path = ["built"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autosummary_generate = True
# names of methods with their class do not fit beside the page
toc_object_entries_show_parents = "hide"
# docstrings tell types in words that carry shapes and units
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
# words such as "int" stay words
numpydoc_xref_aliases = {word: word for word in DEFAULT_LINKS} | links_of_types()
intersphinx_mapping = write_inventories(Path(mkdtemp()))

html_theme = "pydata_sphinx_theme"
html_title = "bigtensor"
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "gallery": []}
html_show_sourcelink = False
copybutton_prompt_text = "$ "


def setup(app: Sphinx) -> None:
    """Make the reports of the gallery, and connect what docstrings of other projects need."""
    write_reports(DOCS / "built")
    app.connect("autodoc-process-docstring", shorten_docstrings_of_scikit_learn)


def shorten_docstrings_of_scikit_learn(
    app: Sphinx,  # noqa: ARG001
    what: str,  # noqa: ARG001
    name: str,  # noqa: ARG001
    documented: Any,
    options: Any,  # noqa: ARG001
    lines: list[str],
) -> None:
    """Keep the first line of a method of scikit-learn: further lines refer to its own pages."""
    if str(getattr(documented, "__module__", "")).startswith("sklearn."):
        lines[:] = [lines[0], "", "A method of scikit-learn, where it is documented."]
