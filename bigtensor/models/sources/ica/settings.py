"""Resolved parameters of an independent component analysis."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bigtensor.errors import Message, ParameterError, Setting
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import NoEffect, ParameterValues, unused_parameter
from bigtensor.models.pilot.sample import most_pilot_rows
from bigtensor.models.sources.ica.declared_parameters import PARAMETERS
from bigtensor.models.sources.settings import (
    ROWS_OF_ROTATION,
    SourceSettings,
    check_identifiable,
    check_orientation,
    check_rows,
    enough_rows,
    rows_for_cumulant,
)


@dataclass(frozen=True)
class ICASettings(SourceSettings):
    """Resolved parameters and the data that they are resolved for.

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

    def of_varying(self, varying: int) -> ICASettings:
        """Return the settings with the method for the features that vary.

        Parameters
        ----------
        varying : int
            Number of features that are not constant.

        Raises
        ------
        ParameterError
            When there are more components than the method can find.
        """
        if self.n_components is None:
            return self
        return replace(self, method=_method(self.method, self.n_components, varying, " that vary"))


def settings_of(parameters: ParameterValues, shape: DataShape) -> ICASettings:
    """Return the resolved parameters for the data.

    Raises
    ------
    ParameterError
        When there are more components than the method can find.
    DataError
        When there are fewer rows than components, or far more features than rows.
    """
    d = len(shape.features)
    check_orientation(max(shape.rows, shape.all_rows), d)
    asked = None if parameters.n_components is None else int(parameters.n_components)
    k = asked or d
    method = _method(str(parameters.method), k, d)
    check_rows(max(shape.rows, shape.all_rows), k)
    for_sources = ROWS_OF_ROTATION * k if method == "whitened" else rows_for_cumulant(k)
    enough = enough_rows(for_sources, d)
    return ICASettings(
        shape=shape,
        n_components=asked,
        method=method,
        max_iter=int(parameters.max_iter),
        gauss_newton_steps=int(parameters.gauss_newton_steps),
        pilot_rows=most_pilot_rows(parameters, shape, enough),
        random_state=parameters.random_state,
    )


def _method(method: str, k: int, d: int, which: str = "") -> str:
    """Return the method; more sources than features leave the cumulant alone.

    Parameters
    ----------
    method : {"auto", "whitened", "cumulant"}
        Parameter of the model.
    k, d : int
        Numbers of sources and of features.
    which : str, optional
        Says in a message which features count.

    Raises
    ------
    ParameterError
    """
    if k <= d:
        return method
    if method == "whitened":
        raise ParameterError(
            Setting("n_components", k)
            + f" exceeds the {d} feature{'s' * (d > 1)}{which}, and whitened rows have at most as "
            "many sources as features: use "
            + Setting("method", "cumulant")
            + ", or fewer components"
        )
    check_identifiable(k, d)
    return "cumulant"


_NO_EFFECT = (
    NoEffect(("max_iter",), "method", ("cumulant",), "which makes Gauss-Newton steps"),
    NoEffect(
        ("gauss_newton_steps",), "method", ("whitened",), "which makes fixed-point iterations"
    ),
)


def without_effect(parameters: ParameterValues) -> Message | None:
    """Return a sentence on passes that the method does not make, or None."""
    return unused_parameter(parameters, PARAMETERS, _NO_EFFECT)
