"""Names of the features of 10x Genomics: IDs, symbols and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bigtensor.data.importers.source import warn_of_notes
from bigtensor.errors import FileFormatError


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
        """Refuse IDs that repeat, and warn of features of several types.

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
        types = Counter(self.types)
        if len(types) > 1:
            numbers = ", ".join(f"{number:,} of {name!r}" for name, number in types.items())
            warn_of_notes(path, [f"features of several types are all imported: {numbers}"])

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
