"""Labels and posteriors as further channels of copies of FCS files.

Events of the source are copied byte by byte, whatever their type, so that a copy gates as the
original does. Keywords are copied as they are spelled, in their order. The new channels have the
type of the others:

=====================  =============================================================================
channel                value
=====================  =============================================================================
``bigtensor_label``    number of the population, from 0; -1 for events that were left out
``bigtensor_proba_0``  posterior of population 0, and so on; 0 for events that were left out
=====================  =============================================================================

Integer data (``$DATATYPE`` I) has no negative numbers and no fractions. There the label is the
number of the population + 1, and 0 for events that were left out. Posteriors are stored as 0 to
65535 with the gain 65535 (``$PnG``), which a reader divides by. The keyword ``BIGTENSOR_LABEL`` of
every copy says which of the two its label is. ``BIGTENSOR_POPULATION_0`` and so on are the names
of the populations that have one. A name is also the description (``$PnS``) of a posterior.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from bigtensor.data.exporters.answered_rows import warn_of_other_rows
from bigtensor.data.exporters.labels import LabelBlock, LabelStore, open_labels
from bigtensor.data.exporters.sample_rows import rows_of_samples
from bigtensor.data.exporters.source_events import warn_of_other_events
from bigtensor.data.importers.csv_text import bare_name
from bigtensor.data.importers.fcs.header import FcsHeader, Offsets, read_fcs_header
from bigtensor.data.importers.fcs.segments import HEADER_BYTES
from bigtensor.data.importers.fcs.text import join_text, listed
from bigtensor.data.importers.source import warn_of_notes
from bigtensor.data.stores.layout import FCS_DATASET
from bigtensor.data.stores.leftovers import discard, unfinished_path
from bigtensor.data.stores.zarr_groups import open_whole_group
from bigtensor.data.values.row_progress import RowProgress
from bigtensor.errors import DataError, FileFormatError, OutputError, ParameterError, Setting

LABEL = "bigtensor_label"
PROBABILITY = "bigtensor_proba_"
LABEL_KEYWORD = "BIGTENSOR_LABEL"
NAME_KEYWORD = "BIGTENSOR_POPULATION_"

_BLOCK_ROWS = 65_536
"""Events that are copied at once."""

_HEADER_LIMIT = 99_999_999
"""Largest offset in the header of an FCS file, which has eight digits for each."""

_INTEGER_TOP = 65_535
"""Largest integer of the 16 bits that a new channel of integer data has."""

_OFFSETS = ("$BEGINDATA", "$ENDDATA")
_OFFSET_DIGITS = 12
"""Digits of an offset in TEXT, which may be larger than those of the header."""

_OTHER_SEGMENTS = ("$BEGINSTEXT", "$ENDSTEXT", "$BEGINANALYSIS", "$ENDANALYSIS", "$NEXTDATA")
_LABEL_MEANING = {
    "f": "number of the population; -1 for events that were left out",
    "u": "number of the population + 1; 0 for events that were left out",
}


@dataclass(frozen=True)
class _Job:
    """Source and target of one copy, with the rows of its events in the store of labels."""

    header: FcsHeader
    start: int
    target: Path
    partial: Path


def write_answers_to_fcs(
    labels: str | os.PathLike[str],
    sources: Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    cells: str | os.PathLike[str],
    probabilities: bool = True,
    offsets: Offsets | None = None,
    overwrite: bool = False,
    progress: RowProgress = lambda *_: None,
) -> tuple[Path, ...]:
    """Copy FCS files and add the answers for their events as channels.

    Parameters
    ----------
    labels : path
        A store of labels of all rows of `cells`.
    sources : sequence of path
        FCS files that `cells` was imported from: all or some, in any order.
    folder : path
        Where copies of the same names are made, all of them together once all are whole; the folder
        is made if it does not exist.
    cells : path
        The store that was imported: its ``sample_id`` says which rows are whose.
    probabilities : bool, default True
        If True, add the posterior probabilities too, if the store has any.
    offsets : {"header", "text"}, optional
        As for the import.
    overwrite : bool, default False
        Replace files of these names; never a source.
    progress : callable, optional
        Called with the rows done and all rows.

    Returns
    -------
    tuple of Path
        The files made.

    Raises
    ------
    DataError
        When a file is not among the samples of `cells`, or has another number of events.
    FileFormatError
        When a source is damaged or carries such channels already.
    OutputError
        When a target exists, is a source, or cannot be written.

    Warns
    -----
    OtherRowsWarning
        When the values of `cells` or of a file are not those that were labelled.
    """
    store, out = open_labels(labels), Path(folder)
    paths = [Path(source) for source in sources]
    _check_targets(paths, out, overwrite=overwrite)
    group = open_whole_group(os.fspath(cells))
    dataset = _dataset_of(group)
    jobs = []
    for path, (start, rows) in zip(paths, _rows_of_files(store, cells, paths), strict=True):
        header = read_fcs_header(path, dataset=dataset, offsets=offsets)
        _check_source(header, rows)
        warn_of_other_events(header, group, start)
        target = out / path.name
        jobs.append(_Job(header, start, target, unfinished_path(target)))
    total, done = sum(job.header.n_rows for job in jobs), 0
    names = store.shown_names()
    width = store.components or 0 if probabilities else 0
    try:
        out.mkdir(exist_ok=True)
        for job in jobs:
            for rows in _copy(job, store, names, width):
                done += rows
                progress(done, total)
        for job in jobs:
            job.partial.replace(job.target)
    except OSError as error:
        if not error.errno:
            raise
        raise OutputError(
            f"FCS files cannot be written to {out} ({error.strerror or error}); the labels are in "
            f"{labels}"
        ) from error
    finally:
        for job in jobs:
            discard(job.partial)
    return tuple(job.target for job in jobs)


def _check_targets(paths: Sequence[Path], out: Path, *, overwrite: bool) -> None:
    """Raise an error if targets have the same name, would replace a source, or exist already."""
    if not paths:
        raise ParameterError("there are no FCS files to copy; give those that were imported")
    names = [path.name for path in paths]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ParameterError(f"files of one name cannot go to one folder: {repeated}")
    if not out.parent.is_dir() or (out.exists() and not out.is_dir()):
        raise OutputError(f"{out} is not a folder, and none can be made there; give another one")
    for path in paths:
        target = out / path.name
        if target.resolve() == path.resolve():
            raise OutputError(f"{path} is read and would be replaced; give another folder")
        if target.exists() and not overwrite:
            raise OutputError(
                f"{target} exists already; give another folder or give "
                + Setting("overwrite", True)
            )


def _rows_of_files(
    store: LabelStore, cells: str | os.PathLike[str], paths: Sequence[Path]
) -> Iterator[tuple[int, int]]:
    """Yield the first row and the number of rows of every file."""
    samples = rows_of_samples(cells, store.rows)
    warn_of_other_rows(store.attrs, cells)
    for path in paths:
        # an import names samples by the stem, or by the whole path where stems repeat
        names = [name for name in (bare_name(path).stem, str(path)) if name in samples]
        if not names:
            raise DataError(
                f"{path} is not a sample of {cells}, which holds {sorted(samples)}; give the files "
                "that were imported, under the same names"
            )
        yield samples[names[0]]


def _dataset_of(cells: zarr.Group) -> int:
    """Return the number of the data set of every file that a store was imported from."""
    number = cells.attrs.get(FCS_DATASET, 0)
    # stores of earlier versions do not record it
    return number if isinstance(number, int) else 0


def _check_source(header: FcsHeader, rows: int) -> None:
    """Raise an error if a source has another number of events, or answers already."""
    if header.n_rows != rows:
        raise DataError(
            f"{header.path} has {header.n_rows:,} events, but {rows:,} rows were imported from a "
            "file of this name; give that file"
        )
    if LABEL in header.channels:
        raise FileFormatError(
            f"{header.path} has a channel {LABEL} already; give the file without labels"
        )


def _copy(job: _Job, store: LabelStore, names: Sequence[str], width: int) -> Iterator[int]:
    """Write one file block by block; yield the rows of every block."""
    header = job.header
    row_bytes = sum(np.dtype(dtype).itemsize for dtype in header.dtypes)
    added = _added_dtype(header)
    new_row_bytes = row_bytes + (1 + width) * added.itemsize
    keywords = _keywords(header, names, width, added)
    with header.path.open("rb") as source, job.partial.open("wb") as target:
        target.write(_head(header, keywords, new_row_bytes))
        source.seek(header.data_start)
        blocks = store.blocks(
            job.start,
            job.start + header.n_rows,
            probabilities=bool(width),
            block_rows=_BLOCK_ROWS,
        )
        for block in blocks:
            rows = block.stop - block.start
            stored = np.fromfile(source, np.uint8, rows * row_bytes)
            if stored.size < rows * row_bytes:
                raise FileFormatError(
                    f"{header.path} became shorter while it was read; copy it again"
                )
            new = np.empty((rows, new_row_bytes), np.uint8)
            new[:, :row_bytes] = stored.reshape(rows, row_bytes)
            new[:, row_bytes:] = _added_values(block, added).view(np.uint8).reshape(rows, -1)
            target.write(new.data)
            yield rows


def _added_dtype(header: FcsHeader) -> np.dtype[Any]:
    """Return the type of new channels: the common type of the channels, or 16-bit integers."""
    order, kind = header.dtypes[0][0], header.dtypes[0][1]
    return np.dtype(f"{order}u2" if kind == "u" else header.dtypes[0])


def _added_values(block: LabelBlock, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values of the new channels: ``(events, channels)``."""
    whole = dtype.kind == "u"
    parts = [block.label[:, None] + (1.0 if whole else 0.0)]
    if block.probability is not None:
        posterior = np.nan_to_num(block.probability.astype(np.float64), nan=0.0)
        parts.append(np.rint(posterior * _INTEGER_TOP) if whole else posterior)
    return np.hstack(parts).astype(dtype)


