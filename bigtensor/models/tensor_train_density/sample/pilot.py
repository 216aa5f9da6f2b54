"""Pilot sample of a density: its variables, and the least widths that their values allow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.errors import DataError
from bigtensor.features.coordinates import Coordinates
from bigtensor.features.margins.adaptive_kernel import AdaptiveKernel, chosen_width
from bigtensor.features.margins.normal_scores import NormalScores
from bigtensor.features.modes import FEW_SYMBOLS, Symbols, distinct_values, is_on
from bigtensor.models.tensor_train_density.sample.atoms import atoms_of
from bigtensor.models.tensor_train_density.settings import (
    TrainSettings,
    check_rows,
    check_values,
)
from bigtensor.statistics.row_copies import original_rows
from bigtensor.statistics.row_sample import Sample

_TIED = 0.5
"""Share of distinct values below which a sample is one of a grid."""

_OUTLYING = 3.0
"""Standard deviations of a sample without its outermost values that the scale has at most."""

_TRIMMED = 0.005
"""Share of the sample at either end that is outermost."""

_LEAST_MARGIN = 0.02
"""Least standard deviation of the kernels of margins, unless told: it bounds densities of ties."""


@dataclass(frozen=True, eq=False)
class PilotRows:
    """Rows of the pilot sample.

    Attributes
    ----------
    values : (n, d) float64 array
        NaN is missing.
    weight : (n,) float64 array
        With a mean of one.
    symbols : tuple of Symbols or None
        Of categorical variables; None for measured ones.
    least_width : float, optional
        Least standard deviation of a bump that the user allows.
    atoms : tuple of (a,) float64 arrays
        Values of every variable that have a probability of their own.
    whole : PilotRows, optional
        Sample that these rows are taken from, in which the widths of margins are chosen.
    categorical : bool, default False
        True if all values are codes of categories, whose order says nothing.
    """

    values: FloatArray
    weight: FloatArray
    symbols: tuple[Symbols | None, ...]
    least_width: float | None
    atoms: tuple[FloatArray, ...]
    whole: PilotRows | None = None
    categorical: bool = False

    @classmethod
    def of_sample(cls, sample: Sample, settings: TrainSettings) -> PilotRows:
        """Return the rows of a sample.

        Raises
        ------
        DataError
            When too few rows have a positive weight, or a value of a measured variable.
        """
        values = sample.values.astype(np.float64)
        if sample.values.dtype.kind != "f":
            values[sample.values < 0] = np.nan
        weight = sample.row_weights()
        check_rows(int(np.count_nonzero(weight > 0)))
        symbols: list[Symbols | None]
        if np.isnan(values).all():
            raise DataError("no row has a value: every entry is missing")
        if settings.symbols:
            symbols = [Symbols(np.arange(count, dtype=np.float64)) for count in settings.symbols]
        else:
            symbols = [_symbols(column) for column in values.T]
        measured = [own is None for own in symbols]
        check_values(values[:, measured], np.array(settings.features)[measured].tolist())
        atoms = [
            atoms_of(column, weight) if own is None and takes_atoms(settings) else np.empty(0)
            for column, own in zip(values.T, symbols, strict=True)
        ]
        return cls(
            *(values, weight, tuple(symbols), settings.least_width, tuple(atoms)),
            categorical=bool(settings.symbols),
        )

    @cached_property
    def originals(self) -> IndexArray:
        """Number of every row among the original rows, (n,). Copies are held out together.

        Holding all equal rows out together lowered the log-density of other rows by up to 0.9 nats
        in three tables of rounded values, whose rows are equal by chance.
        """
        return original_rows(self.values)

    @property
    def n_originals(self) -> int:
        """Number of original rows."""
        return int(self.originals.max()) + 1

    @cached_property
    def continuous(self) -> FloatArray:
        """Values with NaN for entries on atoms, (n, d)."""
        values = self.values.copy()
        for column, atoms in zip(values.T, self.atoms, strict=True):
            column[is_on(column, atoms)] = np.nan
        return values

    @cached_property
    def standard(self) -> Coordinates:
        """Coordinates that standardise measured variables."""
        columns = self.continuous[:, self.measured].T
        centre = np.array([np.nanmean(column) for column in columns])
        scale = np.array([spread(column) for column in columns])
        return Coordinates(self.measured, centre, scale, None, None, np.zeros(len(columns)))

    @cached_property
    def standardised(self) -> FloatArray:
        """Standardised measured variables."""
        centred = self.continuous[:, self.measured] - self.standard.centre
        return np.asarray(centred / self.standard.scale)

    @cached_property
    def normal_scores(self) -> NormalScores:
        """Normal scores of standardised variables."""
        kernels = [
            AdaptiveKernel.of_sample(column, width, self._least_margin_width)
            for column, width in zip(self.standardised.T, self.margin_widths, strict=True)
        ]
        return NormalScores.of_kernels(kernels)

    @cached_property
    def margin_widths(self) -> FloatArray:
        """Widths of the kernels of margins by their held-out likelihood, of measured variables."""
        if self.whole is not None:
            return self.whole.margin_widths
        least = self._least_margin_width
        return np.array(
            [chosen_width(column, least, self.originals) for column in self.standardised.T]
        )

    @property
    def _least_margin_width(self) -> float:
        """Smallest width of the kernels of margins."""
        return _LEAST_MARGIN if self.least_width is None else self.least_width

    @cached_property
    def measured(self) -> NDArray[np.int64]:
        """Columns of measured variables."""
        return np.flatnonzero([symbols is None for symbols in self.symbols]).astype(np.int64)

    @cached_property
    def rotatable(self) -> NDArray[np.int64]:
        """Places of variables without atoms, among the measured ones."""
        return np.flatnonzero([not len(self.atoms[j]) for j in self.measured]).astype(np.int64)

    @cached_property
    def is_complete(self) -> bool:
        """True if no entry of a measured variable is missing."""
        return not bool(np.isnan(self.values[:, self.measured]).any())

    def take(self, rows: NDArray[np.intp]) -> PilotRows:
        """Return some rows, with the variables of all."""
        whole = self.whole or self
        return replace(self, values=self.values[rows], weight=self.weight[rows], whole=whole)


def takes_atoms(settings: TrainSettings) -> bool:
    """Return True if values may have a probability of their own: no kernel embedding has it."""
    return settings.method != "embedding"


def _symbols(column: FloatArray) -> Symbols | None:
    """Return the values of a variable that has few of them, which come again."""
    present = column[~np.isnan(column)]
    distinct = distinct_values(present)[0]
    # of few rows, any variable has few values
    if len(distinct) <= FEW_SYMBOLS and 2 * len(distinct) <= max(len(present), 2):
        return Symbols(distinct)
    return None


def spread(column: FloatArray) -> float:
    """Return the standard deviation of a sample, unless a few outlying values make it up."""
    present = column[~np.isnan(column)]
    low, high = np.quantile(present, [_TRIMMED, 1 - _TRIMMED])
    trimmed = present[(present >= low) & (present <= high)]
    inner = float(trimmed.std())
    whole = float(present.std())
    return min(whole, _OUTLYING * inner) if inner > 0 else whole


def tie_width(column: FloatArray) -> float:
    """Return the typical distance of neighbouring values of a sample with ties, else zero.

    Narrower bumps would make the density at these values as large as one likes.
    """
    present = np.sort(column[~np.isnan(column)])
    distinct = distinct_values(present)[0]
    if len(distinct) < 2 or len(distinct) >= _TIED * len(present):
        return 0.0
    return float(np.median(np.diff(distinct)))
