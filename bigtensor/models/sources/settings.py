"""Resolved parameters that all models of independent sources have."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from bigtensor.errors import ConditioningWarning, DataError, ParameterError, Setting, warn
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.pilot.sample import ROWS_A_FEATURE

ROWS_A_SOURCE = 1000
ROWS_A_SOURCE_OF_MANY = 500
"""Rows of the pilot sample for every source: a fourth cumulant needs many."""

MANY_ROWS = 100_000

ROWS_OF_ROTATION = 200
"""Rows of the sample for every whitened source."""

LEAST_PILOT_ROWS = 20_000


@dataclass(frozen=True)
class SourceSettings:
    """Resolved parameters and the data that they are resolved for.

    Attributes
    ----------
    shape : DataShape
        Size, names and types of the data.
    n_components : int, optional
        None for the rank of the data.
    pilot_rows : int
        Largest number of rows of the pilot sample.
    random_state : int
        Seed of the model.
    """

    shape: DataShape
    n_components: int | None
    pilot_rows: int
    random_state: int

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.shape.features)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.shape.features

    @property
    def most_components(self) -> int:
        """Number of sources, or of features where it is not given."""
        return self.n_components or self.n_features

    @property
    def rows_of_rotation(self) -> int:
        """Rows in which whitened sources are found."""
        return enough_rows(ROWS_OF_ROTATION * self.most_components, self.n_features)

    @property
    def columns(self) -> tuple[tuple[int, int], ...]:
        """First and last column of all features, which are one group."""
        return ((0, self.n_features),)


def rows_for_cumulant(n_components: int) -> int:
    """Return the rows in which the terms of a fourth cumulant can be found."""
    k = n_components
    return min(ROWS_A_SOURCE * k, max(ROWS_A_SOURCE_OF_MANY * k, MANY_ROWS))


def enough_rows(for_sources: int, n_features: int) -> int:
    """Return the rows of a sample, of which there are some for sources and for features."""
    return max(for_sources, ROWS_A_FEATURE * n_features, LEAST_PILOT_ROWS)


_FAR_MORE_FEATURES = 10
"""Features for every row beyond which the rows are probably the channels of a recording."""

_MOST_FEATURES_OF_FEWER_ROWS = 20_000
"""Largest number of features if there are fewer rows: a covariance of them takes 3 GiB."""

_MOST_FEATURES_OF_FAR_FEWER_ROWS = 5_000
"""Largest number of features if there are far fewer rows. The eigenvectors of 3,000 features take
8 s, and their time grows with the third power."""


def check_orientation(rows: float, n_features: int) -> None:
    """Warn of what is probably a recording with a row for every channel. Refuse a large one.

    Parameters
    ----------
    rows : float
        Number of rows, or of the rows that they stand for, whichever is larger.
    n_features : int
        Number of features.

    Raises
    ------
    DataError
        When the eigenvectors of the covariance would take long.
    """
    d, far_fewer = n_features, rows * _FAR_MORE_FEATURES < n_features
    most = _MOST_FEATURES_OF_FAR_FEWER_ROWS if far_fewer else _MOST_FEATURES_OF_FEWER_ROWS
    message = (
        f"the data have {rows:,.0f} rows and {d:,} features; rows are points in time and features "
        "are channels: if the rows are channels, as in MNE-Python, give X.T"
    )
    if rows < d and d > most:
        raise DataError(
            message + ", and otherwise reduce the features first, such as by principal components, "
            f"because the eigenvectors of a covariance of {d:,} features take long"
        )
    if far_fewer:
        warn(message, ConditioningWarning)


LEAST_ROWS = 4
"""Whitened, three rows are an equilateral triangle, in which no direction differs from another."""


def check_rows(rows: float, n_components: int) -> None:
    """Raise a DataError if there are fewer rows than sources, or than any need.

    Parameters
    ----------
    rows : float
        Sum of the weights of the rows.
    n_components : int
        Number of components.
    """
    if rows < LEAST_ROWS:
        raise DataError(
            f"the data have {rows:,.0f} rows, fewer than the {LEAST_ROWS} that sources are found "
            "in: use more rows"
        )
    if rows < n_components:
        raise DataError(
            f"the data have {rows:,.0f} rows, fewer than the {n_components} that as many sources "
            "need: use more rows, or fewer sources (" + Setting("n_components") + ")"
        )


def most_sources(n_features: int) -> int:
    """Return the largest number of sources that a fourth cumulant can tell apart.

    A symmetric tensor of order four has ``comb(d + 3, 4)`` entries, which d numbers a source have
    to leave free, and the norms of the columns follow from a covariance of d (d + 1) / 2 entries.
    """
    d = n_features
    return max(1, min((comb(d + 3, 4) - 1) // d, d * (d + 1) // 2))


def check_identifiable(n_components: int, n_features: int) -> None:
    """Raise a ParameterError if a fourth cumulant cannot tell so many sources apart."""
    k, d = n_components, n_features
    if k > most_sources(d):
        raise ParameterError(
            Setting("n_components", k)
            + f" exceeds {most_sources(d)}, the number of sources that the fourth cumulant of {d} "
            f"feature{'s' * (d > 1)} can tell apart: use fewer components or more features"
        )
