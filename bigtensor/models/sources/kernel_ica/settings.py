"""Resolved parameters of a kernel component analysis."""

from __future__ import annotations

from dataclasses import dataclass

from bigtensor.errors import Message, ParameterError, Setting
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import NoEffect, ParameterValues, unused_parameter
from bigtensor.models.pilot.sample import most_pilot_rows
from bigtensor.models.sources.kernel_ica.declared_parameters import PARAMETERS
from bigtensor.models.sources.settings import (
    ROWS_OF_ROTATION,
    SourceSettings,
    check_orientation,
    check_rows,
    enough_rows,
)

LAPLACE = "laplace"
LINEAR = "linear"
"""Kernel whose features are the standardised features of the data."""

AXES_BESIDE = 20
"""Axes of the sample that are kept beside twice as many as sources, so that none is lost."""


@dataclass(frozen=True)
class KernelICASettings(SourceSettings):
    """Resolved parameters and the data that they are resolved for.

    Attributes
    ----------
    kernel : {"gaussian", "laplace", "linear"}
        Kernel of the features.
    bandwidth : float, optional
        In standard deviations of the features; None for the default of the number of features.
    n_landmarks, max_iter : int
        Number of landmarks, and largest number of iterations over all rows.
    """

    kernel: str
    bandwidth: float | None
    n_landmarks: int
    max_iter: int

    @property
    def most_landmarks(self) -> int:
        """Number of landmarks, or of features of the linear kernel."""
        if self.kernel == LINEAR:
            return self.n_features
        return min(self.n_landmarks, self.pilot_rows)

    @property
    def most_axes(self) -> int:
        """Number of axes of the sample along which the features of all rows are summed."""
        return min(2 * self.most_components + AXES_BESIDE, self.most_landmarks)


def settings_of(parameters: ParameterValues, shape: DataShape) -> KernelICASettings:
    """Return the resolved parameters for the data.

    Raises
    ------
    ParameterError
        When the kernel has fewer features than there are components.
    DataError
        When there are fewer rows than components, or far more features of a linear kernel than
        rows.
    """
    d, k = len(shape.features), int(parameters.n_components)
    if parameters.kernel == LINEAR:
        check_orientation(max(shape.rows, shape.all_rows), d)
    check_rows(max(shape.rows, shape.all_rows), k)
    enough = enough_rows(ROWS_OF_ROTATION * k, d)
    settings = KernelICASettings(
        shape=shape,
        n_components=k,
        kernel=str(parameters.kernel),
        bandwidth=None if parameters.bandwidth == "auto" else float(parameters.bandwidth),
        n_landmarks=int(parameters.n_landmarks),
        max_iter=int(parameters.max_iter),
        pilot_rows=most_pilot_rows(parameters, shape, enough),
        random_state=parameters.random_state,
    )
    if settings.kernel == LINEAR and k > d:
        raise ParameterError(
            Setting("n_components", k)
            + f" exceeds the {d} feature{'s' * (d > 1)}, and the linear kernel has at most as many "
            "sources as features: use fewer components, or " + Setting("kernel", "gaussian")
        )
    if settings.kernel != LINEAR and k > settings.n_landmarks:
        raise ParameterError(
            Setting("n_components", k)
            + f" exceeds the {settings.n_landmarks} landmarks, of which there have to be as many "
            "as sources: use fewer components, or more landmarks (" + Setting("n_landmarks") + ")"
        )
    return settings


_NO_EFFECT = (
    NoEffect(("bandwidth", "n_landmarks"), "kernel", (LINEAR,), "which is known without landmarks"),
)


def without_effect(parameters: ParameterValues) -> Message | None:
    """Return a sentence on parameters that the linear kernel does not have, or None."""
    return unused_parameter(parameters, PARAMETERS, _NO_EFFECT)
