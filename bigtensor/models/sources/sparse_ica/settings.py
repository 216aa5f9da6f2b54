"""Resolved parameters of a sparse component analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bigtensor.errors import Message, Setting
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.declarations import check_declared
from bigtensor.models.sources.settings import (
    SourceSettings,
    check_identifiable,
    check_rows,
    enough_rows,
    rows_for_cumulant,
)
from bigtensor.models.sources.sparse_ica.declared_parameters import PARAMETERS


@dataclass(frozen=True)
class SparseSettings(SourceSettings):
    """Resolved parameters, and the size of the data.

    Attributes
    ----------
    max_iter, gauss_newton_steps : int
        Largest numbers of iterations and of Gauss-Newton steps over all rows.
    """

    max_iter: int
    gauss_newton_steps: int


def settings_of(model: Any, shape: DataShape, effective_rows: float) -> SparseSettings:
    """Return the resolved parameters of a model.

    Raises
    ------
    ParameterError
        When there are more components than the fourth cumulant can tell apart.
    DataError
        When there are fewer rows than components.
    """
    d = len(shape.features)
    asked = None if model.n_components is None else int(model.n_components)
    k = asked or d
    check_identifiable(k, d)
    check_rows(max(shape.rows, effective_rows), k)
    enough = enough_rows(rows_for_cumulant(k), d)
    return SparseSettings(
        views=shape.views,
        n_components=asked,
        max_iter=int(model.max_iter),
        gauss_newton_steps=int(model.gauss_newton_steps),
        pilot_rows=min(shape.rows, enough if model.pilot_rows is None else int(model.pilot_rows)),
        rows=shape.rows,
        dtype=shape.dtype,
        has_weight=shape.has_weight,
        random_state=model._seed,
    )


def check_parameters(model: Any) -> None:
    """Raise a ParameterError for a parameter of a `SparseICA` that is out of range."""
    check_declared(model, PARAMETERS)


def without_effect(model: Any) -> Message | None:
    """Return a sentence on steps that polish passes stand in for, or None."""
    default = next(p.default for p in PARAMETERS if p.name == "gauss_newton_steps")
    if model.max_iter and model.gauss_newton_steps != default:
        return (
            Setting("gauss_newton_steps")
            + " has no effect with polish passes, which solve for the columns by least squares: "
            "leave it out, or use " + Setting("max_iter", 0)
        )
    return None
