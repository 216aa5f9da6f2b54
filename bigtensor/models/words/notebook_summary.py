"""Summary of a fitted model in a notebook."""

from __future__ import annotations

from typing import Any, Protocol

from bigtensor.html_tables import page_of_tables, table_of
from bigtensor.models.words.described_model import DescribedModel
from bigtensor.models.words.description import ModelDescription
from bigtensor.models.words.suggested_facts import suggested_name_facts
from bigtensor.models.words.wording import names_in_words, passes_in_words

MOST_TABLE_ROWS = 40
"""Components, populations, states or topics that are listed one by one."""


class SummarisedModel(DescribedModel, Protocol):
    """A fitted model with a description."""

    n_features_in_: int

    @property
    def description(self) -> ModelDescription[Any]:
        """Facts and words on the model."""


def summary_html(model: SummarisedModel) -> str:
    """Return tables of the components or populations, the data and the passes of a fitted model.

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
    facts = {**description.facts(model), **suggested_name_facts(model)}
    table = description.table(facts)
    lines = [
        ("data", diagnostics["data"]),
        ("rows", f"{diagnostics['rows']:,} ({diagnostics['rows_left_out']:,} left out)"),
        ("features", f"{model.n_features_in_} ({len(model.views_.feature_names)} used)"),
        ("views", "; ".join(f"{name}: {names_in_words(own)}" for name, own in views.items())),
        ("passes", f"{len(diagnostics['passes'])}: {passes_in_words(diagnostics['passes'])}"),
        *description.lines(facts),
    ]
    return page_of_tables(
        f"Fitted {type(model).__name__}",
        table_of(table.as_text(MOST_TABLE_ROWS), table.head),
        table_of(lines),
    )
