"""The tables of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.descending_order import descending_order, largest_in_place
from bigtensor.models.words.label_level import LabelLevel
from bigtensor.models.words.report_blocks import Cell, Column, Table
from bigtensor.models.words.sampled_rows import Groups, LabelledRows
from bigtensor.models.words.wording import passes_by_name, percent
from bigtensor.report.agreement import Agreement
from bigtensor.report.annotation import Annotation, class_scores

MOST_GROUPS = 60
"""Rows of a table of groups; of more groups the largest are shown."""


def level_table(
    level: LabelLevel, rows: LabelledRows | None, columns: Sequence[Column] = ()
) -> Table:
    """Return the weight of every component, or population, with what else is known of it.

    Parameters
    ----------
    level : LabelLevel
        Components, or populations, with their mixing weights.
    rows : LabelledRows, optional
        Labelled rows, for their shares and their certainty.
    columns : sequence of Column
        Further columns, of the model.
    """
    standard_columns = [Column("weight", tuple(percent(weight) for weight in level.weights))]
    if level.stability is not None:
        texts = ("" if np.isnan(value) else f"{value:.2f}" for value in level.stability)
        standard_columns.append(Column("stability", tuple(texts)))
    if rows is not None:
        shares = tuple(percent(share) for share in rows.shares(level.count))
        standard_columns += [
            Column("labelled", shares),
            Column("certainty", _certainties(rows, level.count)),
        ]
    described = [column for column in columns if column.wide]
    columns = [*standard_columns, *(column for column in columns if not column.wide)]
    return Table(
        (level.name, *(column.title for column in columns)),
        tuple(
            (
                Cell(
                    name,
                    colour=number,
                    below="; ".join(column.texts[number] for column in described),
                ),
                *(Cell(column.texts[number]) for column in columns),
            )
            for number, name in enumerate(level.numbered_names)
        ),
    )


def _certainties(rows: LabelledRows, count: int) -> tuple[str, ...]:
    """Return the mean probability of the rows of every label; empty without rows."""
    texts = []
    for number in range(count):
        members = rows.label == number
        mean = ""
        if members.any():
            mean = f"{np.average(rows.certainty[members], weights=rows.weight[members]):.2f}"
        texts.append(mean)
    return tuple(texts)


def agreement(label: IntArray, truth: Groups, n_labels: int) -> Agreement | None:
    """Compare labels with the classes in the data. Rows without either do not count.

    Parameters
    ----------
    label : (n,) int array
        Label of every row, negative without one.
    truth : Groups
        Class of every row, negative without one.
    n_labels : int
        Components, or populations.

    Returns
    -------
    Agreement or None
        None where no row has both.
    """
    counts = _cross_counts(label, truth, n_labels)
    occurring = counts.sum(axis=1) > 0
    if not occurring.any():
        return None
    names = tuple(name for name, kept in zip(truth.names, occurring, strict=True) if kept)
    return Agreement.of_best_labels(names, counts[occurring])


def agreement_table(comparison: Agreement, name: str = "component") -> Table:
    """Return the shares of every class in every component, or population."""
    k = comparison.counts.shape[1]
    sizes = comparison.counts.sum(axis=1)
    order = descending_order(sizes)
    scores, rows = comparison.f1, []
    for index in order[:MOST_GROUPS]:
        shares = comparison.counts[index] / sizes[index]
        rows.append(
            (
                Cell(comparison.names[index]),
                Cell(f"{sizes[index]:,}"),
                *(Cell(_share(share), float(share)) for share in shares),
                Cell(str(comparison.matched[index])),
                Cell(f"{scores[index]:.3f}"),
            )
        )
    numbers = tuple(str(h) for h in range(k))
    return Table(
        ("class", "rows", *numbers, f"best {name}", "its F1"),
        tuple(rows),
        f"Per cent of the rows of every class that are in each {name}. The best {name} of a class "
        f"has the largest F1 by itself. The mean of these F1 is {comparison.mean_f1:.3f}."
        + _cut(len(order)),
        matrix=True,
    )


def class_table(annotation: Annotation, name: str = "component") -> Table:
    """Return precision, recall and F1 of every class, largest class first.

    Parameters
    ----------
    annotation : Annotation
        Classes of the labels by majority.
    name : str, default "component"
        What has the classes.
    """
    scores = class_scores(annotation)
    order = descending_order(scores.rows)
    rows = []
    for index in order[:MOST_GROUPS]:
        precision = scores.precision[index]
        members = np.flatnonzero(annotation.of_label == index)
        rows.append(
            (
                Cell(annotation.names[index]),
                Cell(f"{scores.rows[index]:,}"),
                Cell(", ".join(map(str, members)) or "none", wide=True),
                Cell("none" if np.isnan(precision) else f"{precision:.3f}"),
                Cell(f"{scores.recall[index]:.3f}"),
                Cell(f"{scores.f1[index]:.3f}"),
            )
        )
    return Table(
        ("class", "rows", f"{name}s", "precision", "recall", "F1"),
        tuple(rows),
        f"Every {name} has the class of most of its rows with a known class. "
        f"{100 * annotation.share_right:.1f} % of these rows are in a {name} of their class, and "
        f"the mean F1 of the classes is {scores.f1.mean():.3f}. Precision is the share of the rows "
        "found that are of the class. Recall is the share of the class that was found. Classes are "
        f"given and scored by one set of rows, which flatters a {name} with few known rows."
        + _cut(len(order)),
    )


def composition_table(
    names: Sequence[str],
    sizes: IntArray,
    weights: FloatArray,
    errors: FloatArray,
    name: str = "component",
    *,
    columns: Sequence[str] = (),
    method: str = "maximum likelihood",
) -> Table:
    """Return the mixing weights of every sample, with standard errors.

    Parameters
    ----------
    names : sequence of str
        Of the samples.
    sizes : (samples,) int64 array
        Their rows.
    weights : (samples, m) float64 array
        Every row sums to one.
    errors : (samples, m) float64 array
        Standard errors of the weights.
    name : str, default "component"
        What the columns are.
    columns : sequence of str, optional
        Headings of the columns, by default numbers.
    method : str, default "maximum likelihood"
        How the weights were estimated.
    """
    shown = largest_in_place(sizes, MOST_GROUPS).tolist()
    rows = tuple(
        (
            Cell(names[index]),
            Cell(f"{sizes[index]:,}"),
            *(
                Cell(_estimate(share, error), float(share))
                for share, error in zip(weights[index], errors[index], strict=True)
            ),
        )
        for index in shown
    )
    columns = tuple(columns) or tuple(str(h) for h in range(weights.shape[1]))
    caption = (
        f"Mixing weights of every {name} in every sample, in per cent, with standard errors: "
        f"estimated by {method}."
    )
    return Table(("sample", "rows", *columns), rows, caption + _cut(len(sizes)), matrix=True)


def pass_table(passes: Sequence[dict[str, Any]]) -> Table:
    """Return what every pass read. Passes of one name, rows and parts share a line."""
    return Table(
        ("passes", "rows of each", "parts of each", "reused parts"),
        tuple(
            (
                Cell(name),
                *(Cell(f"{own[0][key]:,}") for key in ("rows", "parts")),
                Cell(f"{sum(entry['reused_parts'] for entry in own):,}"),
            )
            for name, own in passes_by_name(passes)
        ),
    )


def parameter_table(parameters: dict[str, Any]) -> Table:
    """Return the parameters that the model was made with."""
    return Table(
        ("parameter", "value"),
        tuple((Cell(name), Cell(str(value))) for name, value in parameters.items()),
    )


def _cross_counts(label: IntArray, groups: Groups, n_labels: int) -> IntArray:
    """Count rows by group and label: ``(groups, labels)``."""
    has_both = (label >= 0) & (groups.codes >= 0)
    shape = (len(groups.names), n_labels)
    flat = groups.codes[has_both] * n_labels + label[has_both]
    return np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape)


def _estimate(share: float, error: float) -> str:
    """Write a share and its standard error as per cent."""
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}±{100 * error:.1f}" if share else "·"


def _share(share: float) -> str:
    """Write a share as per cent, short enough for a wide table."""
    if share == 0:
        return "·"
    return "<1" if share < 0.005 else f"{100 * share:.0f}"


def _cut(groups: int) -> str:
    """Say what a long table leaves out."""
    if groups <= MOST_GROUPS:
        return ""
    return f" The {MOST_GROUPS} largest of {groups:,} are shown."
