"""Weights of populations in samples, with standard errors and counts."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bigtensor.abundance.natural_order import natural_order
from bigtensor.array_types import FloatArray, IndexArray, IntArray
from bigtensor.data.addresses.store_address import local_path
from bigtensor.data.values.spreadsheet_text import without_apostrophe
from bigtensor.errors import ConditioningWarning, DataError, warn

WeightsLike: TypeAlias = "xr.Dataset | str | os.PathLike[str] | SampleWeights"
"""Table of `weights_by`, the CSV file of ``bigtensor predict --by --table``, or a read table."""

_ERROR = "_error"
_LEVELS = ("population", "component", "state")
_WHOLE = 1e-6
"""Largest difference from one of weights that make up whole samples. CSV files have nine digits."""


@dataclass(frozen=True, eq=False)
class SampleWeights:
    """Weights of populations in samples, in the natural order of the samples.

    Attributes
    ----------
    samples : tuple of str
        Names of the samples.
    populations : tuple of str
        Names, or numbers as text.
    weight, standard_error : (samples, populations) float64 array
        Standard errors know of the rows that were counted, and not of how samples differ.
    rows : (samples,) int64 array
        Number of rows of every sample.
    level : str
        What is weighed, such as ``"population"``.
    by : str
        Name of the variable of the samples.
    """

    samples: tuple[str, ...]
    populations: tuple[str, ...]
    weight: FloatArray
    standard_error: FloatArray
    rows: IntArray
    level: str = "population"
    by: str = "sample_id"

    @property
    def is_whole(self) -> bool:
        """True if the weights of every sample sum to one."""
        return bool(np.abs(self.weight.sum(axis=1) - 1.0).max() < _WHOLE)

    def counts(self) -> IntArray:
        """Return expected numbers of rows as whole numbers that sum to the rows of every sample.

        Rows that sum to less than a whole sample keep the rounded sum.
        """
        exact = self.weight * self.rows[:, None]
        counts = np.floor(exact).astype(np.int64)
        left = np.rint(exact.sum(axis=1)).astype(np.int64) - counts.sum(axis=1)
        order = np.argsort(counts - exact, axis=1, kind="stable")
        ranks = np.argsort(order, axis=1, kind="stable")
        return np.asarray(counts + (ranks < left[:, None]), np.int64)

    def of_samples(self, places: IndexArray | Sequence[int]) -> SampleWeights:
        """Return the table of samples at these positions."""
        chosen = np.asarray(places, np.intp)
        return replace(
            self,
            samples=tuple(self.samples[place] for place in chosen),
            weight=self.weight[chosen],
            standard_error=self.standard_error[chosen],
            rows=self.rows[chosen],
        )

    def of_populations(self, chosen: NDArray[np.bool_]) -> SampleWeights:
        """Return the table of chosen populations. Their weights need not sum to one."""
        return replace(
            self,
            populations=tuple(
                name for name, kept in zip(self.populations, chosen, strict=True) if kept
            ),
            weight=self.weight[:, chosen],
            standard_error=self.standard_error[:, chosen],
        )

    def to_dataset(self) -> xr.Dataset:
        """Return the table in the form of `weights_by`, with counts."""
        dims = (self.by, self.level)
        return xr.Dataset(
            {
                "weight": (dims, self.weight),
                "standard_error": (dims, self.standard_error),
                "count": (dims, self.counts()),
                "rows": (dims[:1], self.rows),
            },
            {self.by: list(self.samples), self.level: list(self.populations)},
        )


def sample_weights(weights: WeightsLike) -> SampleWeights:
    """Return the weights of samples in the natural order of the samples.

    Parameters
    ----------
    weights : Dataset, path or SampleWeights
        Of `weights_by` of a model, or the CSV file of ``bigtensor predict --by --table``. Without
        standard errors, the errors are those of counts.

    Raises
    ------
    DataError
        When the table lacks a variable, or holds values that are no weights.
    """
    if isinstance(weights, SampleWeights):
        return weights
    if isinstance(weights, xr.Dataset):
        table = _of_dataset(weights)
    elif isinstance(weights, str | os.PathLike):
        table = _read(local_path(weights))
    else:
        raise DataError(
            f"weights of samples are a {type(weights).__name__}; give the Dataset of weights_by, "
            "the path of its table, or counts in the form of weights_of_counts of "
            "bigtensor.abundance.sample_weights"
        )
    if not np.isfinite(table.weight).all() or (table.weight < 0).any() or (table.weight > 1).any():
        raise DataError("weights of samples have to lie between 0 and 1; give those of weights_by")
    if not np.isfinite(table.standard_error).all() or (table.standard_error < 0).any():
        raise DataError("a standard error is negative or not a number; leave the errors out")
    if (table.rows < 1).any():
        raise DataError("a sample has no rows; leave it out")
    if len(set(table.samples)) < len(table.samples):
        raise DataError("two samples of the table of weights have the same name; rename one")
    table = replace(table, populations=_distinct(table.populations))
    return table.of_samples(natural_order(table.samples))


def weights_of_counts(
    counts: ArrayLike, samples: Sequence[str], populations: Sequence[str]
) -> SampleWeights:
    """Return counted shares as weights, for gates and clusters of other programs.

    Parameters
    ----------
    counts : (samples, populations) array-like of int
        Cells of every population in every sample. They make up whole samples, so that cells in no
        gate are a population too.
    samples, populations : sequence of str
        Names, each once.

    Raises
    ------
    DataError
        When counts are no numbers of cells of these samples and populations, or a name is given
        twice.

    Warns
    -----
    ConditioningWarning
        When the counts of every sample sum to 100, as percentages do.
    """
    cells = np.asarray(counts, np.float64)
    for names, what in ((samples, "samples"), (populations, "populations")):
        repeated = [name for name, count in Counter(map(str, names)).items() if count > 1]
        if repeated:
            raise DataError(f"two {what} have the name {repeated[0]!r}; give each its own")
    if cells.shape != (len(samples), len(populations)):
        raise DataError(
            f"counts have the shape {cells.shape}, and there are {len(samples)} samples and "
            f"{len(populations)} populations; give a row for every sample"
        )
    rows = cells.sum(axis=1)
    if not np.isfinite(cells).all() or (cells < 0).any():
        raise DataError("a count is negative, infinite or missing; give numbers of cells")
    fractions = np.argwhere(~np.isclose(cells, np.rint(cells), rtol=_WHOLE, atol=_WHOLE))
    if fractions.size:
        sample, population = fractions[0]
        raise DataError(
            f"the count of {populations[population]!r} in {samples[sample]!r} is "
            f"{float(cells[sample, population])!r}; give numbers of cells, because fractions and "
            "percentages do not tell how many cells they stand for"
        )
    if (rows < 1).any():
        raise DataError("a sample has no cells; leave it out")
    if (rows == 100).all():
        warn(
            "the counts of every sample sum to 100; if they are percentages, give numbers of cells "
            "in place of them, because tests take them for samples of 100 cells",
            ConditioningWarning,
        )
    weight = cells / rows[:, None]
    table = SampleWeights(
        tuple(map(str, samples)),
        tuple(map(str, populations)),
        weight,
        np.sqrt(weight * (1 - weight) / rows[:, None]),
        np.rint(rows).astype(np.int64),
    )
    return table.of_samples(natural_order(table.samples))


def _of_dataset(weights: xr.Dataset) -> SampleWeights:
    """Return the table of a Dataset of `weights_by`."""
    missing = [name for name in ("weight", "rows") if name not in weights]
    if missing or weights["weight"].ndim != 2:
        raise DataError(
            f"the table has no {' and no '.join(missing) or 'weights by sample'}; give the result "
            "of weights_by"
        )
    by, level = map(str, weights["weight"].dims)
    weight = weights["weight"].to_numpy().astype(np.float64)
    rows = weights["rows"].to_numpy().astype(np.int64)
    errors = (
        weights["standard_error"].to_numpy().astype(np.float64)
        if "standard_error" in weights
        else np.sqrt(weight * (1 - weight) / rows[:, None])
    )
    named = weights.coords.get(f"{level}_name", weights[level])
    samples, populations = (
        tuple(str(name) for name in names.to_numpy().tolist()) for names in (weights[by], named)
    )
    return SampleWeights(samples, populations, weight, errors, rows, level, by)


def _read(path: Path) -> SampleWeights:
    """Read a CSV file of weights."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *lines = [line for line in csv.reader(file) if line]
        numbers = np.array([[float(cell) for cell in line[1:]] for line in lines], np.float64)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "a cell is no number"
        raise DataError(
            f"{path} cannot be read ({why}); give the table of 'bigtensor predict --by'"
        ) from error
    names = [without_apostrophe(name) for name in header[1:]]
    if not lines or "rows" not in names or numbers.shape != (len(lines), len(names)):
        raise DataError(f"{path} is no table of weights; give that of 'bigtensor predict --by'")
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise DataError(
            f"{path} has several columns with the name {', '.join(map(repr, repeated))}, so that "
            "populations cannot be told apart; write the table again with 'bigtensor predict "
            "--by', or rename the columns"
        )
    rows = np.rint(numbers[:, names.index("rows")]).astype(np.int64)
    shares = _shares(names, path)
    weight = numbers[:, [names.index(name) for name in shares]]
    errors = (
        numbers[:, [names.index(f"{name}{_ERROR}") for name in shares]]
        if len(names) > 1 + len(shares)
        else np.sqrt(weight * (1 - weight) / rows[:, None])
    )
    level, populations = _without_level(shares)
    samples = tuple(without_apostrophe(line[0]) for line in lines)
    by = without_apostrophe(header[0])
    return SampleWeights(samples, populations, weight, errors, rows, level, by)


