"""The tables of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.report.figures import percent
from bigtensor.report.rows import Groups, ReportRows
from bigtensor.report.summary import component_description

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
    """

    text: str
    shade: float = 0.0


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
class ComponentRow:
    """What the report says of one component.

    Attributes
    ----------
    number : int
        As in the labels.
    weight : str
    description : str
    nearest, affinity : str
        The component it resembles most, and how much; empty for a single component.
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
    """How components match the labels that the data bring along.

    Attributes
    ----------
    names : tuple of str
        Labels of the data that occur.
    counts : (labels, k) int array
        Rows of every label in every component.
    best : (labels,) int array
        The component with the largest F1 score.
    f1 : (labels,) float array
        ``2 both / (rows of the label + labelled rows of the component)``.
    """

    names: tuple[str, ...]
    counts: NDArray[np.int64]
    best: NDArray[np.int64]
    f1: FloatArray

    @property
    def mean_f1(self) -> float:
        """The mean over labels, each counting the same."""
        return float(self.f1.mean())


def component_rows(
    weights: FloatArray,
    standardised: FloatArray,
    features: Sequence[str],
    overlap: FloatArray,
    rows: ReportRows | None,
) -> list[ComponentRow]:
    """Describe every component.

    Parameters
    ----------
    weights : (k,) array
    standardised : (features, k) array
    features : sequence of str
    overlap : (k, k) array
    rows : ReportRows, optional

    Returns
    -------
    list of ComponentRow
    """
    k = len(weights)
    others = overlap - np.eye(k)
    shares = None if rows is None else rows.shares(k)
    found = []
    for h in range(k):
        nearest = int(np.argmax(others[h]))
        certainty = ""
        if rows is not None and (members := rows.label == h).any():
            mean = np.average(rows.certainty[members], weights=rows.weight[members])
            certainty = f"{mean:.2f}"
        found.append(
            ComponentRow(
                h,
                percent(weights[h]),
                component_description(standardised[:, h], features),
                str(nearest) if k > 1 else "",
                f"{others[h, nearest]:.2f}" if k > 1 else "",
                "" if shares is None else percent(shares[h]),
                certainty,
            )
        )
    return found


def agreement(label: NDArray[np.int64], truth: Groups, n_components: int) -> Agreement | None:
    """Compare components with the labels of the data; rows without either are not counted.

    Parameters
    ----------
    label : (n,) int array
    truth : Groups
    n_components : int

    Returns
    -------
    Agreement or None
        None where no row has both.
    """
    counts = _cross_counts(label, truth, n_components)
    occurring = counts.sum(axis=1) > 0
    if not occurring.any():
        return None
    counts = counts[occurring]
    totals = counts.sum(axis=1)[:, None] + counts.sum(axis=0)
    score = 2 * counts / np.maximum(totals, 1)
    best = score.argmax(axis=1)
    names = tuple(name for name, kept in zip(truth.names, occurring, strict=True) if kept)
    return Agreement(names, counts, best, score[np.arange(len(best)), best])


def agreement_table(found: Agreement) -> Table:
    """Return where the rows of every label of the data ended up."""
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
    components = tuple(str(h) for h in range(k))
    return Table(
        ("label in the data", "rows", *components, "best component", "F1"),
        tuple(rows),
        "Per cent of the rows of every label that belong to each component. The best component of "
        f"a label is the one with the largest F1 score; their mean is {found.mean_f1:.3f}."
        + _cut(len(order)),
    )


def composition_table(label: NDArray[np.int64], sample_id: Groups, n_components: int) -> Table:
    """Return what every sample is made of."""
    counts = _cross_counts(label, sample_id, n_components)
    sizes = counts.sum(axis=1)
    order = [index for index in np.argsort(-sizes, kind="stable") if sizes[index]]
    shown = sorted(order[:MOST_GROUPS])
    rows = tuple(
        (
            Cell(sample_id.names[index]),
            Cell(f"{sizes[index]:,}"),
            *(Cell(_share(share), float(share)) for share in counts[index] / sizes[index]),
        )
        for index in shown
    )
    components = tuple(str(h) for h in range(n_components))
    caption = "Per cent of the rows of every sample that belong to each component."
    return Table(("sample", "rows", *components), rows, caption + _cut(len(order)))


def pass_table(passes: Sequence[dict[str, Any]]) -> Table:
    """Return what every pass read."""
    return Table(
        ("pass", "rows", "parts", "reused parts"),
        tuple(
            (
                Cell(str(one["name"])),
                *(Cell(f"{one[key]:,}") for key in ("rows", "parts", "reused_parts")),
            )
            for one in passes
        ),
    )


def parameter_table(parameters: dict[str, Any]) -> Table:
    """Return the parameters that the model was made with."""
    return Table(
        ("parameter", "value"),
        tuple((Cell(name), Cell(str(value))) for name, value in parameters.items()),
    )


def conditioning_table(spectral: dict[str, Any], groups: Sequence[Sequence[str]]) -> Table:
    """Return condition numbers and spectral gaps of the three groups of views."""
    names = [", ".join(members) for members in groups]
    rows = [
        (Cell(f"second moments of {name}"), Cell(f"{value:.3g}"))
        for name, value in zip(names, spectral["condition_numbers"]["seconds"], strict=True)
    ]
    for pair, value in spectral["condition_numbers"]["pairs"].items():
        first, second = (names[int(group)] for group in pair.split("-"))
        rows.append((Cell(f"pair moments of {first} with {second}"), Cell(f"{value:.3g}")))
    for name, gap in zip(names, spectral["spectral_gap"], strict=True):
        rows.append(
            (Cell(f"spectral gap of {name}"), Cell("none" if gap is None else f"{gap:.3g}"))
        )
    return Table(
        ("figure", "value"),
        tuple(rows),
        "The larger a condition number, and the closer a spectral gap to one, the less certain is "
        "the spectral start.",
    )


def _cross_counts(label: NDArray[np.int64], groups: Groups, n_components: int) -> NDArray[np.int64]:
    """Count rows by group and component: ``(groups, k)``."""
    known = (label >= 0) & (groups.codes >= 0)
    shape = (len(groups.names), n_components)
    flat = groups.codes[known] * n_components + label[known]
    return np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape)


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
