"""The layout of data on disk, and the one writer of it.

A data set is a Zarr v3 group that :func:`xarray.open_zarr` reads back as a Dataset:

========================  ===================  =================================================
name                      dims                 what
========================  ===================  =================================================
``X``                     sample, feature      the values, float32 or float64
``raw``                   sample, feature      on request: the values before any transform
``feature``               feature              names of the features, strings
``channel``, ``marker``   feature              on request: further names of the features
``role``                  feature              on request: role of every feature, see
                                               `bigtensor.data.values.feature_roles`
``sample_id``, ``label``  sample               int32 codes; the attribute ``categories`` holds
                                               the names, code -1 stands for none
``weight``                sample               float64
``source_row``            sample               int64, of selected rows: the row that each had among
                                               all rows
========================  ===================  =================================================

Arrays are chunked along samples only. A reader asks for row ranges, so an inner chunk holds all
features of a power of two of rows (at most 2 MiB), and a file on disk, a shard, holds a power of
two of inner chunks (at most 64 MiB). A shard is always written whole: two writers inside one
shard overwrite each other without an error, and writing a shard twice is slow.

Every chunk ends with a checksum, all shards are written, and the manifest of the store says which
files there have to be: see
`bigtensor.data.stores.stored_arrays` and `bigtensor.data.stores.manifest`.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import zarr
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bigtensor.data.addresses.store_address import as_address
from bigtensor.data.stores.compression import choose_compressors
from bigtensor.data.stores.manifest import seal
from bigtensor.data.stores.outputs import finish_after, whole_store, write_errors
from bigtensor.data.stores.stored_arrays import (
    create_array,
    create_root,
    default_compressors,
    open_to_write,
)
from bigtensor.data.stores.zarr_groups import LAYOUT, LAYOUT_VERSION
from bigtensor.data.values.categories import ATTRIBUTE
from bigtensor.data.values.checked_casts import checked_cast
from bigtensor.errors import DataError, OutputError, ParameterError

if TYPE_CHECKING:
    import xarray as xr

SOURCE_ROW = "source_row"
"""Variable of the row that a row had in the first store, before any rows were left out."""

FCS_DATASET = "fcs_dataset"
"""Attribute of a store that was imported from another data set of FCS files than the first."""

MATRIX = "anndata_matrix"
"""Attribute with the matrix of AnnData that was imported: ``X``, ``layers/KEY``, ``obsm/KEY``."""

SEQUENCE = "sequence"
"""Variable of the sequence of every row, unless the caller names another one."""

SAMPLES = "sample_id"
"""Variable of the rows that says which sample a row is of."""

SAMPLE_DIM = "sample"
"""Name of the sample dimension unless the caller gives another."""

FEATURE_DIM = "feature"

_DTYPES = ("float32", "float64", "int8", "int16", "int32")
_CHUNK_BYTES = 2 * 2**20
"""Largest chunk of more rows than `_MIN_CHUNK_ROWS`; see `chunk_rows`."""

_SHARD_BYTES = 64 * 2**20
"""Largest shard of several chunks; see `shard_rows`."""

_MIN_CHUNK_ROWS = 1024
"""Rows of the shortest chunk, however wide they are."""

_MAX_CHUNK_ROWS = 65_536
"""Rows of the longest chunk, unless rows are narrow."""

_NARROW_CHUNK_BYTES = 256 * 2**10
"""Chunks of more rows than `_MAX_CHUNK_ROWS` hold this many: smaller ones are slow to read."""

RowVariable = DTypeLike | tuple[DTypeLike, Mapping[str, Any]]
"""The dtype of a variable along the samples, alone or with its attributes."""


def anndata_matrix(attrs: Mapping[Any, Any]) -> str | None:
    """Return the matrix of AnnData that data were imported from, None without a valid name.

    Parameters
    ----------
    attrs : mapping
        Attributes of a data set or of a store.
    """
    name = attrs.get(MATRIX)
    is_name = isinstance(name, str) and (name == "X" or name.startswith(("layers/", "obsm/")))
    return name if is_name else None


def chunk_rows(n_features: int, itemsize: int = 4) -> int:
    """Rows of one inner chunk.

    Parameters
    ----------
    n_features : int
        Number of features, at least 1.
    itemsize : int, default 4
        Bytes of one value.

    Returns
    -------
    int
        The largest power of two of rows that takes at most 2 MiB, within 1,024 to 65,536. Of narrow
        rows, more than 65,536 as long as they take at most 256 KiB.
    """
    most = max(_MAX_CHUNK_ROWS, _NARROW_CHUNK_BYTES // (n_features * itemsize))
    fitting = max(_CHUNK_BYTES // (n_features * itemsize), 1)
    power = 1 << (fitting.bit_length() - 1)
    return min(max(power, _MIN_CHUNK_ROWS), 1 << (most.bit_length() - 1))


def shard_rows(n_features: int, itemsize: int = 4) -> int:
    """Rows of one shard, the unit of writing.

    Parameters
    ----------
    n_features : int
        Number of features, at least 1.
    itemsize : int, default 4
        Bytes of one value.

    Returns
    -------
    int
        A power of two of inner chunks: the largest that takes at most 64 MiB, at least one.
    """
    chunk = chunk_rows(n_features, itemsize)
    fitting = max(_SHARD_BYTES // (chunk * n_features * itemsize), 1)
    return chunk << (fitting.bit_length() - 1)


class SampleStoreWriter:
    """Write rows of samples, block by block, into a new Zarr store of the package's layout.

    Rows arrive in blocks of any size, and their number need not be known in advance. They are
    gathered in a buffer of one shard, and only whole shards are written. The store appears under
    its name when the ``with`` block ends without an exception, and is removed after an exception.
    Until then, on a disk, it is called ``<name>.<machine>.<process>.<random>.unfinished`` and lies
    beside its place. On an object store it is marked as unfinished. What a killed process left is
    removed when the store is written again.

    Parameters
    ----------
    path : path or URL
        The store to make; its folder or bucket must exist.
    features : sequence of str
        Names of the features, unique.
    dtype : {"float32", "float64", "int8", "int16", "int32"}, default "float32"
        Type of ``X`` and of ``raw``. Integers are codes, see `set_feature_categories`.
    rows : int, optional
        The number of rows if it is known: it is checked at the end, and a small store then needs
        a small buffer.
    feature_coordinates : mapping of str to sequence of str, optional
        Further names of the features, such as ``channel`` and ``marker``.
    row_variables : mapping of str to dtype or (dtype, attributes), optional
        Variables along the samples; each must be given with every block.
    keep_raw : bool, default False
        Also write a variable ``raw``, given with every block.
    attrs : mapping, optional
        Attributes of the group: anything that JSON can hold.
    overwrite : bool, default False
        Replace an existing Zarr store of that name once the new one is whole.

    Raises
    ------
    ParameterError
        If names clash or repeat, or the dtype is another one.
    OutputError
        If the target exists, its folder does not, or the disk refuses the data.

    Examples
    --------
    >>> import numpy as np, tempfile, xarray as xr
    >>> path = tempfile.mkdtemp() + "/cells.zarr"
    >>> with SampleStoreWriter(path, ["CD3", "CD4"], row_variables={"weight": "float64"}) as store:
    ...     store.append(np.ones((5, 2)), weight=1.0)
    ...     store.append(np.zeros((3, 2)), weight=0.5)
    >>> xr.open_zarr(path)["X"].shape
    (8, 2)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        features: Sequence[str],
        *,
        dtype: DTypeLike = "float32",
        rows: int | None = None,
        feature_coordinates: Mapping[str, Sequence[str]] | None = None,
        row_variables: Mapping[str, RowVariable] | None = None,
        keep_raw: bool = False,
        attrs: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        self.path = as_address(path)
        self.features = [str(name) for name in features]
        self.dtype = np.dtype(dtype)
        self.rows_written = 0
        self._rows = rows
        self._coordinates = {
            k: [str(v) for v in vs] for k, vs in (feature_coordinates or {}).items()
        }
        self._attrs = {LAYOUT: LAYOUT_VERSION, **(attrs or {})}
        self._overwrite = overwrite
        self._matrices = ["X", "raw"] if keep_raw else ["X"]
        self._dtypes = dict.fromkeys(self._matrices, self.dtype)
        self._variable_attrs: dict[str, dict[str, Any]] = {}
        for name, spec in (row_variables or {}).items():
            variable_dtype, variable_attrs = spec if isinstance(spec, tuple) else (spec, {})
            self._dtypes[name] = np.dtype(variable_dtype)
            self._variable_attrs[name] = dict(variable_attrs)
        self._check_names()
        width = len(self.features)
        self.chunk_rows = chunk_rows(width, self.dtype.itemsize)
        self.shard_rows = shard_rows(width, self.dtype.itemsize)
        self._buffers: dict[str, NDArray[Any]] = {}
        self._filled = 0
        self._group: zarr.Group | None = None
        self._tables = list[Any]()
        self._unfinished = ""
        self._whole = ExitStack()

    def _check_names(self) -> None:
        """Refuse names that cannot be written or read back."""
        if not self.features:
            raise ParameterError("there are no features; give at least one feature name")
        repeated = sorted({name for name in self.features if self.features.count(name) > 1})
        if repeated:
            raise ParameterError(f"feature names must be unique; these are repeated: {repeated}")
        if self.dtype.name not in _DTYPES:
            raise ParameterError(
                f"dtype must be float32 or float64, or for codes int8, int16 or int32, "
                f"not {self.dtype}"
            )
        taken = {*self._matrices, FEATURE_DIM, SAMPLE_DIM}
        for name in [*self._coordinates, *self._variable_attrs]:
            if name in taken:
                raise ParameterError(
                    f"the name {name!r} is used twice in the store; choose another"
                )
            taken.add(name)
        for name, values in self._coordinates.items():
            if len(values) != len(self.features):
                raise ParameterError(
                    f"feature coordinate {name!r} has {len(values)} values for "
                    f"{len(self.features)} features; give one a feature"
                )

    def __enter__(self) -> Self:
        """Make the buffers and begin the store."""
        rows = self.shard_rows if self._rows is None else max(min(self.shard_rows, self._rows), 1)
        for name, dtype in self._dtypes.items():
            shape = (rows, len(self.features)) if name in self._matrices else (rows,)
            self._buffers[name] = np.empty(shape, dtype)
        whole = whole_store(self.path, overwrite=self._overwrite)
        self._unfinished = self._whole.enter_context(whole)
        self._whole.enter_context(finish_after(self._finish))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the store its name, or remove it if anything went wrong."""
        try:
            self._whole.__exit__(kind, error, trace)
        finally:
            self._buffers = {}

    def append(
        self, values: ArrayLike, raw: ArrayLike | None = None, **variables: ArrayLike
    ) -> None:
        """Add a block of rows.

        Parameters
        ----------
        values : array-like of shape (rows, features)
            The values of ``X``, in any numeric type.
        raw : array-like of shape (rows, features), optional
            The values of ``raw``; needed if and only if the store keeps them.
        **variables : array-like of shape (rows,) or scalar
            Every variable along the samples; a scalar holds for the whole block.

        Raises
        ------
        DataError
            If a shape does not fit, a variable is missing or unknown, or a number does not fit into
            the type of its variable.
        OutputError
            If the disk refuses the data.
        """
        if not self._buffers:
            raise OutputError(f"{self.path} is not open; use the writer in a `with` block")
        block = {"X": np.asarray(values)} | {k: np.asarray(v) for k, v in variables.items()}
        if raw is not None:
            block["raw"] = np.asarray(raw)
        self._check_block(block)
        capacity = len(self._buffers["X"])
        start, rows = 0, len(block["X"])
        while start < rows:
            count = min(rows - start, capacity - self._filled)
            for name, array in block.items():
                part = array if array.ndim == 0 else array[start : start + count]
                cast = checked_cast(part, self._dtypes[name], f"{name!r} of {self.path}")
                self._buffers[name][self._filled : self._filled + count] = cast
            self._filled += count
            start += count
            if self._filled == capacity:
                self._flush()

    def _check_block(self, block: Mapping[str, NDArray[Any]]) -> None:
        """Compare the shapes of one block with the arrays of the store."""
        if set(block) != set(self._dtypes):
            raise DataError(
                f"a block holds the variables {sorted(block)}, but the store holds "
                f"{sorted(self._dtypes)}; give exactly these"
            )
        if self.dtype.kind == "i" and block["X"].dtype.kind not in "iu":
            raise DataError(f"X is {block['X'].dtype}; a store of {self.dtype} takes integer codes")
        rows = len(block["X"]) if block["X"].ndim else 0
        for name, array in block.items():
            matrix = name in self._matrices
            expected = (rows, len(self.features)) if matrix else (rows,)
            if array.shape != expected and (matrix or array.ndim):
                raise DataError(f"{name!r} has the shape {array.shape}; expected {expected}")
        total = self.rows_written + self._filled + rows
        if self._rows is not None and total > self._rows:
            raise DataError(f"{total} rows arrived, but {self._rows} were announced")

    def set_categories(self, name: str, categories: Sequence[str]) -> None:
        """Name the codes of a variable along the samples; any time before the store is closed.

        Parameters
        ----------
        name : str
            An integer variable of ``row_variables``.
        categories : sequence of str
            The name of code 0, 1, ...

        Raises
        ------
        ParameterError
            If there is no such variable.
        """
        if name not in self._variable_attrs:
            raise ParameterError(f"there is no row variable {name!r} to categorise")
        self._variable_attrs[name]["categories"] = [str(category) for category in categories]

    def set_feature_categories(self, categories: Mapping[str, Sequence[str]]) -> None:
        """Name the codes of the features; any time before a store of integers is closed.

        Parameters
        ----------
        categories : mapping of str to sequence of str
            For every feature the name of code 0, 1, ...
        """
        if self.dtype.kind != "i" or {*categories} != {*self.features}:
            raise ParameterError(
                f"categories name {sorted(categories)}; the store holds {self.dtype} values of "
                f"{self.features}: give every feature of integer codes its categories"
            )
        self._variable_attrs["X"] = {
            ATTRIBUTE: {name: [str(entry) for entry in categories[name]] for name in self.features}
        }

    def add(self, table: "xr.Dataset") -> None:
        """Add variables that are not along the samples; any time before the store is closed.

        Parameters
        ----------
        table : Dataset
            In memory, such as the truth of simulated rows.
        """
        self._tables.append(table)

    def _flush(self) -> None:
        """Write the buffered rows as one shard; only the last one may be short."""
        rows = self.rows_written + self._filled
        with write_errors(self.path):
            if self._group is None:
                self._group = self._create(rows)
            for name, buffer in self._buffers.items():
                array = open_to_write(self._group, name)
                array.resize((rows, *array.shape[1:]))
                array[self.rows_written : rows] = buffer[: self._filled]
        self.rows_written, self._filled = rows, 0

    def _create(self, rows: int) -> zarr.Group:
        """Make the group and its arrays; `rows` are all there are, or one whole shard."""
        group = create_root(self._unfinished, self._attrs)
        for name, values in {FEATURE_DIM: self.features, **self._coordinates}.items():
            # The variable-length type: fixed-length strings have no Zarr v3 specification.
            names = create_array(
                group, name, shape=(len(values),), dtype="string", dimensions=(FEATURE_DIM,)
            )
            names[:] = np.array(values, dtype=object)
        chunk = min(self.chunk_rows, rows)
        shard = -(-rows // chunk) * chunk
        for name, dtype in self._dtypes.items():
            width = (len(self.features),) if name in self._matrices else ()
            # A vector is narrow: larger chunks that still divide the shard make fewer reads.
            inner = chunk if width or shard % _MAX_CHUNK_ROWS else _MAX_CHUNK_ROWS
            create_array(
                group,
                name,
                shape=(rows, *width),
                dtype=dtype,
                chunks=(inner, *width),
                shards=(shard, *width) if shard > inner else None,
                compressors=choose_compressors(self._buffers[name][: self._filled]),
                dimensions=(SAMPLE_DIM, FEATURE_DIM) if width else (SAMPLE_DIM,),
            )
        return group

    def _finish(self) -> None:
        """Write the last rows and everything else, and check the number of rows."""
        if self._filled:
            self._flush()
        if self._group is None:
            raise DataError(f"no rows arrived, so {self.path} was not written")
        if self._rows is not None and self.rows_written != self._rows:
            raise DataError(f"{self.rows_written} rows arrived, but {self._rows} were announced")
        with write_errors(self.path):
            for name, attrs in self._variable_attrs.items():
                self._group[name].attrs.update(attrs)
            for name in self._matrices if self._coordinates else ():
                # xarray reads the names of coordinates from this attribute
                self._group[name].attrs["coordinates"] = " ".join(self._coordinates)
            for table in self._tables:
                self._write_table(table)
            seal(self._unfinished)

    def _write_table(self, table: "xr.Dataset") -> None:
        """Write the variables of a data set beside the rows."""
        assert self._group is not None
        # xarray replaces the attributes of the group by those of what it adds.
        added = table.assign_attrs(dict(self._group.attrs))
        added.to_zarr(
            self._unfinished,
            mode="a",
            consolidated=False,
            write_empty_chunks=True,
            encoding={name: {"compressors": default_compressors()} for name in added.variables},
        )
