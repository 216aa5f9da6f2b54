"""Section of a report on the quality of the acquisition: drift, and labels in one stretch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bigtensor.models.words.report_blocks import Block, Group, Notice, Section, Words
from bigtensor.models.words.report_figures import Curve, Curves, Heatmap, Panel
from bigtensor.models.words.sampled_rows import Stretch
from bigtensor.models.words.wording import counted
from bigtensor.report.samples.drift import MATTERS, PARTS, Drift

MOST_LINES = 40
"""Samples, and features, that the heatmap shows: those with the largest drift."""

MOST_CURVES = 6
"""Features of samples whose medians are drawn along time."""


def acquisition_section(
    drift: Drift, stretches: Sequence[Stretch] = (), name: str = "label"
) -> Section:
    """Return the section on the quality of the acquisition.

    Parameters
    ----------
    drift : Drift
        Medians along the acquisition.
    stretches : sequence of Stretch
        Labels whose rows lie in one stretch of one sample.
    name : str
        Kind of the labels, such as ``"population"``.
    """
    order = "the time channel" if drift.by_time else "the rows, which is taken for that of time"
    lead = (
        f"Every sample is divided into {PARTS} parts of equal numbers of rows, in the order of "
        f"{order}. The median of a part is compared with the whole sample: 0 is the median of the "
        "sample, and +20 the value that 70 % of its rows lie below. A drift is flagged from "
        f"{100 * drift.threshold:.0f} on. Smaller values may be chance."
    )
    worst = drift.worst(MOST_CURVES)
    blocks: list[Block] = [Words(lead), Words(_summary(drift), "plain")]
    blocks += [Words(stretch_sentence(one, name), "plain") for one in stretches]
    if worst:
        curves = tuple(_curves(drift, sample, feature) for sample, feature in worst)
        blocks.append(Group(curves, "Medians along the acquisition", "narrow"))
    title = "Largest drift of every feature in every sample"
    blocks.append(Group((_heatmap(drift),), title, "stacked" if worst else "folded"))
    return Section("quality", "Quality of the acquisition", tuple(blocks), "Quality")


def drift_notices(drift: Drift | None) -> list[Notice]:
    """Return the warning of features that drift, the worst one by name."""
    worst = [] if drift is None else drift.worst(1)
    if drift is None or not worst:
        return []
    ((sample, feature),) = worst
    part = int(np.abs(drift.places[sample, feature]).argmax())
    share = 100 * (0.5 + drift.places[sample, feature, part])
    text = (
        f"{drift.features[feature]} drifts along the acquisition of sample "
        f"{drift.samples[sample]}: between {100 * part / PARTS:.0f} % and "
        f"{100 * (part + 1) / PARTS:.0f} % of its rows, the median is a value that {share:.0f} % "
        "of the rows of the sample lie below."
    )
    others = int(drift.flagged.sum()) - 1
    if others:
        text += f" The section on quality lists {counted(others, 'further drift')}."
    return [Notice("warning", text)]


def stretch_sentence(one: Stretch, name: str = "label") -> str:
    """Say where the rows of a label lie.

    Parameters
    ----------
    one : Stretch
        Label whose rows lie in one stretch of one sample.
    name : str
        Kind of the label, such as ``"population"``.
    """
    return (
        f"{name.capitalize()} {one.label} may be an artefact of the acquisition, such as a clog or "
        f"an air bubble: {100 * one.share:.0f} % of its {counted(one.rows, 'row')} lie in one "
        f"stretch of sample {one.sample}, between {100 * one.start:.0f} % and "
        f"{100 * one.stop:.0f} % of its rows."
    )


def _summary(drift: Drift) -> str:
    """Say which features of which samples drift."""
    flagged = drift.worst(drift.flagged.size)
    tested = f"{counted(len(drift.features), 'feature')} in {counted(len(drift.samples), 'sample')}"
    if not flagged:
        return f"Of {tested}, none drifts."
    named = ", ".join(
        f"{drift.features[feature]} in {drift.samples[sample]} "
        f"({100 * drift.largest[sample, feature]:+.0f})"
        for sample, feature in flagged[:MOST_LINES]
    )
    more = len(flagged) - MOST_LINES
    return f"Of {tested}, these drift: {named}{f' and {more} more' if more > 0 else ''}."


def _heatmap(drift: Drift) -> Heatmap:
    """Return the largest drift of every feature in every sample."""
    size = np.abs(drift.largest)
    rows = np.sort(np.argsort(-size.max(axis=1), kind="stable")[:MOST_LINES])
    columns = np.sort(np.argsort(-size.max(axis=0), kind="stable")[:MOST_LINES])
    return Heatmap(
        "Largest drift of every feature in every sample",
        100 * drift.largest[np.ix_(rows, columns)],
        tuple(drift.samples[row] for row in rows),
        tuple(drift.features[column] for column in columns),
        "drift",
        limit=max(300 * MATTERS, float(100 * size.max())),
        diverging=True,
        decimals=0,
    )


def _curves(drift: Drift, sample: int, feature: int) -> Curves:
    """Return the medians of one feature along the acquisition of one sample."""
    middle = (np.arange(PARTS) + 0.5) * 100 / PARTS
    medians = drift.medians[sample, feature]
    whole = float(np.median(medians))
    name = drift.features[feature]
    panel = Panel(
        (
            Curve([0, 100], [whole, whole], "median of the parts", None, dashed=True),
            Curve(middle, medians, marker=4),
        ),
        f"{name} in {drift.samples[sample]}",
        "acquisition (% of the rows)",
        f"median of {name}",
        x_limits=(0, 100),
    )
    return Curves(f"Medians of {name} along the acquisition of {drift.samples[sample]}", (panel,))
