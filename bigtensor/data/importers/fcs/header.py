"""Headers of FCS files: byte ranges of the segments and types of the stored numbers.

Flow Cytometry Standard 2.0, 3.0 and 3.1 (Spidlen et al. 2010). Numbers of a header are checked
against the size of what holds them, so that nothing of a size that a damaged file claims is made.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bigtensor.data.importers.fcs.channels import read_channels
from bigtensor.data.importers.fcs.keywords import Keywords, finite_number
from bigtensor.data.importers.fcs.segments import Dataset, read_dataset
from bigtensor.data.importers.fcs.text import Encoding
from bigtensor.data.importers.source import warn_of_notes
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import FileFormatError, ParameterError, Setting

Offsets = Literal["header", "text"]

_VERSIONS = ("2.0", "3.0", "3.1")
_ISOTOPE = re.compile(r"([A-Z][a-z]?\d{2,3}\)?|\d{2,3}[A-Z][a-z]?)D[id]$")
_SCATTER = re.compile(r"(fsc?|ssc?)(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True)
class FcsHeader:
    """Header of one data set of an FCS file.

    Parameters
    ----------
    path : Path
        The file.
    version : str
        Version of the standard that the file claims.
    dataset : int
        Number of the data set within the file, from 0.
    n_rows : int
        Number of events, ``$TOT``.
    channels : tuple of str
        Short names, ``$PnN``, made unique.
    markers : tuple of str
        Long names, ``$PnS``, empty where there is none.
    data_start : int
        Byte of the file at which the events begin.
    dtypes : tuple of str
        NumPy type of each stored number, with its byte order.
    amplification : tuple of (float, float)
        ``$PnE``: decades and offset of a logarithmic amplifier; (0, 0) if linear.
    gains : tuple of float
        ``$PnG``: gain of a linear amplifier.
    ranges : tuple of float
        ``$PnR``: number of values a channel can take.
    time_step : float
        ``$TIMESTEP``: seconds of one unit of the channel ``Time``.
    keywords : mapping of str to str
        The TEXT segments; keys in lower case and without ``$``.
    spelled : tuple of (str, str)
        The same keywords as they are spelled, in their order.
    encoding : {"utf-8", "latin-1"}
        An encoding that can write all keywords: that of the TEXT segment, if it can.
    unread : tuple of str
        Segments that hold something that is not read.
    notes : tuple of str
        What was repaired or left out, a sentence each.
    """

    path: Path
    version: str
    dataset: int
    n_rows: int
    channels: tuple[str, ...]
    markers: tuple[str, ...]
    data_start: int
    dtypes: tuple[str, ...]
    amplification: tuple[tuple[float, float], ...]
    gains: tuple[float, ...]
    ranges: tuple[float, ...]
    time_step: float
    keywords: Mapping[str, str] = field(repr=False)
    spelled: tuple[tuple[str, str], ...] = field(repr=False)
    encoding: Encoding
    unread: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """Marker of every channel, or the channel's name where the marker is absent or repeated."""
        names = [
            marker if marker and self.markers.count(marker) == 1 else channel
            for channel, marker in zip(self.channels, self.markers, strict=True)
        ]
        return tuple(unique_names(names))

    @property
    def is_mass_cytometry(self) -> bool:
        """True if the instrument counts metal isotopes.

        True if ``$CYT`` names a CyTOF, a Helios or DVS Sciences; also if no channel is a scatter
        and at least half of all are named after isotopes, such as ``Nd142Di`` or ``(Nd142)Dd``.
        """
        if re.search(r"cytof|helios|dvs", self.keywords.get("cyt", ""), re.IGNORECASE):
            return True
        isotopes = sum(_ISOTOPE.search(channel) is not None for channel in self.channels)
        scatters = any(_SCATTER.match(channel) for channel in self.channels)
        return not scatters and 2 * isotopes >= len(self.channels)


def read_fcs_header(
    path: "str | os.PathLike[str]", *, dataset: int = 0, offsets: Offsets | None = None
) -> FcsHeader:
    """Read the header of an FCS file, without its events.

    Parameters
    ----------
    path : str or path-like
        The file.
    dataset : int, default 0
        Which data set of a file that holds several.
    offsets : {"header", "text"}, optional
        Where to look up the place of the events if the HEADER and the TEXT segment disagree.

    Returns
    -------
    FcsHeader
        Checked keywords, and the place and type of the events.

    Raises
    ------
    FileFormatError
        If the file is damaged, or holds values that cannot be read faithfully.
    ParameterError
        If there is no such data set, or `offsets` is unknown.

    Warns
    -----
    FileFormatWarning
        If something was repaired or left out; the same sentences as in ``notes``.
    """
    if offsets not in (None, "header", "text"):
        raise ParameterError(Setting("offsets") + f" must be 'header' or 'text', not {offsets!r}")
    if dataset < 0:
        raise ParameterError(Setting("dataset") + f" must be 0 or larger, not {dataset}")
    path = Path(path)
    _check_is_fcs(path)
    fcs_dataset = read_dataset(path, 0)
    for number in range(1, dataset + 1):
        following = fcs_dataset.next_start()
        if following is None:
            raise ParameterError(f"{path} holds {number} data sets; there is no {dataset}")
        fcs_dataset = read_dataset(path, following)
    more = fcs_dataset.next_start() is not None
    try:
        header = _translate(dataset, fcs_dataset, offsets, more=more)
    except FileFormatError as error:
        if more:
            raise FileFormatError(
                error.message + "; or choose its next data set with " + Setting("dataset")
            ) from error
        raise
    warn_of_notes(path, header.notes)
    return header