def _shares(names: list[str], path: Path) -> list[str]:
    """Return the columns that are no rows and no standard errors.

    Columns are known by their places, because the name of a population may end like the name of a
    standard error. In a table that was changed by hand they are known by their names.
    """
    columns = [name for name in names if name != "rows"]
    if not columns:
        raise DataError(f"{path} has no population; give the table of 'bigtensor predict --by'")
    half = len(columns) // 2
    if columns[half:] == [f"{name}{_ERROR}" for name in columns[:half]]:
        return columns[:half]
    errors = {f"{name}{_ERROR}" for name in columns} & {*columns}
    shares = [name for name in columns if name not in errors]
    if errors and errors != {f"{name}{_ERROR}" for name in shares}:
        raise DataError(
            f"{path} has columns that end with {_ERROR}, such as {min(errors)!r}, for some "
            "populations and not for others; give every population its standard error, or remove "
            "these columns"
        )
    return shares


def _without_level(columns: list[str]) -> tuple[str, tuple[str, ...]]:
    """Return the level of columns such as population_0, and names or numbers of populations.

    A number that is smaller than the place of the column is part of a name.
    """
    for level in _LEVELS:
        numbers = [_numbered(level).fullmatch(name) for name in columns]
        unnamed = {
            place: number[1]
            for place, number in enumerate(numbers)
            if number is not None and int(number[1]) >= place
        }
        if unnamed:
            return level, tuple(unnamed.get(place, name) for place, name in enumerate(columns))
    return _LEVELS[0], tuple(columns)


def _numbered(level: str) -> re.Pattern[str]:
    """Return the form of the columns of populations without a name."""
    return re.compile(rf"^{level}_(\d+)$")


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of populations, with their numbers where two have the same name."""
    return tuple(
        name if names.count(name) == 1 else f"{name} ({number})"
        for number, name in enumerate(names)
    )
