"""Resolved parameters of an independent component analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bigtensor.errors import Message, ParameterError, Setting
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.declarations import check_declared
from bigtensor.models.sources.ica.declared_parameters import PARAMETERS
from bigtensor.models.sources.settings import (
    ROWS_OF_ROTATION,
    SourceSettings,
    check_identifiable,
    check_rows,
    enough_rows,
    rows_for_cumulant,
)


@dataclass(frozen=True)
class ICASettings(SourceSettings):
    """Resolved parameters, and the size of the data.

    Attributes
    ----------
    method : {"auto", "whitened", "cumulant"}
        Algorithm of the fit.
    max_iter, gauss_newton_steps : int
        Largest numbers of fixed-point iterations and of Gauss-Newton steps over all rows.
    """

    method: str
    max_iter: int
    gauss_newton_steps: int


def settings_of(model: Any, shape: DataShape, effective_rows: float) -> ICASettings:
    """Return the resolved parameters of a model.

    Raises
    ------
    ParameterError
        When there are more components than the method can find.
    DataError
        When there are fewer rows than components.
    """
    d = len(shape.features)
    asked = None if model.n_components is None else int(model.n_components)
    k = asked or d
    method = _method(str(model.method), k, d)
    check_rows(max(shape.rows, effective_rows), k)
    for_sources = ROWS_OF_ROTATION * k if method == "whitened" else rows_for_cumulant(k)
    enough = enough_rows(for_sources, d)
    return ICASettings(
        views=shape.views,
        n_components=asked,
        method=method,
        max_iter=int(model.max_iter),
        gauss_newton_steps=int(model.gauss_newton_steps),
        pilot_rows=min(shape.rows, enough if model.pilot_rows is None else int(model.pilot_rows)),
        rows=shape.rows,
        dtype=shape.dtype,
        has_weight=shape.has_weight,
        random_state=model._seed,
    )


def _method(method: str, k: int, d: int) -> str:
    """Return the method; more sources than features leave the cumulant alone.

    Raises
    ------
    ParameterError
    """
    if k <= d:
        return method
    if method == "whitened":
        raise ParameterError(
            Setting("n_components", k)
            + f" exceeds the {d} feature{'s' * (d > 1)}, and whitened rows have at most as many "
            "sources as features: use " + Setting("method", "cumulant") + ", or fewer components"
        )
    check_identifiable(k, d)
    return "cumulant"


def check_parameters(model: Any) -> None:
    """Raise a ParameterError for a parameter of an `ICA` that is out of range."""
    check_declared(model, PARAMETERS)


def without_effect(model: Any) -> Message | None:
    """Return a sentence on passes that the method does not make, or None."""
    if model.method == "cumulant" and model.max_iter != _default("max_iter"):
        return (
            Setting("max_iter")
            + " has no effect with "
            + Setting("method", "cumulant")
            + ", which makes Gauss-Newton steps: leave it out"
        )
    if model.method == "whitened" and model.gauss_newton_steps != _default("gauss_newton_steps"):
        return (
            Setting("gauss_newton_steps")
            + " has no effect with "
            + Setting("method", "whitened")
            + ", which makes fixed-point iterations: leave it out"
        )
    return None


def _default(name: str) -> Any:
    """Return the default of a parameter."""
    return next(parameter.default for parameter in PARAMETERS if parameter.name == name)
