"""Small tables in HTML, as notebooks show models and plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

# colours are those of the page around it, light or dark
_STYLE = (
    ".bigtensor-summary{font-family:sans-serif;font-size:13px;margin:6px 0}"
    ".bigtensor-summary table{border-collapse:collapse;margin:4px 0 8px}"
    ".bigtensor-summary th,.bigtensor-summary td{border:1px solid rgba(128,128,128,.45);"
    "padding:2px 8px;text-align:left;vertical-align:top;color:inherit;max-width:48em}"
)


def page_of_tables(title: str, *tables: str) -> str:
    """Return tables below a title.

    Parameters
    ----------
    title : str
        It is escaped.
    *tables : str
        From `table_of`.

    Returns
    -------
    str
        Complete in itself: no script and no link.
    """
    return (
        f'<style>{_STYLE}</style><div class="bigtensor-summary">'
        f"<strong>{escape(title)}</strong>{''.join(tables)}</div>"
    )


def table_of(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Return a table of escaped text; nothing without rows.

    Parameters
    ----------
    rows : sequence of sequences of str
        Cells of every row.
    head : sequence of str
        Names of the columns, if they have any.
    """
    if not rows:
        return ""
    body = "".join(_row("td", row) for row in rows)
    return f"<table>{_row('th', head) if head else ''}{body}</table>"


def _row(tag: str, cells: Iterable[str]) -> str:
    """Return one row of a table."""
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
