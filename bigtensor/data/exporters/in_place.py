"""Elements of an AnnData file in HDF5 or Zarr, added without touching its other elements."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import zarr
from numpy.typing import DTypeLike

from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.data.addresses.store_address import Address
from bigtensor.data.anndata.hdf5_files import open_hdf5
from bigtensor.data.anndata.stored_elements import StoredGroup
from bigtensor.data.stores.consolidation import consolidate
from bigtensor.data.stores.stored_arrays import create_array, default_compressors, every_chunk
from bigtensor.data.stores.zarr_groups import open_group
from bigtensor.errors import BigtensorError, FileFormatError, OutputError

if TYPE_CHECKING:
    import h5py

CHUNK_ROWS = 65_536
"""Rows of one chunk of what is written to Zarr."""


class ChangedGroup(StoredGroup, Protocol):
    """Root of a file that is changed."""

    def create_group(self, name: str, /) -> ChangedGroup:
        """Create a group."""

    def __delitem__(self, name: str, /) -> None:
        """Remove an element."""


class InPlace(Protocol):
    """A file that is changed where it lies; names are paths below its root."""

    @property
    def group(self) -> ChangedGroup:
        """The root."""

    def create(
        self, name: str, shape: tuple[int, ...], dtype: DTypeLike
    ) -> h5py.Dataset | zarr.Array[Any]:
        """Create an array that is then filled by row blocks."""

    def write(self, parent: StoredGroup, name: str, value: object) -> None:
        """Write a small element in anndata's own encoding."""

    def move(self, source: str, target: str) -> None:
        """Give an element another name, without copying it."""

    def begin_moves(self) -> None:
        """Prepare for elements that come and go while others may read."""

    def finish(self) -> None:
        """Make the changes known to all readers."""

    def close(self) -> None:
        """Let the file go."""


class Hdf5InPlace:
    """An HDF5 file.

    While the file is open, what it knows of its own structure is changed in memory only and goes to
    disk at once when it is closed. A process that is killed before leaves the file as it was.
    """

    def __init__(self, path: Path) -> None:
        self.group = open_hdf5(path, "r+")
        config = self.group.id.get_mdc_config()
        # evictions can be switched off only where the cache does not resize itself
        config.evictions_enabled = False
        config.incr_mode = config.flash_incr_mode = config.decr_mode = 0
        self.group.id.set_mdc_config(config)

    def create(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> h5py.Dataset:
        """Create a contiguous dataset, as anndata does."""
        return self.group.create_dataset(name, shape=shape, dtype=dtype)

    def write(self, parent: StoredGroup, name: str, value: object) -> None:
        """Write an element as anndata does."""
        optional_module("anndata.io", "cytometry").write_elem(parent, name, value)

    def move(self, source: str, target: str) -> None:
        """Rename a link."""
        self.group.move(source, target)

    def begin_moves(self) -> None:
        """Nothing: no move reaches the disk before `finish`."""

    def finish(self) -> None:
        """Write everything to disk."""
        self.group.flush()

    def close(self) -> None:
        """Close the file."""
        self.group.close()


class ZarrInPlace:
    """A Zarr group in a folder, of format 2 or 3; an element is renamed with its folder."""

    def __init__(self, path: Path) -> None:
        self._root = path
        # through consolidated metadata new elements would not be seen
        self.group = open_group(path, mode="r+", consolidated=False)
        self._consolidated = [folder for folder in (path, *path.parents) if _consolidated(folder)]

    def create(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> zarr.Array[Any]:
        """Create an array that is chunked along its rows."""
        chunks = (max(min(shape[0], CHUNK_ROWS), 1), *shape[1:])
        return create_array(self.group, name, shape=shape, dtype=dtype, chunks=chunks)

    def write(self, parent: StoredGroup, name: str, value: object) -> None:
        """Write an element whose arrays have checksums where the format has a place for them."""
        checked = self.group.metadata.zarr_format == 3
        options = {"compressors": default_compressors()} if checked else {}
        with every_chunk, warnings.catch_warnings():
            # anndata announces its next release; small elements come out the same
            warnings.filterwarnings("ignore", "zarr v3 autosharding", UserWarning)
            optional_module("anndata.io", "cytometry").write_elem(
                parent, name, value, dataset_kwargs=options
            )

    def move(self, source: str, target: str) -> None:
        """Rename a folder."""
        (self._root / source).rename(self._root / target)

    def begin_moves(self) -> None:
        """Remove consolidated metadata, which would list elements that are gone."""
        for folder in self._consolidated:
            (folder / ".zmetadata").unlink(missing_ok=True)
            # metadata that were read without the consolidated ones are written without them
            zarr.open_group(folder, mode="r+", use_consolidated=False).update_attributes({})

    def finish(self) -> None:
        """Renew the consolidated metadata of a group and of the groups that hold it."""
        for folder in self._consolidated:
            consolidate(str(folder))

    def close(self) -> None:
        """Nothing is held open."""


def _consolidated(folder: Path) -> bool:
    """Return True for a Zarr group with consolidated metadata."""
    if not any((folder / name).exists() for name in ("zarr.json", ".zmetadata")):
        return False
    return zarr.open_group(folder, mode="r").metadata.consolidated_metadata is not None


@contextmanager
def open_in_place(path: Path) -> Iterator[InPlace]:
    """Open an AnnData file of either kind to change it.

    Parameters
    ----------
    path : Path
        ``.h5ad`` file, or folder of a Zarr store.

    Raises
    ------
    FileFormatError
        When there is no such file, or it is something else.
    OutputError
        When it may not be changed, or another program holds it.
    """
    if not path.exists():
        raise FileFormatError(f"{path} does not exist; labels go into an existing AnnData file")
    try:
        file: InPlace = ZarrInPlace(path) if path.is_dir() else Hdf5InPlace(path)
    except FileFormatError:
        raise
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, PermissionError | BlockingIOError) or _is_hdf5(path):
            raise OutputError(
                f"{path} cannot be changed ({error}); see that it is writable, and close it here "
                "and in other programs"
            ) from error
        raise FileFormatError(f"{path} cannot be opened as AnnData: {error}") from error
    try:
        yield file
    finally:
        file.close()


def _is_hdf5(path: Path) -> bool:
    """Return True if a file begins as an HDF5 file does."""
    return path.is_file() and bool(optional_module("h5py", "cytometry").is_hdf5(path))


@contextmanager
def answer_errors(path: Address, labels: str | os.PathLike[str]) -> Iterator[None]:
    """Raise an OutputError for errors of the system while answers are written to a file.

    Parameters
    ----------
    path : Path or str
        The file.
    labels : path
        Store of the labels, which the message names because it is whole.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        # a full disk may be an error of closing the file, which h5py raises as RuntimeError
        if isinstance(error, BigtensorError):
            raise
        raise OutputError(
            f"{path} cannot be written ({getattr(error, 'strerror', None) or error}); the labels "
            f"are in {labels}"
        ) from error
