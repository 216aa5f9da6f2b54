"""Checks of tables with one row for every patient, file or other group of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.samples import Samples
from bigtensor.errors import DataError, ParameterError, Setting, WeightWarning, warn


class HasDiagnostics(Protocol):
    """A fitted model."""

    diagnostics_: dict[str, Any]


def lacks_weights(model: HasDiagnostics, samples: Samples) -> bool:
    """Return True if the rows of the fit had sample weights, and these rows have none.

    Whole numbers are left out: they are frequencies of rows, or a mask, and rows without weights
    may be the repeated ones.

    Parameters
    ----------
    model : fitted model
        Model whose diagnostics are read.
    samples : Samples
        Opened rows.
    """
    return not (model.diagnostics_.get("whole_weights", True) or samples.has_weight)


def warn_of_absent_weights(model: HasDiagnostics, samples: Samples) -> None:
    """Warn if the rows of the fit had sample weights, and these rows have none.

    Parameters
    ----------
    model : fitted model
        Model whose diagnostics are read.
    samples : Samples
        Opened rows.

    Warns
    -----
    WeightWarning
    """
    if lacks_weights(model, samples):
        warn(
            f"{type(model).__name__} was fitted with sample weights, and {samples.describe()} has "
            "none, so that every row counts alike; give "
            + Setting("sample_weight")
            + ", open the rows with the weight of open_samples, or store the variable 'weight' "
            "with them",
            WeightWarning,
        )


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
