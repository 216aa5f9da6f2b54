"""Sections of every report and of every mixture, around the sections of the model.

The answer comes first: populations, samples, rows. How they were fitted comes last.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.words.label_level import UNSTABLE_BELOW, LabelLevel
from bigtensor.models.words.report_blocks import (
    Block,
    Group,
    Notice,
    ReportParts,
    Section,
    Words,
)
from bigtensor.models.words.report_figures import Bars, Histograms
from bigtensor.models.words.sampled_rows import LabelledRows, SampledRows
from bigtensor.report import tables
from bigtensor.report.annotation import Annotation, annotate_by_majority, reliability
from bigtensor.report.data_names import name_of_other_data
from bigtensor.report.embedding import embedding_section
from bigtensor.report.sentences import fit_sentences, sample_sentence


@dataclass(frozen=True, eq=False)
class Findings:
    """Results that all parts of the page share.

    Attributes
    ----------
    model : fitted model
        Model that the page describes.
    parts : ReportParts
        Parts that only the model knows.
    level : LabelLevel, optional
        Of a mixture.
    rows : SampledRows, optional
        Sample of the data. None if the report has no data.
    samples : tuple of Section
        Section on the samples, if the data have any.
    notes : tuple of Notice
        Notices that are no banners.
    """

    model: Any
    parts: ReportParts
    level: LabelLevel | None
    rows: SampledRows | None
    samples: tuple[Section, ...] = ()
    notes: tuple[Notice, ...] = ()


def page_sections(findings: Findings) -> list[Section]:
    """Return the sections of the page."""
    level, rows, parts = findings.level, findings.rows, findings.parts
    before: list[Section] = []
    after: list[Section] = []
    if level is not None:
        labelled = rows if isinstance(rows, LabelledRows) else None
        annotation = None if labelled is None else annotate_by_majority(labelled)
        before.append(_level_section(level, labelled, parts))
        before += findings.samples
        if labelled is not None:
            before += _class_sections(level, labelled, annotation)
            before += embedding_section(level, labelled)
            after.append(_probability_section(level, labelled, annotation))
    elif rows is not None and rows.state is not None:
        before += _state_sections(rows, rows.state, len(findings.model.occupancy_))
    return [
        *before,
        *parts.sections,
        *after,
        _fit_section(findings),
        _diagnostic_section(findings),
    ]


def headline(findings: Findings) -> list[tuple[str, str]]:
    """Return the figures of the page's head."""
    level, rows = findings.level, findings.rows
    rows_name, features_name = findings.parts.axes
    count = findings.model.diagnostics_["rows"]
    if rows is not None and name_of_other_data(findings.model, rows):
        count = rows.total
    lines = [
        (rows_name, f"{count:,}"),
        (features_name, f"{len(findings.model.views_.feature_names):,}"),
    ]
    if level is not None:
        lines.append((f"{level.name}s", str(level.count)))
    if rows is not None and rows.sample_id is not None and len(rows.sample_id.names) > 1:
        lines.append(("samples", str(len(rows.sample_id.names))))
    return [*lines, *findings.parts.headline]


def _fit_section(findings: Findings) -> Section:
    """Return what was fitted on what."""
    sentences = fit_sentences(findings.model, findings.level, findings.parts.method)
    if findings.rows is not None:
        other = name_of_other_data(findings.model, findings.rows)
        sentences.append(sample_sentence(findings.rows, other))
    words = tuple(Words(sentence, "plain") for sentence in sentences)
    blocks: list[Block] = [Group(words, layout="prose")]
    if findings.notes:
        texts = tuple(Words(notice.text, "plain") for notice in findings.notes)
        blocks.append(Group(texts, "Notes on the fit"))
    return Section("fit", "What was fitted on what", tuple(blocks), "What was fitted")


