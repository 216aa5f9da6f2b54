"""Summary of a fitted model in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Protocol

from bigtensor.models.words.described_model import DescribedModel
from bigtensor.models.words.description import ModelDescription
from bigtensor.models.words.wording import names_in_words, passes_in_words

MOST_TABLE_ROWS = 40
"""Components, populations, states or topics that are listed one by one."""

_STYLE = (
    ".bigtensor-summary{font-family:sans-serif;font-size:13px;margin:6px 0}"
    ".bigtensor-summary table{border-collapse:collapse;margin:4px 0}"
    ".bigtensor-summary th,.bigtensor-summary td{border:1px solid #bbb;padding:2px 8px;"
    "text-align:left;vertical-align:top}"
)


class SummarisedModel(DescribedModel, Protocol):
    """A fitted model with a description."""

    n_features_in_: int

    @property
    def description(self) -> ModelDescription[Any]:
        """Facts and words on the model."""


def summary_html(model: SummarisedModel) -> str:
    """Return tables of the data, the passes and the components or populations of a fitted model.

    Parameters
    ----------
    model : Estimator
        Fitted.

    Returns
    -------
    str
        Complete in itself: no script, no link, everything that came from the data escaped.
    """
    diagnostics = model.diagnostics_
    views = model.views_.as_mapping()
    description = model.description
    facts = description.facts(model)
    table = description.table(facts)
    lines = [
        ("data", diagnostics["data"]),
        ("rows", f"{diagnostics['rows']:,} ({diagnostics['rows_left_out']:,} left out)"),
        ("features", f"{model.n_features_in_} ({len(model.views_.feature_names)} used)"),
        ("views", "; ".join(f"{name}: {names_in_words(own)}" for name, own in views.items())),
        ("passes", f"{len(diagnostics['passes'])}: {passes_in_words(diagnostics['passes'])}"),
        *description.lines(facts),
    ]
    return (
        f'<style>{_STYLE}</style><div class="bigtensor-summary">'
        f"<strong>Fitted {escape(type(model).__name__)}</strong>"
        f"{_table((), lines)}{_table(table.head, table.as_text(MOST_TABLE_ROWS))}</div>"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of escaped text; nothing without rows."""
    if not rows:
        return ""
    body = "".join(_row("td", row) for row in rows)
    return f"<table>{_row('th', head) if head else ''}{body}</table>"


def _row(tag: str, cells: Iterable[str]) -> str:
    """Return one row of a table."""
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
