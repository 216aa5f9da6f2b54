"""Description of a fitted or a prepared model for ``bigtensor info``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bigtensor.cli.output import one_line
from bigtensor.data.values.import_record import ImportRecord
from bigtensor.models.words.suggested_facts import suggested_name_facts
from bigtensor.models.words.wording import counted, name_and_number, names_in_words

if TYPE_CHECKING:
    from bigtensor.models.words.summary_table import SummaryTable


def model_facts(path: str) -> dict[str, Any]:
    """Return the facts of a fitted or a prepared model.

    Parameters
    ----------
    path : str
        Path or URL of a stored model.

    Returns
    -------
    dict
        After ``views`` those that the model itself tells.
    """
    from bigtensor.models.contract.declarations import flat_values, options_classes
    from bigtensor.models.contract.model_files import load_model

    model = load_model(path, fitted=False)
    diagnostics = model.diagnostics_
    parameters = flat_values(model.get_params(), options_classes(model.declares))
    del parameters["views"]
    return {
        "kind": "model",
        "model": type(model).__name__,
        "fitted": model.__sklearn_is_fitted__(),
        "parameters": parameters,
        "data": diagnostics["data"],
        "matrix": model.matrix_,
        "import_record": None if model.import_record_ is None else model.import_record_.facts(),
        "passes": diagnostics["passes"],
        "next_pass": model.next_pass,
        "views": {name: list(members) for name, members in model.views_.as_mapping().items()},
        **model.description.facts(model),
        **suggested_name_facts(model),
    }


def pass_lines(passes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Describe passes. Passes of one name and size share a line.

    Parameters
    ----------
    passes : sequence of mappings
        With the entries ``name``, such as ``"posterior 2"``, ``rows``, ``parts`` and
        ``reused_parts``.
    """
    together: dict[tuple[str, int, int], list[int]] = {}
    for entry in passes:
        key = name_and_number(entry["name"])[0], entry["rows"], entry["parts"]
        together.setdefault(key, []).append(entry["reused_parts"])
    for (name, rows, parts), reused in together.items():
        times = f", {len(reused)} times" if len(reused) > 1 else ""
        kept = f", {sum(reused)} from the checkpoint" if sum(reused) else ""
        yield f"  {name:<20} {rows:>14,} rows in {counted(parts, 'part')}{times}{kept}"


def model_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Describe a fitted or a prepared model in words."""
    from bigtensor.models.contract.registry import model_class

    description = model_class(facts["model"]).description
    size = description.size(facts)
    yield f"model      {facts['path']}: {facts['model']}{f' of {size}' if size else ''}"
    parameters = facts["parameters"].items()
    yield f"parameters {', '.join(f'{name} {value}' for name, value in parameters)}"
    yield f"{'fitted on' if facts['fitted'] else 'prepared on':<10} {facts['data']}"
    if facts["matrix"] is not None:
        yield f"matrix of the fit  {facts['matrix']} of AnnData (answers for AnnData read it)"
    if (record := ImportRecord.of_facts(facts["import_record"])) is not None:
        yield f"imported with  {one_line(record.in_words())}"
    yield "passes"
    yield from pass_lines(facts["passes"])
    yield "views"
    for name, features in facts["views"].items():
        yield f"  {one_line(name):<20} {names_in_words([one_line(own) for own in features])}"
    if not facts["fitted"]:
        yield "next       accumulate statistics with it, and solve them"
        return
    yield from table_lines(description.table(facts))
    for name, words in description.lines(facts):
        yield f"{name:<10} {one_line(words)}"


def table_lines(table: SummaryTable, most: int | None = None) -> Iterator[str]:
    """Return the lines of a table, with columns of equal width.

    Parameters
    ----------
    table : SummaryTable
        From `ModelDescription.table`.
    most : int, optional
        Number of lines that are shown one by one, by default all.
    """
    rows = [[one_line(cell) for cell in row] for row in table.as_text(most)]
    if not rows:
        return
    lines = [list(table.head), *rows]
    widths = [max(10, *(len(line[0]) for line in lines))]
    widths += [max(map(len, column)) for column in list(zip(*lines, strict=True))[1:]]
    for line in lines:
        cells = (f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        yield " ".join(cells).rstrip()
