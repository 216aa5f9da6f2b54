"""Results that all parts of the report share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bigtensor.report.annotation import Annotation
from bigtensor.report.level import Level, Levels
from bigtensor.report.rows import ReportRows
from bigtensor.report.tables import Table


@dataclass(frozen=True, eq=False)
class Findings:
    """Results that all parts of the page share.

    Attributes
    ----------
    model : fitted model
    levels : Levels
    rows : ReportRows, optional
    composition : Table, optional
        Mixing weights of every sample.
    annotation : Annotation, optional
        Known classes of the rows, where there are any.
    """

    model: Any
    levels: Levels
    rows: ReportRows | None
    composition: Table | None
    annotation: Annotation | None

    @property
    def shown(self) -> Level:
        """Populations where there are any, else components."""
        return self.levels.shown
