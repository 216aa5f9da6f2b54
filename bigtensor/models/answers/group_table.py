"""Checks of tables with one row for every patient, file or other group of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import DataError, ParameterError


def check_table_variable(variable: str, names: Sequence[str]) -> None:
    """Raise a ParameterError for a variable whose name the table has itself.

    Parameters
    ----------
    variable : str
        Variable that groups the rows.
    names : sequence of str
        Dimensions and variables of the table.
    """
    if variable in names:
        raise ParameterError(f"{variable!r} is a name within the table itself; rename the variable")


def require_some_group(kept: NDArray[np.bool_], variable: str) -> None:
    """Raise a DataError unless some group has rows of a positive weight.

    Parameters
    ----------
    kept : (groups,) bool array
        True for groups with a positive weight.
    variable : str
        Variable that groups the rows.
    """
    if not kept.any():
        raise DataError(
            f"no row with a group in {variable!r} and a positive weight is left; look at the "
            "variable, the weights and the missing values"
        )
