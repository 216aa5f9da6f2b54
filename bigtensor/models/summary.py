"""What was fitted on what, in how many passes, as a piece of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from bigtensor.errors import NoPopulationsError

_STYLE = (
    ".bigtensor-summary{font-family:sans-serif;font-size:13px;margin:6px 0}"
    ".bigtensor-summary table{border-collapse:collapse;margin:4px 0}"
    ".bigtensor-summary th,.bigtensor-summary td{border:1px solid #bbb;padding:2px 8px;"
    "text-align:left;vertical-align:top}"
)


MOST_ROWS = 40
"""Weights that are listed one by one; of more, the heaviest."""


def summary_html(model: Any) -> str:
    """Return tables of the data, the passes and the components or populations of a fitted model.

    Parameters
    ----------
    model : LatentVariableModel
        Fitted.

    Returns
    -------
    str
        Complete in itself: no script, no link, everything that came from the data escaped.
    """
    found = model.diagnostics_
    views = model.views_.as_mapping()
    facts = [
        ("data", found["data"]),
        ("rows", f"{found['rows']:,} ({found['rows_left_out']:,} left out)"),
        ("features", f"{model.n_features_in_} ({len(model.views_.feature_names)} used)"),
        ("views", "; ".join(f"{name}: {', '.join(members)}" for name, members in views.items())),
        ("passes", f"{len(found['passes'])} ({_passes_in_words(found['passes'])})"),
        *((name, text) for name, text in model._outcome_in_words()),
    ]
    sizes = _sizes_of_populations(model)
    if sizes is not None:
        merged = f"{len(model.weights_)} components merged into {len(sizes)}"
        facts.append(("populations", f"{merged} by {model.merge_tree_.criterion}"))
    return (
        f'<style>{_STYLE}</style><div class="bigtensor-summary">'
        f"<strong>Fitted {escape(type(model).__name__)}</strong>"
        f"{_table((), facts)}{_weight_table(model, sizes)}</div>"
    )


def _sizes_of_populations(model: Any) -> list[int] | None:
    """Return how many components every population has, or None without populations."""
    try:
        of_component = model.population_of_component_
    except (AttributeError, NoPopulationsError):
        return None
    return [int(size) for size in np.bincount(of_component)]


def _weight_table(model: Any, sizes: Sequence[int] | None) -> str:
    """Return the weights of populations with their numbers of components, or of components."""
    weights = model.weights_ if sizes is None else model.population_weights_
    head = ("component", "weight") if sizes is None else ("population", "weight", "components")
    rows = [[str(h), f"{weight:.4f}"] for h, weight in enumerate(weights)]
    for row, size in zip(rows, sizes or (), strict=False):
        row.append(str(size))
    if len(rows) > MOST_ROWS:
        rest = float(sum(weights[MOST_ROWS:]))
        rows = [*rows[:MOST_ROWS], [f"{len(rows) - MOST_ROWS} more", f"{rest:.4f}"]]
    return _table(head, rows)


def _passes_in_words(passes: Iterable[dict[str, Any]]) -> str:
    """List passes with the rows that each of them read."""
    return ", ".join(f"{entry['name']}: {entry['rows']:,} rows" for entry in passes)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of escaped text."""
    body = "".join(_row("td", row) for row in rows)
    return f"<table>{_row('th', head) if head else ''}{body}</table>"


def _row(tag: str, cells: Iterable[str]) -> str:
    """Return one row of a table."""
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
