"""Option of a condition on the rows, and the share of rows that meet it."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bigtensor.cli.output import one_line

if TYPE_CHECKING:
    from bigtensor.data.rows.row_shares import RowShares
    from bigtensor.data.rows.samples import Samples
    from bigtensor.models.contract.estimator import Estimator

Function = TypeVar("Function", bound=Callable[..., Any])

MOST_SAMPLES = 20
"""Samples whose shares are shown. JSON holds all."""


def where_option(words: str) -> Callable[[Function], Function]:
    """Return a decorator that adds ``--where``, passed on as the argument ``condition``.

    Parameters
    ----------
    words : str
        Rows that the command reads or writes, for the help.
    """
    return click.option(
        "--where",
        "condition",
        metavar="CONDITION",
        help=f"{words} For example 'CD45 > 2 and DNA < 8' or 'sample_id in [\"a\", \"b\"]'. Names "
        "are features and variables of the rows. Put a name with other characters than letters, "
        "digits and _ in backticks: '`FSC-A` < 4'.",
    )


def rows_that_meet(
    condition: str | None, rows: str | Samples, cells: str, model: Estimator
) -> str | Samples:
    """Return the rows that meet a condition, after one pass that counts them.

    Parameters
    ----------
    condition : str, optional
        From ``--where``. None keeps all rows.
    rows : path, URL or Samples
        All rows; see `bigtensor.cli.sequences.in_order`.
    cells : str
        Path or URL of the rows.
    model : Estimator
        Model that will read the rows.
    """
    if condition is None:
        return rows
    from bigtensor.cli.progress import reporter
    from bigtensor.data.opening import open_samples
    from bigtensor.data.rows.selected_rows import select_rows
    from bigtensor.models.contract.opening_for_answers import in_matrix_of_fit

    samples = open_samples(in_matrix_of_fit(model, rows), sample_dim=model.sample_dim)
    with reporter() as progress, progress.rows("count") as advance:
        return select_rows(samples, [cells], condition, model.sample_dim, progress=advance)


def shares_in_words(rows: str | Samples | RowShares) -> str:
    """Return the share of rows that meet a condition, in all and by sample; empty without one."""
    shares = _shares_of(rows)
    if shares is None:
        return ""
    words = (
        f"where      {one_line(shares.condition)}: {shares.kept:,} of {shares.rows:,} rows "
        f"({_share(shares.kept, shares.rows)})\n"
    )
    return words + (_table(shares) if len(shares.rows_by) > 1 else "")


def shares_as_facts(rows: str | Samples | RowShares) -> dict[str, Any]:
    """Return the numbers of rows that meet a condition, as ``--json`` prints them."""
    shares = _shares_of(rows)
    if shares is None:
        return {}
    samples = {
        name: {"rows": rows, "kept": shares.kept_by[name]} for name, rows in shares.rows_by.items()
    }
    numbers = {"rows": shares.rows, "kept": shares.kept, "samples": samples}
    return {"where": {"condition": shares.condition, **numbers}}


def _shares_of(rows: str | Samples | RowShares) -> RowShares | None:
    """Return the numbers of rows that meet a condition; None for all rows."""
    if isinstance(rows, str):
        return None
    from bigtensor.data.rows.row_shares import RowShares

    return rows if isinstance(rows, RowShares) else rows.shares


def _table(shares: RowShares) -> str:
    """Return the shares of samples as lines of a table."""
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=None, pad_edge=False)
    shown.add_column("sample", no_wrap=True)
    for header in ("rows", "kept", "share"):
        shown.add_column(header, justify="right")
    for name, rows in list(shares.rows_by.items())[:MOST_SAMPLES]:
        kept = shares.kept_by[name]
        shown.add_row(one_line(name), f"{rows:,}", f"{kept:,}", _share(kept, rows))
    text = StringIO()
    Console(file=text, width=160, markup=False, highlight=False, emoji=False).print(shown)
    lines = [f"           {line.rstrip()}" for line in text.getvalue().splitlines()]
    more = len(shares.rows_by) - MOST_SAMPLES
    if more > 0:
        lines.append(f"           and {more:,} more samples")
    return "\n".join(lines) + "\n"


def _share(kept: int, rows: int) -> str:
    """Return a share in per cent."""
    return f"{kept / rows:.1%}"
