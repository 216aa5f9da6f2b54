"""What was fitted on what, in how many passes, as a piece of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_STYLE = (
    ".bigtensor-summary{font-family:sans-serif;font-size:13px;margin:6px 0}"
    ".bigtensor-summary table{border-collapse:collapse;margin:4px 0}"
    ".bigtensor-summary th,.bigtensor-summary td{border:1px solid #bbb;padding:2px 8px;"
    "text-align:left;vertical-align:top}"
)


def summary_html(model: Any) -> str:
    """Return tables of the data, the passes and the components of a fitted model.

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
    weights = [(str(h), f"{weight:.4f}") for h, weight in enumerate(model.weights_)]
    return (
        f'<style>{_STYLE}</style><div class="bigtensor-summary">'
        f"<strong>Fitted {escape(type(model).__name__)}</strong>"
        f"{_table((), facts)}{_table(('component', 'weight'), weights)}</div>"
    )


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