def _keywords(
    header: FcsHeader, names: Sequence[str], width: int, dtype: np.dtype[Any]
) -> list[tuple[str, str]]:
    """Return the keywords of the source and of the new channels."""
    whole, n_labels = dtype.kind == "u", len(names)
    if whole and n_labels >= _INTEGER_TOP:
        raise DataError(f"{n_labels:,} labels do not fit into integers of 16 bits")
    count = len(header.channels)
    new = dict.fromkeys(_OTHER_SEGMENTS, "0")
    # of a fixed width, so that the length of TEXT does not depend on them
    new |= dict.fromkeys(_OFFSETS, "0" * _OFFSET_DIGITS)
    new["$PAR"] = str(count + 1 + width)
    if header.keywords["byteord"].strip() == "1":
        # The source has bytes alone, which have no order. The new channels have two bytes.
        new["$BYTEORD"] = "1,2"
    new[LABEL_KEYWORD] = _LABEL_MEANING["u" if whole else "f"]
    # the keywords of a file have one encoding, which may lack letters of a name
    named = {
        number: name.encode(header.encoding, "replace").decode(header.encoding)
        for number, name in enumerate(names)
        if name != str(number)
    }
    new |= {f"{NAME_KEYWORD}{number}": name for number, name in named.items()}
    for j in range(1 + width):
        number = count + 1 + j
        new |= {
            f"$P{number}N": LABEL if j == 0 else f"{PROBABILITY}{j - 1}",
            f"$P{number}B": str(8 * dtype.itemsize),
            f"$P{number}E": "0,0",
            f"$P{number}R": str(_INTEGER_TOP + 1 if whole else max(n_labels, 1) if j == 0 else 1),
        }
        if j and whole:
            new[f"$P{number}G"] = str(_INTEGER_TOP)
        if j - 1 in named:
            new[f"$P{number}S"] = named[j - 1]
    notes = []
    if header.unread:
        segments = ", ".join(header.unread)
        notes.append(f"segments beside TEXT and DATA are not copied: {segments}")
    keywords, beyond = _replaced(header, new)
    if beyond:
        notes.append(f"keywords of channels beyond $PAR are not copied: {listed(beyond)}")
    warn_of_notes(header.path, notes)
    return keywords


