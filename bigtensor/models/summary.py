"""What was fitted on what, in how many passes, as a piece of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    of_component = population_of_component(model)
    if of_component is not None:
        count = len(model.population_weights_)
        merged = f"{count}, merged from {len(of_component)} components"
        facts.append(("populations", f"{merged} by {model.merge_tree_.criterion}"))
    return (
        f'<style>{_STYLE}</style><div class="bigtensor-summary">'
        f"<strong>Fitted {escape(type(model).__name__)}</strong>"
        f"{_table((), facts)}{_weight_table(model, of_component)}</div>"
    )


def population_of_component(model: Any) -> NDArray[np.intp] | None:
    """Return the population of every component of a fitted model, or None without populations.

    Parameters
    ----------
    model : fitted model

    Returns
    -------
    (k,) integer array or None
    """
    try:
        return np.asarray(model.population_of_component_)
    except (AttributeError, NoPopulationsError):
        return None


def _weight_table(model: Any, of_component: NDArray[np.intp] | None) -> str:
    """Return the weights of populations with their numbers of components, or of components."""
    if of_component is None:
        head: tuple[str, ...] = ("component", "weight")
        weights = model.weights_
        rows = [[str(h), f"{weight:.4f}"] for h, weight in enumerate(weights)]
    else:
        head, weights = ("population", "weight", "components"), model.population_weights_
        rows = [
            [str(h), f"{weight:.4f}", str(size)]
            for h, (weight, size) in enumerate(zip(weights, np.bincount(of_component), strict=True))
        ]
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
