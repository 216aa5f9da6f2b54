"""Design matrix of conditions of samples: groups or numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor.abundance.condition_warnings import warn_of_mixed, warn_of_spellings
from bigtensor.abundance.natural_order import as_numbers, natural_order
from bigtensor.abundance.sample_table import SampleTable, listed
from bigtensor.array_types import FloatArray, IntArray
from bigtensor.errors import DataError, ParameterError, Setting

_ZEROS = re.compile(r"^(-?[0-9]+)\.0+$")
"""A whole number with a fraction of zeros."""

_ALONE = 1e-8
"""Distance of the leverage of a sample from one below which no other sample is compared with it."""


@dataclass(frozen=True, eq=False)
class Condition:
    """One column of the table of samples.

    Attributes
    ----------
    name : str
        Of the column.
    columns : (samples, coefficients) float64 array
        Columns of the design matrix, without the intercept.
    contrasts : tuple of str
        Meaning of each coefficient: a group against the reference, or one unit of a number.
    groups : tuple of str
        Names of the groups, the reference first; none of a number.
    codes : (samples,) int64 array
        Group of every sample; zeros of a number.
    values : (samples,) float64 array
        Values of a number; the codes of groups.
    scale : float
        What one unit of the columns is in units of the values.
    """

    name: str
    columns: FloatArray
    contrasts: tuple[str, ...]
    groups: tuple[str, ...]
    codes: IntArray
    values: FloatArray
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """Design of a comparison.

    Attributes
    ----------
    matrix : (samples, coefficients) float64 array
        Intercept, coefficients that are tested, and those of further conditions.
    condition : Condition
        The condition that is tested.
    further : tuple of Condition
        Conditions that are adjusted for.
    """

    matrix: FloatArray
    condition: Condition
    further: tuple[Condition, ...]

    @property
    def tested(self) -> slice:
        """Positions of the tested coefficients."""
        return slice(1, 1 + self.condition.columns.shape[1])

    @property
    def residual_degrees(self) -> int:
        """Number of samples beyond the coefficients."""
        samples, coefficients = self.matrix.shape
        return int(samples - coefficients)

    @property
    def uninformative(self) -> NDArray[np.bool_]:
        """True for every sample that further conditions set apart from all others.

        Such as the only sample of a batch: the effect of the batch fits it, whatever it is.
        """
        further, _ = np.linalg.qr(np.delete(self.matrix, self.tested, axis=1))
        leverage = (further**2).sum(axis=1)
        return np.asarray(leverage > 1 - _ALONE)


def complete_samples(samples: SampleTable, columns: Sequence[str]) -> list[int]:
    """Return the positions of samples that have a value in all of these columns."""
    values = [samples.column(name) for name in columns]
    return [place for place in range(len(samples.names)) if all(column[place] for column in values)]


def design_matrix(
    samples: SampleTable,
    by: str,
    adjust: Sequence[str],
    groups: Collection[str],
    reference: str | None,
) -> DesignMatrix:
    """Return the design of a comparison.

    Parameters
    ----------
    samples : SampleTable
        Without missing values in the columns that are used.
    by : str
        Column of the tested condition.
    adjust : sequence of str
        Columns of further conditions.
    groups : collection of str
        Columns of numbers whose values are groups.
    reference : str, optional
        Group that others are compared with. By default the first one in natural order.

    Raises
    ------
    DataError
        When a condition has one value only, conditions cannot be told apart, or there are no
        more samples than coefficients.
    ParameterError
        When `by` is also adjusted for, or there is no such reference.
    """
    if by in adjust:
        raise ParameterError(
            f"{by!r} is compared and adjusted for; leave it out of " + Setting("adjust")
        )
    tested = _condition(samples, by, by in groups, reference)
    further = tuple(
        _condition(samples, name, name in groups, None) for name in dict.fromkeys(adjust)
    )
    blocks = [np.ones((len(samples.names), 1)), *(entry.columns for entry in (tested, *further))]
    design = DesignMatrix(np.hstack(blocks), tested, further)
    names = [by, *(entry.name for entry in further)]
    _check_rank(design.matrix, names)
    if design.residual_degrees < 1:
        raise DataError(
            f"{len(samples.names)} samples are too few for {design.matrix.shape[1]} coefficients "
            f"of {listed(names)}: differences between samples of one group cannot be estimated; "
            "add samples, or compare fewer groups"
        )
    return design


def grouped(texts: Sequence[str], as_groups: bool) -> tuple[IntArray, tuple[str, ...], FloatArray]:
    """Return groups in natural order, or numbers.

    Parameters
    ----------
    texts : sequence of str
        Value of every sample.
    as_groups : bool
        True if numbers are groups too.

    Returns
    -------
    codes : (samples,) int64 array
        Group of every sample; zeros of numbers.
    names : tuple of str
        Of the groups; none of numbers.
    values : (samples,) float64 array
        Numbers; the codes of groups.
    """
    numbers = as_numbers(texts)
    if numbers is not None and not as_groups:
        return np.zeros(len(texts), np.int64), (), np.array(numbers, np.float64)
    texts = _equal_texts(texts)
    levels = list(dict.fromkeys(texts))
    levels = [levels[place] for place in natural_order(levels)]
    codes = np.array([levels.index(text) for text in texts], np.int64)
    return codes, tuple(levels), codes.astype(np.float64)


def _equal_texts(texts: Sequence[str]) -> list[str]:
    """Return the first text of every whole number, with or without a fraction of zeros.

    Other notations stay as they are: 01, 1.10 and 1E2 may be names.
    """
    keys = [_ZEROS.sub(r"\1", text) for text in texts]
    first = dict(zip(reversed(keys), reversed(texts), strict=True))
    return [first[key] for key in keys]


def _condition(
    samples: SampleTable, name: str, as_groups: bool, reference: str | None
) -> Condition:
    """Return the columns of one condition."""
    texts = samples.column(name)
    if not texts:
        raise DataError(
            f"no sample has a value of {name} and of all other conditions that are compared; fill "
            "in the table of samples"
        )
    as_groups = as_groups or reference is not None
    codes, names, values = grouped(texts, as_groups)
    if names and not as_groups:
        warn_of_mixed(samples, name)
    warn_of_spellings(name, names)
    if len({*values.tolist()}) < 2:
        raise DataError(
            f"all {len(texts)} samples have the same {name} ({texts[0]}); "
            "a condition needs two values"
        )
    if not names:
        scale = float(values.std())
        columns = ((values - values.mean()) / scale)[:, None]
        return Condition(name, columns, (f"per unit of {name}",), (), codes, values, scale)
    levels = list(names)
    if reference is not None:
        reference = _equal_texts([*names, reference])[-1]
        if reference not in levels:
            raise ParameterError(
                Setting("reference", reference) + f" is no value of {name}; it has {listed(levels)}"
            )
        levels = [reference, *(level for level in levels if level != reference)]
        codes = np.array([levels.index(group) for group in names], np.int64)[codes]
    columns = (codes[:, None] == np.arange(1, len(levels))).astype(np.float64)
    contrasts = tuple(f"{level} against {levels[0]}" for level in levels[1:])
    return Condition(name, columns, contrasts, tuple(levels), codes, codes.astype(np.float64))


def _check_rank(matrix: FloatArray, names: Sequence[str]) -> None:
    """Raise a DataError if conditions determine each other."""
    scaled = matrix / np.linalg.norm(matrix, axis=0)
    if np.linalg.matrix_rank(scaled, tol=1e-8) < matrix.shape[1]:
        raise DataError(
            f"the conditions {listed(names)} determine each other in these samples, so that their "
            "effects cannot be told apart; leave one of them out"
        )
