"""A model that is not of the package and says itself what is told of it."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bigtensor.models.words.report_blocks import (
    Cell,
    Group,
    Notice,
    ReportParts,
    Section,
    Table,
    Words,
)
from bigtensor.models.words.report_figures import Heatmap
from bigtensor.models.words.sampled_rows import SampledRows
from tests.laws.small_model import Description, Standardiser


class SpreadDescription(Description):
    """Mean and spread of every feature."""

    def facts(self, model: Any) -> dict[str, Any]:
        fitted = model.__sklearn_is_fitted__()
        return {**super().facts(model), "mean": model.mean_.tolist() if fitted else []}

    def size(self, facts: Mapping[str, Any]) -> str:
        return f"{len(facts['mean'])} means" if facts["mean"] else ""

    def lines(self, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        yield from super().lines(facts)
        yield "means", ", ".join(f"{value:.1f}" for value in facts["mean"])

    def report(self, model: Any, rows: SampledRows | None) -> ReportParts:
        names = model.views_.feature_names
        means = zip(names, model.mean_, strict=True)
        cells = [(Cell(name), Cell(f"{mean:.2f}")) for name, mean in means]
        blocks = [Words("Means as colours."), Table(("feature", "mean"), tuple(cells))]
        shades = np.abs(model.mean_)[:, None]
        blocks.append(Heatmap("Means", shades, names, ("mean",), "mean", float(shades.max())))
        if rows is not None:
            blocks.append(Words(f"The sample holds {len(rows.values)} rows."))
        section = Section("spread", "Spread of <features>", tuple(blocks), "Spread")
        parts = super().report(model, rows)
        notice = Notice("warning", "The means are far from zero.")
        return ReportParts(
            notices=(notice,),
            headline=(("largest mean", f"{model.mean_.max():.1f}"),),
            method=parts.method,
            sections=(section,),
            diagnostics=(Group((Words("Two passes are enough."),), "Remarks", "folded"),),
        )


class Described(Standardiser):
    """Mean and standard deviation of every feature, with a description."""

    description = SpreadDescription()
