"""Resolved parameters of an independent component analysis."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

from bigtensor.errors import DataError, Message, ParameterError, Setting
from bigtensor.models.data_shape import DataShape, NamedViews
from bigtensor.models.declarations import check_declared
from bigtensor.models.ica.declared_parameters import PARAMETERS

ROWS_A_SOURCE = 1000
ROWS_A_SOURCE_OF_MANY = 500
"""Rows of the pilot sample for every source: a fourth cumulant needs many."""

MANY_ROWS = 100_000

ROWS_OF_ROTATION = 200
"""Rows of the sample for every whitened source."""

ROWS_A_FEATURE = 5

LEAST_PILOT_ROWS = 20_000


@dataclass(frozen=True)
class ICASettings:
    """Resolved parameters, and the size of the data.

    Attributes
    ----------
    views : tuple of (name, features)
    n_components : int, optional
        None for the rank of the data.
    method : {"auto", "whitened", "cumulant"}
    polish_passes, gauss_newton_steps : int
    pilot_rows : int
    rows : int
    dtype : str
    has_weight : bool
    random_state : int
    """

    views: NamedViews
    n_components: int | None
    method: str
    polish_passes: int
    gauss_newton_steps: int
    pilot_rows: int
    rows: int
    dtype: str
    has_weight: bool
    random_state: int

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return sum(len(members) for _, members in self.views)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for _, members in self.views for name in members)

    @property
    def most_components(self) -> int:
        """Number of sources, or of features where it is not given."""
        return self.n_components or self.n_features

    @property
    def rows_of_rotation(self) -> int:
        """Rows in which whitened sources are found."""
        return max(
            ROWS_OF_ROTATION * self.most_components,
            ROWS_A_FEATURE * self.n_features,
            LEAST_PILOT_ROWS,
        )

    @property
    def columns(self) -> tuple[tuple[int, int], ...]:
        """First and last column of all features, which are one group."""
        return ((0, self.n_features),)


def settings_of(model: Any, shape: DataShape, rows: int) -> ICASettings:
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
    if rows < max(k, 2):
        raise DataError(
            f"the data have {rows:,} rows, fewer than the {max(k, 2)} that {k} sources need: use "
            "more rows, or fewer sources (" + Setting("n_components") + ")"
        )
    for_cumulant = min(ROWS_A_SOURCE * k, max(ROWS_A_SOURCE_OF_MANY * k, MANY_ROWS))
    of_sources = ROWS_OF_ROTATION * k if method == "whitened" else for_cumulant
    enough = max(of_sources, ROWS_A_FEATURE * d, LEAST_PILOT_ROWS)
    return ICASettings(
        views=shape.views,
        n_components=asked,
        method=method,
        polish_passes=int(model.polish_passes),
        gauss_newton_steps=int(model.gauss_newton_steps),
        pilot_rows=min(rows, enough if model.pilot_rows is None else int(model.pilot_rows)),
        rows=rows,
        dtype=shape.dtype,
        has_weight=shape.has_weight,
        random_state=model.random_state or 0,
    )


def most_sources(n_features: int) -> int:
    """Return the largest number of sources that a fourth cumulant can tell apart.

    A symmetric tensor of order four has ``comb(d + 3, 4)`` entries, which d numbers a source have
    to leave free, and the norms of the columns follow from a covariance of d (d + 1) / 2 entries.

    Parameters
    ----------
    n_features : int
    """
    d = n_features
    return max(1, min((comb(d + 3, 4) - 1) // d, d * (d + 1) // 2))


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
    if k > most_sources(d):
        raise ParameterError(
            Setting("n_components", k)
            + f" exceeds {most_sources(d)}, the number of sources that the fourth cumulant of {d} "
            f"feature{'s' * (d > 1)} can tell apart: use fewer components or more features"
        )
    return "cumulant"


def check_parameters(model: Any) -> None:
    """Raise a ParameterError for a parameter of an `ICA` that is out of range."""
    check_declared(model, PARAMETERS)


def without_effect(model: Any) -> Message | None:
    """Return a sentence on passes that the method does not make, or None."""
    if model.method == "cumulant" and model.polish_passes != _default("polish_passes"):
        return (
            Setting("polish_passes")
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