def _level_section(level: LabelLevel, rows: LabelledRows | None, parts: ReportParts) -> Section:
    """Return the weights of components or populations, with the columns of the model."""
    name = level.name
    lead = ["Numbers are those of the labels."]
    if level.stability is not None:
        lead.append(
            "Stability says whether populations are found again when components are fitted to "
            "half of the rows: 1 stands for the same rows in every half. Populations below "
            f"{UNSTABLE_BELOW:g} are seldom more than a part of something else. Nothing is shown "
            "where halves hold too few rows to tell."
        )
    if parts.columns_lead:
        lead.append(parts.columns_lead)
    if rows is not None:
        labelled = "all rows" if rows.counts_all_labels else "the sampled rows"
        weighted = ", by their sample weights" if rows.has_weight else ""
        lead.append(
            f"Labelled is the share of {labelled} with this label{weighted}. "
            "Certainty is the mean probability of the sampled rows with this label."
        )
    beside: tuple[Block, ...] = parts.overview or (_weight_bars(level, rows),)
    table = tables.level_table(level, rows, parts.columns)
    # the answer stands above the words on how to read it
    blocks = (Group((Group(beside), table), layout="beside"), Words(" ".join(lead)))
    return Section(f"{name}s", f"{name.capitalize()}s", blocks)


def _weight_bars(level: LabelLevel, rows: LabelledRows | None) -> Bars:
    """Return the weights as bars, with the shares of labels as lines across them."""
    return Bars(
        f"Mixing weights of all {level.name}s",
        level.weights,
        level.name,
        "weight (%)",
        None if rows is None else rows.shares(level.count),
        "share of the labelled rows",
        level.given_names,
    )


def _probability_section(
    level: LabelLevel, rows: LabelledRows, annotation: Annotation | None
) -> Section:
    """Return how large posterior probabilities are, and how often labels are right."""
    name = level.name
    lead = (
        "Histograms: the probability of the label of the sampled rows, by the "
        f"{name} of their label. All histograms have the same height. Bars at the right are rows "
        "that the model is sure of."
    )
    certainty = Histograms(
        f"Largest probability of the rows of every {name}",
        rows.label,
        rows.certainty,
        rows.weight,
        level.count,
        name,
        "largest probability of a row",
        level.given_names,
    )
    groups = [Group((certainty,), "How sure the model is")]
    if annotation is None:
        lead += (
            " How often the model is right is not known without known classes of the rows (truth)."
        )
    else:
        text = (
            f"Every {name} has the class of most of its rows. The confidence of a row is the sum "
            f"of its probabilities over the {name}s of its class. Upright lines are 95 % "
            "confidence intervals. Below the diagonal the model is too sure, above it too careful. "
            "The expected calibration error is the mean distance from the diagonal, weighted by "
            "rows."
        )
        right = (reliability(annotation), Words(text))
        groups.append(Group(right, "How often the model is right"))
    blocks = (Words(lead), Group(tuple(groups), layout="wide"))
    return Section("probabilities", "Probabilities", blocks)


def _class_sections(
    level: LabelLevel, rows: LabelledRows, annotation: Annotation | None
) -> list[Section]:
    """Return how labels match the known classes, where any row has both."""
    matched = rows.truth and tables.agreement(rows.label, rows.truth, level.count)
    if annotation is None or not matched:
        return []
    shares = tables.agreement_table(matched, level.name)
    blocks = (
        tables.class_table(annotation, level.name),
        Group((shares,), "Where the rows of every class are"),
    )
    title = f"{level.name.capitalize()}s against the known classes"
    return [Section("classes", title, blocks, "Known classes")]


def _state_sections(rows: SampledRows, state: NDArray[np.int64], n_states: int) -> list[Section]:
    """Return how stored states match the known labels of the steps, where any step has both."""
    matched = rows.truth and tables.agreement(state, rows.truth, n_states)
    if not matched:
        return []
    lead = Words(
        f"Known labels of {len(state):,} steps of the data beside the states of the most probable "
        "paths. States are numbered by the model, so that a label may have any number."
    )
    title = "States against the known labels of the steps"
    blocks = (lead, tables.agreement_table(matched, "state"))
    return [Section("classes", title, blocks, "Known labels")]


def _diagnostic_section(findings: Findings) -> Section:
    """Return how the fit went, with everything that was recorded."""
    model = findings.model
    diagnostics = model.diagnostics_
    recorded = json.dumps(diagnostics, indent=2, ensure_ascii=False, default=str)
    parameters = tables.parameter_table(model.parameters_of_fit())
    general: tuple[Block, ...] = (
        Group((tables.pass_table(diagnostics["passes"]),), "Passes over the data", "folded"),
        Group((parameters,), "Parameters", "folded"),
        Group((Words(recorded, "verbatim"),), "Everything that was recorded", "folded"),
    )
    own = findings.parts.diagnostics
    specialist = [Group(own, "Figures of the fit, for specialists", "folded")] if own else []
    return Section("diagnostics", "Diagnostics", (*specialist, *general))
