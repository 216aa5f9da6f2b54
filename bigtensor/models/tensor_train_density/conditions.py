"""Values that conditionals are asked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.errors import ConditioningWarning, ParameterError, warn
from bigtensor.features.modes import Symbols, is_on
from bigtensor.models.tensor_train_density.scalars import is_finite_number, plain_scalar
from bigtensor.models.tensor_train_density.solution import TrainDensity

_FAR = 1.5
"""Distance from the range that is far outside, in distances of its end from the quartile.

Of 1,000 new rows of a normal, an exponential and a log-normal variable, it calls 0, .02 and .3 far
outside where 300 rows were fitted, and .02, .2 and 1.3 where 100 were.
"""

_BESIDE = 0.01
"""Distance from the range, in lengths of the range, that is not far outside.

A quartile is at the end of the range if a quarter of the rows have one value there, such as zero.
"""


@dataclass(frozen=True, eq=False)
class Conditions:
    """Reader of values of the variables of a density.

    Attributes
    ----------
    density : TrainDensity
        Density whose variables have the values.
    categories : mapping of str to sequence of str
        Names of the codes of variables.
    diagnostics : mapping of str to object
        Of the fit. ``ranges`` are the least value, quartiles and the largest value of measured
        variables in the sample without its ``outlying_rows``.
    """

    density: TrainDensity
    categories: Mapping[str, Sequence[str]]
    diagnostics: Mapping[str, Any]

    def number(self, j: int, value: Any) -> float:
        """Return a value of a variable as a number, or the code of a category.

        Parameters
        ----------
        j : int
            Place of the variable.
        value : object
            Number, or name of a category.

        Raises
        ------
        ParameterError
            When the variable cannot have the value.
        """
        value = plain_scalar(value)
        variable, mode = self.density.features[j], self.density.modes.modes[j]
        names = list(self.categories.get(variable, ()))
        expected = "one finite number"
        if names:
            expected = f"one of {', '.join(map(repr, names))}"
            if isinstance(value, str) and value in names:
                return float(names.index(value))
            if is_finite_number(value) and value in range(len(names)):
                return float(value)
        elif isinstance(mode, Symbols):
            symbols = ", ".join(f"{symbol:.6g}" for symbol in mode.values)
            expected = f"one of {symbols}" if symbols else "no value, because the fit had none"
            if is_finite_number(value) and is_on(np.array([value], float), mode.values)[0]:
                return float(value)
        elif is_finite_number(value):
            self._warn_far_outside(variable, float(value))
            return float(value)
        raise ParameterError(f"{variable} is given as {value!r}; expected {expected}")

    def _warn_far_outside(self, variable: str, value: float) -> None:
        """Warn of a value far outside the values of the sample."""
        ranges = self.diagnostics.get("ranges", {})
        if variable not in ranges:
            return
        least, low, high, largest = ranges[variable]
        beside = _BESIDE * (largest - least)
        below, above = max(_FAR * (low - least), beside), max(_FAR * (largest - high), beside)
        is_end = is_on(np.array([value]), np.array([least, largest]))[0]
        if is_end or least - below <= value <= largest + above:
            return
        rows = "in the sample of the fit"
        if self.diagnostics.get("outlying_rows"):
            rows += " without its outlying rows"
        warn(
            f"{variable} is given as {value:.6g}, far outside its range of {least:.6g} to "
            f"{largest:.6g} {rows}. The answer rests on none of these rows: condition on a value "
            "within the range, or fit rows with such values.",
            ConditioningWarning,
        )
