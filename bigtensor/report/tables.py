"""The tables of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor.report.annotation import Annotation, class_scores
from bigtensor.report.level import Level
from bigtensor.report.rows import Groups, ReportRows
from bigtensor.report.summary import component_description
from bigtensor.report.words import percent

FloatArray = NDArray[np.float64]

MOST_GROUPS = 60
"""Rows of a table of groups; of more groups the largest are shown."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    text : str
    shade : float
        Strength of the background, 0 to 1.
    wide : bool
        Whether it holds so much text that its lines are broken.
    """

    text: str
    shade: float = 0.0
    wide: bool = False


@dataclass(frozen=True)
class Table:
    """A table with its heading.

    Attributes
    ----------
    header : tuple of str
        The first names the rows.
    rows : tuple of tuples of Cell
    caption : str
        Whole sentences that say how to read it.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class LevelRow:
    """What the report says of one component, or population.

    Attributes
    ----------
    number : int
        As in the labels.
    weight : str
    description : str
    nearest, affinity : str
        The one it resembles most, and how much; empty where there is no other.
    share, certainty : str
        Part of the labelled rows, and their mean probability; empty without data.
    """

    number: int
    weight: str
    description: str
    nearest: str
    affinity: str
    share: str = ""
    certainty: str = ""


@dataclass(frozen=True, eq=False)
class Agreement:
    """How the labels of the model match those that the data bring along.

    Attributes
    ----------
    names : tuple of str
        Labels of the data that occur.
    counts : (labels, m) int array
        Rows of every label of the data in every component, or population.
    best : (labels,) int array
        The one with the largest F1 score.
    f1 : (labels,) float array
        ``2 both / (rows of the label + rows of the component or population)``.
    """

    names: tuple[str, ...]
    counts: NDArray[np.int64]
    best: NDArray[np.int64]
    f1: FloatArray

    @property
    def mean_f1(self) -> float:
        """The mean over labels, each counting the same."""
        return float(self.f1.mean())


def level_rows(shown: Level, rows: ReportRows | None) -> list[LevelRow]:
    """Describe every component, or population.

    Parameters
    ----------
    shown : Level
    rows : ReportRows, optional

    Returns
    -------
    list of LevelRow
    """
    count = shown.count
    others = shown.overlap - np.eye(count)
    shares = None if rows is None else rows.shares(count)
    found = []
    for h in range(count):
        nearest = int(np.argmax(others[h]))
        certainty = ""
        if rows is not None and (members := rows.label == h).any():
            mean = np.average(rows.certainty[members], weights=rows.weight[members])
            certainty = f"{mean:.2f}"
        found.append(
            LevelRow(
                h,
                percent(shown.weights[h]),
                component_description(shown.standardised[:, h], shown.features),
                str(nearest) if count > 1 else "",
                f"{others[h, nearest]:.2f}" if count > 1 else "",
                "" if shares is None else percent(shares[h]),
                certainty,
            )
        )
    return found


def member_table(weights: FloatArray, of_component: NDArray[np.intp]) -> Table:
    """Return which components every population is made of.

    Parameters
    ----------
    weights : (k,) array
        Of the components.
    of_component : (k,) integer array
    """
    rows = []
    for population in range(int(of_component.max()) + 1):
        members = np.flatnonzero(of_component == population)
        listed = ", ".join(f"{h}\N{NO-BREAK SPACE}({100 * weights[h]:.2f})" for h in members)
        rows.append(
            (
                Cell(str(population)),
                Cell(percent(weights[members].sum())),
                Cell(str(len(members))),
                Cell(listed, wide=True),
            )
        )
    return Table(
        ("population", "weight", "components", "which, with their weights in per cent"), tuple(rows)
    )


def component_table(
    weights: FloatArray,
    of_component: NDArray[np.intp],
    standardised: FloatArray,
    features: Sequence[str],
) -> Table:
    """Return what the components of populations are like.

    Parameters
    ----------
    weights : (k,) array
    of_component : (k,) integer array
    standardised : (features, k) array
    features : sequence of str
    """
    return Table(
        ("component", "population", "weight", "features"),
        tuple(
            (
                Cell(str(h)),
                Cell(str(of_component[h])),
                Cell(percent(weights[h])),
                Cell(component_description(standardised[:, h], features), wide=True),
            )
            for h in range(len(weights))
        ),
    )


def agreement(label: NDArray[np.int64], truth: Groups, n_labels: int) -> Agreement | None:
    """Compare labels of the model with those of the data; rows without either do not count.

    Parameters
    ----------
    label : (n,) int array
    truth : Groups
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
    counts = counts[occurring]
    totals = counts.sum(axis=1)[:, None] + counts.sum(axis=0)
    score = 2 * counts / np.maximum(totals, 1)
    best = score.argmax(axis=1)
    names = tuple(name for name, kept in zip(truth.names, occurring, strict=True) if kept)
    return Agreement(names, counts, best, score[np.arange(len(best)), best])


def agreement_table(found: Agreement, name: str = "component") -> Table:
    """Return the shares of every class in every component, or population."""
    k = found.counts.shape[1]
    sizes = found.counts.sum(axis=1)
    order = np.argsort(-sizes, kind="stable")
    rows = []
    for index in order[:MOST_GROUPS]:
        shares = found.counts[index] / sizes[index]
        rows.append(
            (
                Cell(found.names[index]),
                Cell(f"{sizes[index]:,}"),
                *(Cell(_share(share), float(share)) for share in shares),
                Cell(str(found.best[index])),
                Cell(f"{found.f1[index]:.3f}"),
            )
        )
    numbers = tuple(str(h) for h in range(k))
    return Table(
        ("class", "rows", *numbers, f"best {name}", "its F1"),
        tuple(rows),
        f"Per cent of the rows of every class that are in each {name}. The best {name} of a class "
        f"has the largest F1 by itself. The mean of these F1 is {found.mean_f1:.3f}."
        + _cut(len(order)),
    )


def class_table(annotation: Annotation, name: str = "component") -> Table:
    """Return precision, recall and F1 of every class, largest class first.

    Parameters
    ----------
    annotation : Annotation
    name : str, default "component"
        What has the classes.
    """
    scores = class_scores(annotation)
    order = np.argsort(-scores.rows, kind="stable")
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
    sizes: NDArray[np.int64],
    weights: FloatArray,
    errors: FloatArray,
    name: str = "component",
    *,
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
    method : str, default "maximum likelihood"
        How the weights were estimated.
    """
    order = [int(index) for index in np.argsort(-sizes, kind="stable")]
    shown = sorted(order[:MOST_GROUPS])
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
    numbers = tuple(str(h) for h in range(weights.shape[1]))
    caption = (
        f"Mixing weights of every {name} in every sample, in per cent, with standard errors: "
        f"estimated by {method}."
    )
    return Table(("sample", "rows", *numbers), rows, caption + _cut(len(order)))


def _cross_counts(label: NDArray[np.int64], groups: Groups, n_labels: int) -> NDArray[np.int64]:
    """Count rows by group and label: ``(groups, labels)``."""
    known = (label >= 0) & (groups.codes >= 0)
    shape = (len(groups.names), n_labels)
    flat = groups.codes[known] * n_labels + label[known]
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
