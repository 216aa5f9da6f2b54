"""Codes of categories: checked as they are read, and translated to the codes of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.data.rows.block import UNKNOWN_CODE
from bigtensor.data.sources.row_sources import ArraySource, Source
from bigtensor.data.sources.xarray_source import XarraySource
from bigtensor.data.values.categories import (
    MISSING_CODE,
    FeatureCategories,
    counted_categories,
)
from bigtensor.data.values.plain_arrays import CODES, converted, without_mask
from bigtensor.errors import DataError

_NAMED = 5
"""Most categories of a feature that a message names."""

_ROWS = 65_536
"""Rows that are read at once."""

Categories = Mapping[str, tuple[str, ...]]
"""Names of code 0, 1, ... of every feature."""


@dataclass(frozen=True, eq=False)
class CodeMap:
    """Translation of codes from the categories of the data to target categories.

    Attributes
    ----------
    categories : mapping of str to tuple of str
        Names of the codes of the data.
    target : mapping of str to tuple of str
        Names of the codes that blocks are to have, for the same features.
    """

    categories: Categories
    target: Categories
    _tables: dict[str, NDArray[np.int32]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        tables = {
            feature: _table(names, self.target[feature])
            for feature, names in self.categories.items()
            if names != self.target[feature]
        }
        object.__setattr__(self, "_tables", tables)

    def describe_unknown(
        self, sources: Sequence[Source], without_rows: Categories | None = None
    ) -> str:
        """Return the unknown categories of the data in words, or an empty text.

        Parameters
        ----------
        sources : sequence of Source
            The data. Where all rows are in memory, only categories that occur are named.
        without_rows : mapping of str to tuple of str, optional
            Target categories that are unknown all the same, because no row of the fit had them.
        """
        without_rows = without_rows or {}
        in_memory = all(source.held_nbytes for source in sources)
        words = []
        for feature, names in self.categories.items():
            unlearned = without_rows.get(feature, ())
            if feature not in self._tables and not unlearned:
                continue
            learned = {*self.target[feature]}.difference(unlearned)
            unknown = np.array(
                [code for code, name in enumerate(names) if name not in learned], np.intp
            )
            if in_memory and unknown.size:
                unknown = np.intersect1d(unknown, _occurring_codes(sources, feature))
            if unknown.size:
                more = unknown.size - _NAMED
                shown = ", ".join(repr(self.categories[feature][code]) for code in unknown[:_NAMED])
                words.append(f"{shown}{f' and {more} more' if more > 0 else ''} of {feature!r}")
        return "; ".join(words)

    def translated(self, values: NDArray[Any], features: Sequence[str]) -> NDArray[Any]:
        """Return codes of target categories. Missing entries are negative.

        Entries of unknown categories are `UNKNOWN_CODE`.

        Parameters
        ----------
        values : (rows, features) integer array
            Codes of the data, negative for missing entries.
        features : sequence of str
            Of the columns.

        Returns
        -------
        (rows, features) integer array
            The values themselves where both sides have the same categories.

        Raises
        ------
        DataError
            When a code has no category.
        """
        if not len(values):
            return values
        for column, feature in enumerate(features):
            highest, count = int(values[:, column].max()), len(self.categories[feature])
            if highest >= count:
                raise DataError(
                    f"the feature {feature!r} has the code {highest}, but its {count} categories "
                    f"have the codes 0 to {count - 1}; name all codes in the attribute "
                    "'categories' of the values"
                )
        if not self._tables.keys() & {*features}:
            return values
        codes = values.astype(np.int32)
        for column, feature in enumerate(features):
            if feature in self._tables:
                # the last entry stands for missing ones
                codes[:, column] = self._tables[feature][np.maximum(codes[:, column], -1)]
        return codes


def code_check(source: Source) -> CodeMap | None:
    """Return the check of the codes of a source; None for other data, and codes without names.

    Booleans are the codes 0 and 1.
    """
    categories = source.categories
    if source.dtype.kind == "b":
        categories = (("0", "1"),) * len(source.features)
    if categories is None:
        return None
    named = dict(zip(source.features, categories, strict=True))
    return CodeMap(named, named)


def with_shared_categories(sources: Sequence[Source]) -> list[Source]:
    """Return data sets in memory with the categories of all of them, and codes of these.

    Categories of later data sets follow those of the first. Integers without names of which one
    data set holds no codes are no codes in any data set.

    Parameters
    ----------
    sources : sequence of Source
        Data sets that are to be read as one. They are returned as they are if rows are not in
        memory or features differ.
    """
    alike = {source.features for source in sources} == {sources[0].features}
    if not alike or not _are_integers_in_memory(sources):
        return [*sources]
    categories = [source.categories for source in sources]
    named = [own for own in categories if own is not None]
    if len(named) < len(sources):
        numbered = all(source.numbered for source in sources if source.categories is not None)
        return [replace(source, categories=None) for source in sources] if numbered else [*sources]
    shared = tuple(
        tuple(dict.fromkeys(name for names in feature for name in names))
        for feature in zip(*named, strict=True)
    )
    if all(
        names == target[: len(names)]
        for own in named
        for names, target in zip(own, shared, strict=True)
    ):
        return [replace(source, categories=shared) for source in sources]
    return [_recoded(source, own, shared) for source, own in zip(sources, named, strict=True)]


def _are_integers_in_memory(
    sources: Sequence[Source],
) -> TypeGuard[Sequence[ArraySource | XarraySource]]:
    """Return True if all values are integers of arrays, also of xarray, in memory."""
    return all(
        isinstance(source, ArraySource | XarraySource)
        and source.held_nbytes
        and source.dtype.kind in "iu"
        for source in sources
    )


def _recoded(
    source: ArraySource | XarraySource, categories: FeatureCategories, shared: FeatureCategories
) -> Source:
    """Return a data set with its codes translated to int32 codes of other categories."""
    names = dict(zip(source.features, categories, strict=True))
    code_map = CodeMap(names, dict(zip(source.features, shared, strict=True)))
    values = without_mask(source.read(0, source.rows).values)
    codes = code_map.translated(values, source.features).astype(np.int32)
    if isinstance(source, ArraySource):
        return replace(source, values=codes, categories=shared)
    array = source.array.transpose(source.sample_dim, ...)
    return replace(source, array=array.copy(data=codes), categories=shared)


def _numbers(count: int) -> tuple[str, ...]:
    """Return the names of categories that are numbers: 0, 1, ..."""
    return tuple(map(str, range(count)))


def numbered_categories(sources: Sequence[Source]) -> Categories | None:
    """Return the categories of whole numbers in memory: 0, 1, ... up to the largest.

    Parameters
    ----------
    sources : sequence of Source
        Data of floats. NaN and -1 are missing entries.

    Returns
    -------
    mapping of str to tuple of str, optional
        None if rows are not in memory or values are no codes, such as -2.
    """
    if not all(source.held_nbytes for source in sources):
        return None
    counts = np.zeros(len(sources[0].features), np.intp)
    for source in sources:
        for start in range(0, source.rows, _ROWS):
            values = source.read(start, min(start + _ROWS, source.rows)).values
            try:
                counted = counted_categories(converted(values, CODES))
            except DataError:
                return None
            if counted is None:
                return None
            np.maximum(counts, [len(names) for names in counted], out=counts)
    return dict(zip(sources[0].features, map(_numbers, counts.tolist()), strict=True))


def _table(names: Sequence[str], target_names: Sequence[str]) -> NDArray[np.int32]:
    """Return the target code of every code, and last the code of a missing entry."""
    places = {name: code for code, name in enumerate(target_names)}
    return np.array([*(places.get(name, UNKNOWN_CODE) for name in names), MISSING_CODE], np.int32)


def _occurring_codes(sources: Sequence[Source], feature: str) -> IntArray:
    """Return the codes that a feature has in rows in memory, each once."""
    columns = (
        np.asarray(source.read(0, source.rows).values[:, source.features.index(feature)])
        for source in sources
    )
    # whole floats may be codes, with NaN for a missing entry
    codes = [np.unique(column[np.isfinite(column)]) for column in columns]
    return np.unique(np.concatenate(codes)).astype(np.int64)
