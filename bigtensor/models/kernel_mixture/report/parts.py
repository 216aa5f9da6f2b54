"""Parts of the report that only a kernel mixture has."""

from __future__ import annotations

from bigtensor.models.kernel_mixture.report.described_mixture import DescribedKernelMixture
from bigtensor.models.kernel_mixture.report.diagnostics import diagnostic_blocks
from bigtensor.models.kernel_mixture.report.levels import levels_of
from bigtensor.models.kernel_mixture.report.median_heatmap import median_heatmap
from bigtensor.models.kernel_mixture.report.notices import fit_notices
from bigtensor.models.kernel_mixture.report.sections import (
    columns_lead,
    level_columns,
    sections_of,
)
from bigtensor.models.kernel_mixture.report.sentences import method_sentences
from bigtensor.models.words.report_blocks import ReportParts
from bigtensor.models.words.sampled_rows import LabelledRows


def report_parts(model: DescribedKernelMixture, rows: LabelledRows | None) -> ReportParts:
    """Return the parts of the report on a fitted kernel mixture.

    Parameters
    ----------
    model : fitted model
        Fitted model that the report describes.
    rows : LabelledRows, optional
        Sample of labelled rows.
    """
    levels = levels_of(model)
    shown = levels.shown
    return ReportParts(
        notices=fit_notices(model, shown),
        method=method_sentences(model),
        columns=level_columns(shown, levels.labels.names),
        columns_lead=columns_lead(shown),
        overview=(median_heatmap(levels),),
        sections=sections_of(model, levels, rows),
        diagnostics=diagnostic_blocks(model),
    )
