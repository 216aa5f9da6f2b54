"""Roles of features: which are markers, and what the others are."""

from collections.abc import Iterable
from typing import Literal, cast, get_args

Role = Literal["use", "scatter", "time", "viability", "barcode", "empty", "ignore"]

ROLES: tuple[Role, ...] = get_args(Role)
"""Roles of a feature. Features of another role than ``use`` are in no default view."""

COORDINATE = "role"
"""Coordinate of the features that holds their roles."""


def checked_roles(values: Iterable[object]) -> tuple[Role, ...] | None:
    """Return the values of a coordinate as roles.

    Parameters
    ----------
    values : iterable
        One for every feature.

    Returns
    -------
    tuple of str, optional
        None if a value is no role, because other data may have a coordinate of this name.
    """
    roles = tuple(map(str, values))
    return cast("tuple[Role, ...]", roles) if {*roles} <= {*ROLES} else None