def _check_is_fcs(path: Path) -> None:
    """Raise a FileFormatError if a path is not an FCS file."""
    try:
        with path.open("rb") as file:
            magic = file.read(3)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error}; check the path") from error
    if magic != b"FCS":
        size = path.stat().st_size
        raise FileFormatError(
            f"{path} ({size} bytes) is not an FCS file: it does not begin with 'FCS'; "
            "give files of a cytometer"
        )


def _translate(
    dataset: int, fcs_dataset: Dataset, offsets: Offsets | None, *, more: bool
) -> FcsHeader:
    """Return the header of checked keywords."""
    path, keywords, version = (
        fcs_dataset.keywords.path,
        fcs_dataset.keywords,
        fcs_dataset.segments.version,
    )
    notes = list(fcs_dataset.notes)
    if more and dataset == 0:
        notes.append(
            "the file holds further data sets; this is number 0, choose with " + Setting("dataset")
        )
    if version not in _VERSIONS:
        notes.append(f"version {version} of the standard is read as 3.1")
        if any(re.fullmatch(r"p\d+datatype", key) for key in keywords.values):
            raise FileFormatError(
                f"{path}: data types that differ by channel are not read; export it as FCS 3.1"
            )
    channels = read_channels(keywords)
    rows = keywords.integer("tot")
    if rows < 0:
        raise keywords.refusal("tot", "is no number of events")
    if len(set(channels.names)) < len(channels.names):
        repeated = sorted({name for name in channels.names if channels.names.count(name) > 1})
        notes.append(f"repeated channel names were numbered: {repeated}")
    row_bytes = sum(int(dtype[2:]) for dtype in channels.dtypes)
    return FcsHeader(
        path=path,
        version=version,
        dataset=dataset,
        n_rows=rows,
        channels=tuple(unique_names(channels.names)),
        markers=channels.markers,
        data_start=_data_start(fcs_dataset, rows, row_bytes, offsets),
        dtypes=channels.dtypes,
        amplification=channels.amplification,
        gains=channels.gains,
        ranges=channels.ranges,
        time_step=_time_step(keywords, channels.names, notes.append),
        keywords=keywords.values,
        spelled=fcs_dataset.spelled,
        encoding=fcs_dataset.encoding,
        unread=fcs_dataset.unread,
        notes=tuple(notes),
    )


def _time_step(keywords: Keywords, channels: Sequence[str], note: Callable[[str], None]) -> float:
    """Return $TIMESTEP, 1 if it is absent, empty or no time."""
    value = keywords.text("timestep", "")
    if not value or not any(name.lower() == "time" for name in channels):
        return 1.0
    step = finite_number(value)
    if step is not None and step > 0:
        return step
    reason = "is no number" if step is None else "is not positive"
    note(f"{keywords.shown('timestep')} {reason}, so that Time stays in the instrument's units")
    return 1.0


def _data_start(fcs_dataset: Dataset, rows: int, row_bytes: int, offsets: Offsets | None) -> int:
    """Check the number of events against $TOT, and return the first byte of the events."""
    path, start, version = (
        fcs_dataset.keywords.path,
        fcs_dataset.start,
        fcs_dataset.segments.version,
    )
    in_header = fcs_dataset.segments.data
    in_text = (
        fcs_dataset.keywords.integer("begindata", 0),
        fcs_dataset.keywords.integer("enddata", 0),
    )

    def held(segment: tuple[int, int]) -> int:
        return (segment[1] - segment[0] + 1) // row_bytes

    if offsets is not None:
        chosen = in_header if offsets == "header" else in_text
    elif version == "2.0" or in_text[0] <= 0:
        chosen = in_header
    elif in_header[0] <= 0:
        # The eight digits of the HEADER do not reach beyond 99,999,999 bytes.
        chosen = in_text
    elif in_header[0] != in_text[0] or held(in_header) != held(in_text):
        raise FileFormatError(
            f"{path}: HEADER says that the events lie in bytes {in_header[0]} to {in_header[1]}, "
            f"TEXT says {in_text[0]} to {in_text[1]}; choose with "
            + Setting("offsets", "header", "text")
            + " and look at the values, as neither is right for every instrument"
        )
    else:
        chosen = in_text
    if rows == 0 and (chosen[0] <= 0 or held(chosen) <= 0):
        return start
    if chosen[0] <= 0:
        raise FileFormatError(f"{path} does not say where its events lie")
    where = f"bytes {chosen[0]} to {chosen[1]}"
    if held(chosen) != rows:
        other = "header" if chosen == in_text else "text"
        fits = held(in_header if other == "header" else in_text) == rows
        raise FileFormatError(
            f"{path}: {where} hold {held(chosen)} events of {row_bytes} bytes, but $TOT says "
            f"{rows}; "
            + (
                "choose " + Setting("offsets", other)
                if fits
                else "export the file again from the instrument's software"
            )
        )
    size = path.stat().st_size
    if start + chosen[0] + rows * row_bytes > size:
        raise FileFormatError(
            f"{path} is truncated: its events lie in {where} of the data set at byte {start}, "
            f"but the file has {size} bytes; copy it again"
        )
    return start + chosen[0]
