"""Resolved parameters of a tensor-train density."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError, Message, ParameterError, Setting
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import NoEffect, ParameterValues, unused_parameter
from bigtensor.models.tensor_train_density.declared_parameters import PARAMETERS

LEAST_ROWS = 5
"""Rows without which nothing can be validated."""

RANKS = (1, 2, 3, 5, 8, 12, 18, 27)
"""Ranks that validation chooses from. The last one needs `MANY_ROWS` rows, not counting copies.

Of six tables with many rows that chose this, optdigits and magic take the last rank, and gained
1.05 and .09 nats. Of few rows, a table of 263 took it and lost .49 nats.
"""

MANY_ROWS = 2000
"""Distinct rows from which on one fold is enough, and all ranks and widths are compared."""

WIDTHS = ((0.1, 0.3, 0.9), (0.2, 0.6), (0.3, 0.9), (0.5, 1.2), (0.8, 1.2))
"""Standard deviations of bumps that validation chooses from."""

EMBEDDED_RANKS = (1, 2, 3, 5, 8)
EMBEDDED_WIDTHS = ((0.1,), (0.15,), (0.2,), (0.3,), (0.45,), (0.7,), (1.0,))
"""Ranks and widths of the kernel that the validation of an embedding chooses from."""

EMBEDDED_ROWS = 2000
"""Most rows of a kernel embedding, which holds the kernel of all pairs of them."""

SYSTEMS = {
    "queries": ("z", "ns"),
    "density": ("z", "ns", "pca", "ns-pca", "zca", "ns-zca"),
}
"""Coordinates that validation chooses from."""

ROTATION = ("ns-zca", 0.03)
"""Rotated coordinates and their shrinkage that coordinates with queries are compared with."""

FEW_ROWS = 20_000
"""Rows below which several trains are averaged."""

TRAINS = 3

HOLD_OUT = 20
"""One in so many rows is held out from passes, to stop them."""


@dataclass(frozen=True)
class TrainSettings:
    """Resolved parameters and the data that they are resolved for.

    Attributes
    ----------
    shape : DataShape
        Size, names and types of the data.
    ranks : tuple of int
        To choose from.
    systems : tuple of str
        Coordinates to choose from.
    widths : tuple of tuple of float
        Standard deviations of bumps to choose from.
    least_width : float, optional
        Of all bumps; None where only the data limit it.
    method : {"likelihood", "embedding"}
        Algorithm of the fit.
    structure : {"chain", "balanced"}
        Order in which variables are linked.
    n_trains, max_iter, pilot_rows : int
        Numbers of trains, of iterations at most, and of rows of the pilot sample.
    is_sampled : bool
        True if the pilot sample holds some of the rows of all sites only.
    random_state : int
        Seed of the model.
    """

    shape: DataShape
    ranks: tuple[int, ...]
    systems: tuple[str, ...]
    widths: tuple[tuple[float, ...], ...]
    least_width: float | None
    method: str
    structure: str
    n_trains: int
    max_iter: int
    pilot_rows: int
    is_sampled: bool
    random_state: int

    @property
    def symbols(self) -> tuple[int, ...]:
        """Number of categories of every feature; empty for measured data."""
        return tuple(len(names) for names in self.shape.categories)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.shape.features


def settings_of(parameters: ParameterValues, shape: DataShape) -> TrainSettings:
    """Return the resolved parameters for the data.

    Raises
    ------
    DataError
        When there are too few rows, or too many for the method.
    """
    rows = shape.rows
    check_rows(shape.most_occurrences)
    few = shape.all_rows <= FEW_ROWS
    embeds = parameters.method == "embedding"
    if embeds:
        _check_embedded(shape, rows)
    pilot_rows = rows if embeds else min(shape.most_occurrences, int(parameters.pilot_rows))
    ranks = EMBEDDED_RANKS if embeds else RANKS if pilot_rows >= MANY_ROWS else RANKS[:-1]
    return TrainSettings(
        shape=shape,
        ranks=ranks if parameters.rank == "auto" else (int(parameters.rank),),
        systems=SYSTEMS.get(parameters.coordinates, (parameters.coordinates,)),
        widths=_widths(parameters),
        least_width=None if parameters.least_width == "auto" else float(parameters.least_width),
        method=parameters.method,
        structure=parameters.structure,
        n_trains=(TRAINS if few else 1)
        if parameters.n_trains == "auto"
        else int(parameters.n_trains),
        max_iter=int(parameters.max_iter),
        pilot_rows=pilot_rows,
        is_sampled=rows > pilot_rows or shape.all_rows > shape.effective_rows,
        random_state=parameters.random_state,
    )


def check_rows(rows: int) -> None:
    """Raise a DataError for too few rows."""
    if rows < LEAST_ROWS:
        raise DataError(
            f"{rows} row{'s' * (rows != 1)} cannot be fitted and validated (n_samples={rows}); "
            f"give at least {LEAST_ROWS} rows with a positive weight"
        )


def check_values(values: FloatArray, names: Sequence[str]) -> None:
    """Raise a DataError for a measured variable with too few values.

    Parameters
    ----------
    values : (n, m) float64 array
        Rows of measured variables, NaN where an entry is missing.
    names : sequence of str
        Names of the variables.
    """
    counts = np.count_nonzero(~np.isnan(values), axis=0).tolist()
    for name, count in zip(names, counts, strict=True):
        if 0 < count < LEAST_ROWS:
            raise DataError(
                f"{name} has {count} value{'s' * (count != 1)}, and a density needs at least "
                f"{LEAST_ROWS}: give more rows, or leave {name} out"
            )


def _check_embedded(shape: DataShape, rows: int) -> None:
    """Raise a DataError for data that a kernel embedding does not take."""
    instead = "; use " + Setting("method", "likelihood")
    if rows > EMBEDDED_ROWS:
        raise DataError(
            f"a kernel embedding holds the kernel of all pairs of rows, of at most "
            f"{EMBEDDED_ROWS:,} rows, and there are {rows:,}" + instead
        )
    if shape.categories:
        raise DataError(
            "a kernel embedding is of measured variables, and the codes of categories have no order"
            + instead
        )
    if shape.has_weight:
        raise DataError("a kernel embedding takes no weights" + instead)


def _widths(parameters: ParameterValues) -> tuple[tuple[float, ...], ...]:
    """Return the widths to choose from: sets of bumps, or single kernels."""
    if parameters.method == "embedding":
        widths = EMBEDDED_WIDTHS
        return (
            widths
            if _is_auto(parameters.widths)
            else tuple((w,) for w in _ascending(parameters.widths))
        )
    return WIDTHS if _is_auto(parameters.widths) else (_ascending(parameters.widths),)


def check_parameters(parameters: ParameterValues) -> None:
    """Raise a ParameterError for a parameter of a `TensorTrainDensity` that is out of range."""
    if _is_auto(parameters.widths):
        return
    try:
        widths = list(parameters.widths)
    except TypeError:
        widths = []
    are_positive = [isinstance(width, Real) and float(width) > 0 for width in widths]
    if not widths or not all(are_positive):
        raise ParameterError(
            Setting("widths")
            + f" is {parameters.widths!r}; expected 'auto' or positive numbers, the standard "
            "deviations of bumps in standard deviations of the variables"
        )


_NO_EFFECT = (
    NoEffect(
        ("structure", "n_trains"), "method", ("embedding",), "which makes one train along a chain"
    ),
    NoEffect(("max_iter", "pilot_rows"), "method", ("embedding",), "which takes all rows at once"),
)


def without_effect(parameters: ParameterValues) -> Message | None:
    """Return a sentence on a parameter that is given although nothing uses it, or None."""
    return unused_parameter(parameters, PARAMETERS, _NO_EFFECT)


def _is_auto(widths: object) -> bool:
    """Return True if widths are chosen by validation."""
    return isinstance(widths, str) and widths == "auto"


def _ascending(widths: Iterable[float]) -> tuple[float, ...]:
    """Return widths in ascending order."""
    return tuple(sorted(float(width) for width in widths))
