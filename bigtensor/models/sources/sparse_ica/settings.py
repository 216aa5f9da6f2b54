"""Resolved parameters of a sparse component analysis."""

from __future__ import annotations

from dataclasses import dataclass

from bigtensor.errors import Message, Setting
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import ParameterValues
from bigtensor.models.pilot.sample import most_pilot_rows
from bigtensor.models.sources.settings import (
    SourceSettings,
    check_identifiable,
    check_orientation,
    check_rows,
    enough_rows,
    rows_for_cumulant,
)
from bigtensor.models.sources.sparse_ica.declared_parameters import PARAMETERS


@dataclass(frozen=True)
class SparseSettings(SourceSettings):
    """Resolved parameters and the data that they are resolved for.

    Attributes
    ----------
    max_iter, gauss_newton_steps : int
        Largest numbers of iterations and of Gauss-Newton steps over all rows.
    """

    max_iter: int
    gauss_newton_steps: int


def settings_of(parameters: ParameterValues, shape: DataShape) -> SparseSettings:
    """Return the resolved parameters for the data.

    Raises
    ------
    ParameterError
        When there are more components than the fourth cumulant can tell apart.
    DataError
        When there are fewer rows than components, or far more features than rows.
    """
    d = len(shape.features)
    check_orientation(max(shape.rows, shape.all_rows), d)
    asked = None if parameters.n_components is None else int(parameters.n_components)
    k = asked or d
    check_identifiable(k, d)
    check_rows(max(shape.rows, shape.all_rows), k)
    enough = enough_rows(rows_for_cumulant(k), d)
    return SparseSettings(
        shape=shape,
        n_components=asked,
        max_iter=int(parameters.max_iter),
        gauss_newton_steps=int(parameters.gauss_newton_steps),
        pilot_rows=most_pilot_rows(parameters, shape, enough),
        random_state=parameters.random_state,
    )


def without_effect(parameters: ParameterValues) -> Message | None:
    """Return a sentence on steps that polish passes stand in for, or None."""
    default = next(p.default for p in PARAMETERS if p.name == "gauss_newton_steps")
    if parameters.max_iter and parameters.gauss_newton_steps != default:
        return (
            Setting("gauss_newton_steps")
            + " has no effect with polish passes, which solve for the columns by least squares "
            "unless there are further sources: leave it out, or use " + Setting("max_iter", 0)
        )
    return None
