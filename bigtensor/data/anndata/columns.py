"""Columns of the tables of AnnData: obs and var, in HDF5 and in Zarr."""

from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.data.anndata.blosc_frames import refuse_cut_frames
from bigtensor.data.anndata.stored_elements import (
    ColumnValues,
    StoredArray,
    StoredElement,
    StoredGroup,
)
from bigtensor.errors import FileFormatError


def index_of(frame: StoredGroup) -> StoredElement:
    """Return the stored index of a stored data frame."""
    index: StoredElement = frame[index_name(frame)]
    return index


def index_name(frame: StoredGroup) -> str:
    """Return the name of the column that holds the index of a stored data frame.

    Raises
    ------
    FileFormatError
        When it is a path, which could lead to what nobody has looked at.
    """
    name = str(frame.attrs.get("_index", "_index"))
    if "/" in name:
        raise FileFormatError(f"the index of a data frame is at {name!r}, which is no column of it")
    return name


def read_column(element: StoredElement) -> ColumnValues:
    """Read a stored column."""
    refuse_cut_frames(element)
    try:
        values: ColumnValues = optional_module("anndata.io", "cytometry").read_elem(element)
    except MemoryError as error:
        # Names are small: a damaged count of them asks for so much.
        raise ValueError(f"a column of names asks for too much memory: {error}") from error
    return values


def column_length(column: StoredElement) -> int:
    """Return the rows of a stored column: of its codes or values where it has several arrays."""
    if isinstance(column, StoredGroup):
        part: StoredArray = column["codes" if "codes" in column else "values"]
        return int(part.shape[0])
    return int(column.shape[0])
