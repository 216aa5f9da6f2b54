"""Samples: rows of named views in one or several sources, read block by block."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.data.addresses.copies_on_workers import OtherFilesError
from bigtensor.data.addresses.repeated_reads import ReadTally, read_repeatedly
from bigtensor.data.addresses.store_address import as_address
from bigtensor.data.rows.block import Block
from bigtensor.data.rows.block_cutting import cut_blocks
from bigtensor.data.rows.code_maps import Categories, CodeMap, numbered_categories
from bigtensor.data.rows.row_shares import RowShares
from bigtensor.data.rows.rows_where import RowsWhere, all_rows, with_all_rows
from bigtensor.data.rows.views import Views
from bigtensor.data.sources.csr_source import CsrSource, is_sparse
from bigtensor.data.sources.row_sources import ArraySource, Columns, LazySource, Source, ZarrSource
from bigtensor.data.sources.stored_rows import StoredRows
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.data.values.feature_roles import Role
from bigtensor.data.values.import_record import ImportRecord
from bigtensor.data.values.kinds import Kind, kind_of
from bigtensor.data.values.plain_arrays import CODES, measured_dtype, native_dtype
from bigtensor.errors import DataChangedError, DataError

READ_NBYTES = 8 * 2**20
"""Bytes read at once: enough for a disk or an object store, little beside a worker's memory."""

_LISTED = 10
"""Features that are named in the representation of samples."""

Piece = tuple[Source, int, int]
"""Rows of a source that are read at once."""


