"""Features of 10x Genomics: their choice by type, and their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bigtensor.array_types import IntArray
from bigtensor.data.importers.source import warn_of_notes
from bigtensor.errors import FileFormatError, ParameterError, Setting

GENES = "Gene Expression"
"""Type of the features that are imported if there are several types."""


@dataclass(frozen=True)
class TenxFeatures:
    """Features of a matrix.

    Attributes
    ----------
    ids, symbols : sequence of str
        IDs, which are unique, and symbols, which may repeat or be empty.
    types : sequence of str
        Such as ``"Gene Expression"``. Empty if the file has none.
    """

    ids: Sequence[str]
    symbols: Sequence[str]
    types: Sequence[str]

    def check(self, path: Path) -> None:
        """Refuse IDs that repeat.

        Parameters
        ----------
        path : Path
            The file of the features, for messages.

        Raises
        ------
        FileFormatError
            If several features have the same ID.
        """
        repeated = [name for name, number in Counter(self.ids).items() if number > 1]
        if repeated:
            raise FileFormatError(
                f"{path} has the ID {repeated[0]!r} for several features; export it again with one "
                "row for every feature, or give every feature an ID of its own"
            )

    def of_types(self, path: Path, chosen: Sequence[str]) -> IntArray:
        """Return the positions of the features of some types.

        Parameters
        ----------
        path : Path
            The file of the features, for messages.
        chosen : sequence of str
            Types. Empty for all features, or for those of gene expression if there are several
            types.

        Raises
        ------
        ParameterError
            If a chosen type is none of the file, or a choice is missing.

        Warns
        -----
        FileFormatWarning
            If features are left out that the caller did not leave out.
        """
        numbers = Counter(self.types)
        listed = ", ".join(f"{name!r} ({number:,})" for name, number in numbers.items())
        default = [GENES] if GENES in numbers else []
        if len(numbers) > 1 and not (chosen or default):
            raise ParameterError(
                f"{path} has features of the types {listed}; choose from them by "
                + Setting("feature_types")
            )
        unknown = [name for name in chosen if name not in numbers]
        if unknown:
            raise ParameterError(
                f"{path} has no features of the type {unknown[0]!r}, but of {listed or 'no type'}; "
                "correct " + Setting("feature_types") + ", or leave it out"
            )
        if len(numbers) > 1 and not chosen:
            warn_of_notes(
                path,
                [
                    f"of features of the types {listed}, only those of {GENES!r} are imported; "
                    "choose other types by " + Setting("feature_types")
                ],
            )
        if not self.types:
            return np.arange(len(self.ids))
        kept = chosen or default or numbers
        return np.flatnonzero([name in kept for name in self.types])

    def at(self, places: IntArray) -> TenxFeatures:
        """Return the features at some positions."""
        ids, symbols, types = (
            [texts[place] for place in places] if texts else []
            for texts in (self.ids, self.symbols, self.types)
        )
        return TenxFeatures(ids, symbols, types)

    def names(self) -> list[str]:
        """Return the symbols, with the ID in brackets where several features have a symbol."""
        symbols = [symbol or own for symbol, own in zip(self.symbols, self.ids, strict=True)]
        numbers = Counter(symbols)
        return [
            symbol if numbers[symbol] == 1 else f"{symbol} ({own})"
            for symbol, own in zip(symbols, self.ids, strict=True)
        ]

    def columns(self) -> Mapping[str, Sequence[str]]:
        """Return columns of ``var``, named as Scanpy names them."""
        columns = {"gene_ids": self.ids, "feature_types": self.types}
        return {name: texts for name, texts in columns.items() if texts}
