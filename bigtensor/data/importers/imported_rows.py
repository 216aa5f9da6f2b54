"""Rows of files that meet a condition, chosen as they are imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bigtensor.array_types import IntArray
from bigtensor.data.rows.row_condition import ConditionColumn, RowCondition, condition_on
from bigtensor.data.rows.row_shares import RowShares
from bigtensor.data.stores.layout import SAMPLES
from bigtensor.errors import DataError


@dataclass
class ImportedRows:
    """Rows of an import that meet a condition.

    Parameters
    ----------
    where : str
        The condition; see `bigtensor.data.rows.condition_syntax`.
    features : sequence of str
        Features of the store.
    dtype : dtype
        Type that measured values are stored in, and compared in.
    renamed : mapping of str to str
        Variables of the rows, such as ``label``, by the names of their columns in the files.
    """

    where: str
    features: Sequence[str]
    dtype: DTypeLike
    renamed: Mapping[str, str] = field(default_factory=dict)
    shares: RowShares = field(init=False)
    _condition: RowCondition | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.shares = RowShares(self.where)

    def kept(
        self,
        values: NDArray[Any],
        variables: Mapping[str, NDArray[Any]],
        names: Mapping[str, Sequence[str]],
    ) -> IntArray:
        """Return the positions of the rows of a block that meet the condition.

        Parameters
        ----------
        values : (rows, features) array
            Transformed values, or codes of named categories.
        variables : mapping of str to (rows,) array
            Variables of the rows. Names are codes.
        names : mapping of str to sequence of str
            Names of the codes of features and variables so far.
        """
        kinds = {
            name: ConditionColumn("names" if name in names else "numbers")
            for name in (*self.features, *variables)
        }
        if self._condition is None:
            (self._condition,) = condition_on(self.where, [kinds], renamed=self.renamed)
        columns = {
            name: replace(kinds[name], categories=tuple(names[name]) if name in names else None)
            for name in self._condition.columns
        }
        condition = replace(self._condition, columns=columns)
        mask = condition.evaluate({name: self._read(name, values, variables) for name in columns})
        self._count(mask, variables[SAMPLES], names[SAMPLES])
        return np.flatnonzero(mask).astype(np.int64, copy=False)

    def _read(
        self, name: str, values: NDArray[Any], variables: Mapping[str, NDArray[Any]]
    ) -> NDArray[Any]:
        """Return a column as it will be stored."""
        if name not in self.features:
            return variables[name]
        column = values[:, list(self.features).index(name)]
        return column.astype(self.dtype) if column.dtype.kind == "f" else column

    def _count(self, mask: NDArray[np.bool_], samples: NDArray[Any], names: Sequence[str]) -> None:
        """Count the rows and the kept rows of every sample."""
        by = [
            {
                names[code]: int(count)
                for code, count in enumerate(np.bincount(codes[codes >= 0], minlength=len(names)))
            }
            for codes in (samples, samples[mask])
        ]
        rows_by = {name: count for name, count in by[0].items() if count}
        kept_by = {name: by[1][name] for name in rows_by}
        kept = int(mask.sum())
        self.shares = self.shares.plus(RowShares(self.where, len(mask), kept, rows_by, kept_by))

    def require_some(self) -> None:
        """Require that a row meets the condition.

        Raises
        ------
        DataError
            If none does.
        """
        if not self.shares.kept:
            raise DataError(
                f"none of {self.shares.rows:,} rows meets the condition {self.where!r}, so nothing "
                "is imported; import all rows and see their values with 'bigtensor info'"
            )