def _replaced(header: FcsHeader, new: Mapping[str, str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the keywords of the source with new values, and the names of keywords left out.

    A keyword of a channel beyond ``$PAR`` would describe one of the new channels.
    """
    keywords, beyond, added = [], [], dict(new)
    for key, value in header.spelled:
        name = key.strip().upper()
        channel = re.fullmatch(r"\$P([1-9][0-9]{0,8})[A-Z]+", name)
        if channel and int(channel[1]) > len(header.channels):
            beyond.append(key)
        elif name not in new:
            # Blanks around a name are padding, which other readers take for a part of it.
            keywords.append((key.strip() or key, value))
        elif name in added:
            keywords.append((name, added.pop(name)))
    return [*keywords, *added.items()], beyond


def _head(header: FcsHeader, keywords: Sequence[tuple[str, str]], row_bytes: int) -> bytes:
    """Return the bytes before the events: the HEADER and the TEXT segment."""
    start = HEADER_BYTES + len(join_text(keywords, header.encoding))
    stop = start + header.n_rows * row_bytes - 1
    offsets = {
        key: f"{place:0{_OFFSET_DIGITS}d}"
        for key, place in zip(_OFFSETS, (start, stop), strict=True)
    }
    placed = [(key, offsets.get(key, value)) for key, value in keywords]
    text = join_text(placed, header.encoding)
    if stop > _HEADER_LIMIT:
        if header.version == "2.0":
            raise FileFormatError(
                f"the copy of {header.path} would be larger than FCS 2.0 can address; export it as "
                "FCS 3.1"
            )
        start = stop = 0
    ends = (HEADER_BYTES, HEADER_BYTES + len(text) - 1, start, stop, 0, 0)
    return f"FCS{header.version}    ".encode() + b"".join(b"%8d" % place for place in ends) + text