@dataclass(frozen=True)
class RowGroups:
    """Groups of rows, such as patients or files.

    Attributes
    ----------
    variable : str
        Variable along the samples that holds the group of every row.
    names : tuple of str
        Names of groups 0, 1, ...
    numbers : tuple of int or float, optional
        Numbers of groups that are numbers; None if the groups are names or codes of categories.
    """

    variable: str
    names: tuple[str, ...]
    numbers: tuple[float, ...] | None = None

    @property
    def labels(self) -> NDArray[Any]:
        """Names of the groups, or their numbers, as a coordinate: ``(groups,)``."""
        return np.array(self.names, str) if self.numbers is None else np.array(self.numbers)


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows of named views over one or several sources, one after the other.

    Attributes
    ----------
    sources : tuple of Source
        All with the same features and dtype; a row keeps one global index over all of them.
    views : Views
        Views and the columns of their features.
    groups : RowGroups, optional
        Names of the codes in `Block.group`. None if the rows were opened without groups.
    record : ImportRecord, optional
        Transform and compensation of the import, of the first data set with a record of them.
    roles : tuple of str, optional
        Role of every feature of the data. None for data without roles.
    code_map : CodeMap, optional
        Check and translation of codes as they are read; None for other data, and codes without
        names.
    read_as : dtype, optional
        Type that dense values are converted to as they are read; None keeps their type.
    removed_starts : tuple of int, default ()
        Global index of the first row of every source, where `without_lazy_rows` removed these.
    sequence_names : tuple of str, optional
        Names of the sequences 0, 1, ... of one source, where their names are in memory.
    weight_scale : float, default 1.0
        Factor of the sample weights in blocks.
    weights_repeat_rows : bool, default True
        True if a row of weight 2 stands for two rows, and is not one row that counts more.
    total_weight : float, optional
        Sum of the weights in blocks. None without weights, and before `with_weight_meaning`
        has read them.
    whole_weights : bool, default True
        True if all weights are whole numbers, as frequencies of patterns and masks are, or before
        `with_weight_meaning` has read them.
    shares : RowShares, optional
        Numbers of rows that meet the condition by which rows were selected. None for all rows.
    matrix : str, optional
        Matrix of AnnData that the rows are of or were imported from: ``X``, ``layers/counts``,
        ``obsm/X_pca``. None for other data.

    See Also
    --------
    bigtensor.open_samples : from a path, xarray, dask or NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> from bigtensor import open_samples
    >>> samples = open_samples(np.random.default_rng(0).normal(size=(1_000, 3)))
    >>> samples.rows, samples.features
    (1000, ('x0', 'x1', 'x2'))
    """

    sources: tuple[Source, ...]
    views: Views
    groups: RowGroups | None = None
    record: ImportRecord | None = None
    roles: tuple[Role, ...] | None = None
    code_map: CodeMap | None = None
    read_as: np.dtype[Any] | None = None
    removed_starts: tuple[int, ...] = ()
    sequence_names: tuple[str, ...] | None = None
    weight_scale: float = 1.0
    weights_repeat_rows: bool = True
    total_weight: float | None = None
    whole_weights: bool = True
    shares: RowShares | None = None
    matrix: str | None = None

    def __repr__(self) -> str:
        """Return rows and features. The values of sources may be long."""
        listed = ", ".join(self.features[:_LISTED])
        more = f" and {len(self.features) - _LISTED:,} more" * (len(self.features) > _LISTED)
        condition = "" if self.shares is None else f" where {self.shares.condition}"
        return f"<Samples: {self.rows:,} rows{condition}; features {listed}{more}>"

    @property
    def feature_dim(self) -> str:
        """Name of the dimension of the features, ``feature`` for data that have no name of it."""
        return getattr(all_rows(self.sources[0]), "feature_dim", None) or FEATURE_DIM

    @property
    def rows(self) -> int:
        """Number of rows of all sources."""
        return sum(source.rows for source in self.sources)

    @property
    def offsets(self) -> tuple[int, ...]:
        """Global index of the first row of every source."""
        return tuple(accumulate((source.rows for source in self.sources), initial=0))[:-1]

    @property
    def features(self) -> tuple[str, ...]:
        """Names of all features of the data, in the order of the data."""
        return self.sources[0].features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values in blocks, in the byte order of this machine."""
        return native_dtype(self.sources[0].dtype) if self.read_as is None else self.read_as

    @property
    def kind(self) -> Kind:
        """Kind of the values: measured, codes or counts."""
        return kind_of(self.dtype, sparse=is_sparse(self.sources[0]))

    @property
    def categories(self) -> Categories | None:
        """Names of the codes in blocks, of every feature; None for other data."""
        return None if self.code_map is None else self.code_map.target

    @property
    def has_weight(self) -> bool:
        """True if any source has sample weights. Rows of the other sources weigh one."""
        return any(source.has_weight for source in self.sources)

    @property
    def is_lazy(self) -> bool:
        """True if a graph computes the rows of a source whenever they are read."""
        return any(isinstance(source, LazySource) for source in self.sources)

    @property
    def is_remote(self) -> bool:
        """True if a source is behind a URL."""
        addresses = [s.url if isinstance(s, ZarrSource) else s.path for s in self._stored()]
        # file:// is a disk
        return any(isinstance(as_address(address), str) for address in addresses)

    @property
    def effective_rows(self) -> float:
        """Number of rows that the weighted rows stand for: the sum of the weights in blocks."""
        if self.total_weight is not None:
            return self.total_weight
        assert not self.has_weight
        return float(self.rows)

    @property
    def untransformed(self) -> tuple[str, ...] | None:
        """Features off the scale that an import put all others on. None without such a scale."""
        return None if self.record is None else self.record.off_scale

    @property
    def has_common_units(self) -> bool:
        """True if an import put the features of all views on one scale."""
        return self.untransformed is not None and not (
            {*self.untransformed} & {*self.views.feature_names}
        )

    @property
    def left_out(self) -> dict[str, tuple[str, ...]]:
        """Features that default views leave out and no view holds, by their roles.

        Of data without roles they are those off the common scale, ``"linear"``.
        """
        reasons: dict[str, str] = dict.fromkeys(self.untransformed or (), "linear")
        if self.roles is not None:
            roles = zip(self.features, self.roles, strict=True)
            reasons = {name: role for name, role in roles if role != "use"}
        names: dict[str, tuple[str, ...]] = {}
        for name, reason in reasons.items():
            if name not in self.views.feature_names:
                names[reason] = (*names.get(reason, ()), name)
        return names

    @property
    def row_nbytes(self) -> int:
        """Bytes of the values of one row; of sparse rows the mean."""
        sparse = [source for source in self.sources if is_sparse(source)]
        if sparse:
            stored = sum(source.rows * source.row_nbytes for source in sparse)
            return -(-stored // max(self.rows, 1))
        return len(self.features) * self.dtype.itemsize

    def read_rows(self, unit_rows: int) -> int:
        """Return the rows to read at once where ``unit_rows`` are decoded together."""
        target_rows = max(1, READ_NBYTES // max(self.row_nbytes, 1))
        return max(unit_rows, target_rows // unit_rows * unit_rows)

    def locate(self, start: int) -> tuple[Source, int]:
        """Return the source that holds a row, and the global index of the source's first row."""
        for source, offset in zip(self.sources, self.offsets, strict=True):
            if offset <= start < offset + source.rows:
                return source, offset
        raise DataError(f"row {start:,} was asked for; there are {self.rows:,} rows")

    def source_start(self, row: int) -> int:
        """Return the global index of the first row of the source that holds a row."""
        starts = self.removed_starts or self.offsets
        return starts[bisect_right(starts, row) - 1]

    def with_views(self, views: Views) -> Samples:
        """Return the same rows with other views."""
        return replace(self, views=views)

    def with_categories(self, categories: Categories) -> Samples:
        """Return the same rows with codes of these categories; entries of others are missing."""
        assert self.code_map is not None
        return replace(self, code_map=CodeMap(self.code_map.categories, categories))

    def as_measured(self) -> Samples:
        """Return the same rows with values that are converted to float32 or float64."""
        return replace(self, code_map=None, read_as=measured_dtype(self.dtype))

    def as_codes(self, fit_categories: Categories | None = None) -> Samples | None:
        """Return the same rows with whole numbers that are converted to codes.

        Parameters
        ----------
        fit_categories : mapping of str to tuple of str, optional
            Names of the codes of values that are not in memory.

        Returns
        -------
        Samples, optional
            None if values are no codes or their categories are unknown.
        """
        categories = numbered_categories(self.sources) or fit_categories
        if categories is None:
            return None
        return replace(self, code_map=CodeMap(categories, categories), read_as=CODES)

    def as_dense(self) -> Samples:
        """Return these samples with sparse rows read as dense rows."""
        sources = (replace(s, dense=True) if is_sparse(s) else s for s in self.sources)
        return replace(self, sources=tuple(sources))

    def without_lazy_rows(self) -> Samples:
        """Return samples without lazy arrays, because every task is given its own arrays."""
        if not self.is_lazy:
            return self
        return replace(self, sources=(), removed_starts=self.offsets, sequence_names=None)

    def for_workers(self) -> Samples:
        """Return samples with the digests of the files that workers must find.

        The files are listed, so that all passes of a run use the returned samples.
        """
        sources = (
            with_all_rows(source, stored.for_workers())
            if isinstance(stored := all_rows(source), ZarrSource | StoredRows)
            else source
            for source in self.sources
        )
        return replace(self, sources=tuple(sources))

    def fingerprint(self) -> str:
        """Return a digest that changes when the rows or the features change."""
        digest = hashlib.sha256(repr((self.features, str(self.dtype))).encode())
        if self.categories is not None:
            digest.update(repr(self.categories).encode())
        if self.weight_scale != 1:
            digest.update(repr(self.weight_scale).encode())
        for source in self.sources:
            digest.update(source.fingerprint().encode())
        return digest.hexdigest()

    def stamp(self) -> str:
        """Return a digest that changes when a store is written to; rows in memory do not count."""
        return hashlib.sha256(
            repr([source.fingerprint() for source in self._stored()]).encode()
        ).hexdigest()

    def _stored(self) -> list[ZarrSource | StoredRows]:
        """Return the sources in stores, with all of their rows."""
        whole = map(all_rows, self.sources)
        return [source for source in whole if isinstance(source, ZarrSource | StoredRows)]

    @property
    def source_rows(self) -> int:
        """Number of rows of all sources, also of those that a condition leaves out."""
        return sum(all_rows(source).rows for source in self.sources)

    def kept_before(self, row: int) -> int:
        """Return the number of rows before a row of `source_rows`."""
        kept = first = 0
        for source in self.sources:
            inside = min(max(row - first, 0), all_rows(source).rows)
            kept += source.kept_before(inside) if isinstance(source, RowsWhere) else inside
            first += all_rows(source).rows
        return kept

    def rows_of_sources(self, start: int, stop: int) -> IntArray:
        """Return the rows of `source_rows` that a range of the rows are.

        Parameters
        ----------
        start, stop : int
            Global row indices.
        """
        parts, offset, first = [np.empty(0, np.int64)], 0, 0
        for source in self.sources:
            low, high = max(start - offset, 0), min(stop - offset, source.rows)
            if low < high:
                inside = (
                    source.source_rows(low, high)
                    if isinstance(source, RowsWhere)
                    else np.arange(low, high)
                )
                parts.append(first + inside)
            offset += source.rows
            first += all_rows(source).rows
        return np.concatenate(parts)

    def require_unchanged(self, stamp: str) -> None:
        """Require that no store was written to since a stamp was taken.

        Raises
        ------
        DataChangedError
            If a store was written to. Its rows were then read in two states, and rows that it no
            longer has were read as missing values.
        """
        if self.stamp() != stamp:
            raise DataChangedError(
                f"{self.describe()} changed while it was read; repeat the call or the command "
                "when nothing writes to the store"
            )

    @contextmanager
    def unchanged(self, stamp: str) -> Iterator[None]:
        """Require that no store is written to from a stamp to the end of the context.

        If a worker finds other files than the driver did, the data may have changed in between.

        Raises
        ------
        DataChangedError
            See `require_unchanged`.
        """
        try:
            yield
        except OtherFilesError:
            self.require_unchanged(stamp)
            raise
        self.require_unchanged(stamp)

    def describe(self) -> str:
        """Return the words that name the data in messages."""
        first = self.sources[0].describe()
        more = len(self.sources) - 1
        return first if not more else f"{first} and {more} more ({self.rows:,} rows in all)"

    def blocks(
        self,
        part: Sequence[tuple[int, int]],
        block_rows: int,
        halo: int = 0,
        tally: ReadTally | None = None,
    ) -> Iterator[Block]:
        """Read rows ahead of their use and cut them into blocks.

        Blocks start at the start of a range plus multiples of ``block_rows``, however the rows are
        stored.

        Parameters
        ----------
        part : sequence of (start, stop)
            Global row ranges, each within one source.
        block_rows : int
            Rows of a block. The last block of a range may be shorter.
        halo : int
            Rows to show after the last row of every block, as far as the source has them.
        tally : ReadTally, optional
            Counts the reads that were repeated.

        Yields
        ------
        Block
            With the features laid out one view beside the other.
        """
        pieces = [self._pieces(start, stop, halo) for start, stop in part]
        everything = [piece for of_range in pieces for piece in of_range]
        columns = _read_ahead(everything, tally or ReadTally())
        for (start, stop), of_range in zip(part, pieces, strict=True):
            arriving = islice(columns, len(of_range))
            yield from self.cut(arriving, start, stop, block_rows, halo)

    def cut(
        self, pieces: Iterator[Columns], start: int, stop: int, block_rows: int, halo: int
    ) -> Iterator[Block]:
        """Cut rows into blocks, and apply the code map, the type and the scale of the weights.

        Parameters
        ----------
        pieces : iterator of Columns
            The rows from ``start`` to ``stop`` and their halo, in pieces of any length.
        start, stop : int
            Global row indices, within one source.
        block_rows, halo : int
            As for `blocks`.
        """
        blocks = cut_blocks(
            self.views,
            pieces,
            start,
            stop,
            block_rows,
            halo,
            self.code_map,
            self.source_start(start),
            self.read_as,
        )
        for block in blocks:
            yield block.with_scaled_weight(self.weight_scale)

    def _pieces(self, start: int, stop: int, halo: int) -> list[Piece]:
        """Cut a row range and its halo where units of its source end."""
        source, offset = self.locate(start)
        first, last = start - offset, min(stop - offset + halo, source.rows)
        if is_sparse(source) or isinstance(source, RowsWhere):
            edges = source.cuts(first, last, READ_NBYTES)
            return [(source, *rows) for rows in pairwise(edges)]
        step = self.read_rows(source.unit_rows)
        edges = [first, *range((first // step + 1) * step, last, step), last]
        return [(source, *rows) for rows in pairwise(edges)]


def _read_ahead(pieces: Sequence[Piece], tally: ReadTally) -> Iterator[Columns]:
    """Read the next piece while the caller computes on the present one."""
    if len(pieces) <= 1 or all(
        isinstance(source, ArraySource | CsrSource) for source, _, _ in pieces
    ):
        for piece in pieces:
            yield _read(piece, tally)
        return
    with ThreadPoolExecutor(1, thread_name_prefix="bigtensor-read") as reader:
        coming = reader.submit(_read, pieces[0], tally)
        for following in pieces[1:]:
            present = coming.result()
            coming = reader.submit(_read, following, tally)
            yield present
        yield coming.result()


def _read(piece: Piece, tally: ReadTally) -> Columns:
    """Read a piece, again where a disk or a network fails for a moment."""
    source, start, stop = piece
    return read_repeatedly(lambda: source.read(start, stop), tally)
