"""Fits whose passes follow from resolved settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.latent_variable_model import LatentVariableModel
from bigtensor.models.contract.script import PlannedPass, Script


@dataclass(frozen=True)
class FitSteps:
    """Functions that a fit is made of.

    Attributes
    ----------
    settings_of : callable (model, shape, effective_rows) -> settings
        With the number of rows of all sites, which weighted rows stand for.
    prepare : callable (settings) -> Script
        First half of the script, before the sums over all rows.
    refine : callable (preparation) -> Script
        Second half of the script.
    planned_preparation, planned_refinement : callable (settings) -> list of PlannedPass
        Upper bounds of the passes that the scripts ask for.
    """

    settings_of: Callable[[Any, DataShape, float], Any]
    prepare: Callable[[Any], Script]
    refine: Callable[[Any], Script]
    planned_preparation: Callable[[Any], list[PlannedPass]]
    planned_refinement: Callable[[Any], list[PlannedPass]]


class ScriptedFit(LatentVariableModel):
    """A model whose fit is made of the functions of its folder, which its class names."""

    _steps: ClassVar[FitSteps]

    def _prepare(self, shape: DataShape, expected: float | None = None) -> Script:
        """Ask for the passes after which everything is fixed that the sums depend on."""
        return self._steps.prepare(
            self._steps.settings_of(self, shape, expected or shape.effective_rows)
        )

    def _refine(self, preparation: Any) -> Script:
        """Ask for the sums, and solve between them."""
        return self._steps.refine(preparation)

    def _planned_preparation(self, shape: DataShape) -> list[PlannedPass]:
        """Return upper bounds of what `_prepare` will ask for."""
        return self._steps.planned_preparation(
            self._steps.settings_of(self, shape, shape.effective_rows)
        )

    def _planned_refinement(self, shape: DataShape) -> list[PlannedPass]:
        """Return upper bounds of what `_refine` will ask for."""
        return self._steps.planned_refinement(
            self._steps.settings_of(self, shape, shape.effective_rows)
        )
