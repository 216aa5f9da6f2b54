"""Headers of FCS files: what is where, and how stored numbers become values.

Flow Cytometry Standard 2.0, 3.0 and 3.1 (Spidlen et al. 2010). The TEXT segment is parsed by
flowio; the place and the types of DATA are worked out here, so that the events can be streamed.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bigtensor.data.importers.source import optional_module, unique_names, warn_of_notes
from bigtensor.errors import FileFormatError, ParameterError

Offsets = Literal["header", "text"]

_VERSIONS = ("2.0", "3.0", "3.1")
_INTEGER_WIDTHS = (8, 16, 32)
_ISOTOPE = re.compile(r"([A-Z][a-z]?\d{2,3}\)?|\d{2,3}[A-Z][a-z]?)D[id]$")
_SCATTER = re.compile(r"(fsc?|ssc?)(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True)
class FcsHeader:
    """What a reader needs to know of one data set of an FCS file.

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
        The TEXT segment; keys in lower case and without ``$``.
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
    notes: tuple[str, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """The marker of each channel if it has one of its own, else the channel's name."""
        names = [
            marker if marker and self.markers.count(marker) == 1 else channel
            for channel, marker in zip(self.channels, self.markers, strict=True)
        ]
        return tuple(unique_names(names))

    @property
    def is_mass_cytometry(self) -> bool:
        """Whether the instrument counts metal isotopes.

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

    Raises
    ------
    FileFormatError
        If the file is damaged, or holds what cannot be read faithfully.
    ParameterError
        If there is no such data set, or `offsets` is unknown.

    Warns
    -----
    FileFormatWarning
        If something was repaired or left out; the same sentences as in ``notes``.
    """
    if offsets not in (None, "header", "text"):
        raise ParameterError(f"offsets must be 'header' or 'text', not {offsets!r}")
    if dataset < 0:
        raise ParameterError(f"dataset must be 0 or larger, not {dataset}")
    path = Path(path)
    _check_is_fcs(path)
    start = 0
    for number in range(dataset + 1):
        segments, parsed = _parse_text(path, start)
        following = _next_dataset(path, start, parsed.text)
        if number < dataset:
            if following is None:
                raise ParameterError(f"{path} holds {number + 1} data sets; there is no {dataset}")
            start = following
    more = following is not None
    try:
        header = _translate(path, start, dataset, segments, parsed, offsets, more)
    except FileFormatError as error:
        if more:
            raise FileFormatError(f"{error}; or choose its next data set with dataset=") from error
        raise
    warn_of_notes(path, header.notes)
    return header


def _check_is_fcs(path: Path) -> None:
    """Refuse a path that is no FCS file at all."""
    try:
        with path.open("rb") as file:
            magic = file.read(3)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error}; check the path") from error
    if magic != b"FCS":
        size = path.stat().st_size
        raise FileFormatError(
            f"{path} ({size} bytes) is not an FCS file: it does not begin with 'FCS'"
        )


def _parse_text(path: Path, start: int) -> tuple[dict[str, int], Any]:
    """Let flowio parse the HEADER and TEXT segments of the data set at byte `start`."""
    flowio = optional_module("flowio", "cytometry")
    parsing_error = optional_module("flowio.exceptions", "cytometry").FCSParsingError
    size = path.stat().st_size
    # Either place of DATA may be wrong, and flowio checks one of them against the file's size.
    for choice in ({"use_header_offsets": True}, {"ignore_offset_discrepancy": True}):
        try:
            with path.open("rb") as file:
                parsed = flowio.FlowData(file, only_text=True, nextdata_offset=start, **choice)
        except parsing_error:
            continue
        except KeyError as error:
            raise FileFormatError(
                f"{path} lacks the keyword ${str(error.args[0]).upper()} in its TEXT segment; "
                "export it again from the instrument's software"
            ) from error
        except (ValueError, IndexError, EOFError, OSError, MemoryError, OverflowError) as error:
            raise FileFormatError(
                f"{path}: the HEADER or TEXT segment is damaged: {error}"
            ) from error
        else:
            return parsed.header, parsed
    raise FileFormatError(
        f"{path} is truncated: its events should lie beyond its end, at {size} bytes"
    )


def _next_dataset(path: Path, start: int, text: Mapping[str, str]) -> int | None:
    """Return the byte at which the following data set begins, None if there is none."""
    step = _integer(path, text, "nextdata") if text.get("nextdata", "").strip() else 0
    if step <= 0:
        return None
    with path.open("rb") as file:
        file.seek(start + step)
        return start + step if file.read(3) == b"FCS" else None


def _translate(
    path: Path,
    start: int,
    dataset: int,
    segments: Mapping[str, Any],
    parsed: Any,
    offsets: Offsets | None,
    more: bool,
) -> FcsHeader:
    """Turn what flowio parsed into a checked header."""
    text: dict[str, str] = parsed.text
    version = str(parsed.version)
    notes = []
    if more and dataset == 0:
        notes.append("the file holds further data sets; this is number 0, choose with dataset=")
    if version not in _VERSIONS:
        notes.append(f"version {version} of the standard is read as 3.1")
        if any(re.fullmatch(r"p\d+datatype", key) for key in text):
            raise FileFormatError(f"{path}: data types that differ by channel are not read")
    count, rows = int(parsed.channel_count), int(parsed.event_count)
    if count < 1 or rows < 0:
        raise FileFormatError(f"{path}: $PAR={count} and $TOT={rows} make no sense")
    if set(parsed.channels) != set(range(1, count + 1)):
        raise FileFormatError(f"{path}: $PAR says {count} channels, {len(parsed.channels)} named")
    channels = [parsed.channels[number] for number in range(1, count + 1)]
    names = [channel["pnn"].strip() for channel in channels]
    if len(set(names)) < count:
        repeated = sorted({name for name in names if names.count(name) > 1})
        notes.append(f"repeated channel names were numbered: {repeated}")
    dtypes = _dtypes(path, text, count)
    row_bytes = sum(int(dtype[2:]) for dtype in dtypes)
    data_start = _data_start(path, start, version, segments, text, rows, row_bytes, offsets)
    return FcsHeader(
        path=path,
        version=version,
        dataset=dataset,
        n_rows=rows,
        channels=tuple(unique_names(names)),
        markers=tuple(channel["pns"].strip() for channel in channels),
        data_start=data_start,
        dtypes=dtypes,
        amplification=tuple((float(a), float(b)) for a, b in (c["pne"] for c in channels)),
        gains=tuple(float(channel["png"]) for channel in channels),
        ranges=tuple(float(channel["pnr"]) for channel in channels),
        time_step=_time_step(text, names, notes.append),
        keywords=text,
        notes=tuple(notes),
    )


def _integer(path: Path, text: Mapping[str, str], key: str) -> int:
    """Return the number under a keyword, 0 if there is none."""
    try:
        return int(text.get(key, "0"))
    except ValueError as error:
        raise FileFormatError(f"{path}: ${key.upper()} is no number: {text[key]!r}") from error


def _time_step(
    text: Mapping[str, str], channels: Sequence[str], note: Callable[[str], None]
) -> float:
    """Return $TIMESTEP, 1 if it is absent, empty or no number."""
    value = text.get("timestep", "").strip()
    if not value or not any(name.lower() == "time" for name in channels):
        return 1.0
    try:
        return float(value)
    except ValueError:
        note(f"$TIMESTEP is no number ({value!r}), so that Time stays in the instrument's units")
        return 1.0


def _dtypes(path: Path, text: Mapping[str, str], count: int) -> tuple[str, ...]:
    """Return the NumPy type of each stored number."""
    for key in ("datatype", "mode", "byteord"):
        if key not in text:
            raise FileFormatError(f"{path} lacks the keyword ${key.upper()} in its TEXT segment")
    if text["mode"].strip().upper() != "L":
        raise FileFormatError(
            f"{path}: $MODE is {text['mode']!r}; only lists of events (L) are read"
        )
    kind = text["datatype"].strip().upper()
    bytes_in_order = [item.strip() for item in text["byteord"].split(",")]
    if bytes_in_order == sorted(bytes_in_order):
        order = "<"
    elif bytes_in_order == sorted(bytes_in_order, reverse=True):
        order = ">"
    else:
        raise FileFormatError(f"{path}: $BYTEORD={text['byteord']} is a mixed byte order")
    if kind in ("F", "D"):
        return (f"{order}f{4 if kind == 'F' else 8}",) * count
    if kind != "I":
        raise FileFormatError(f"{path}: $DATATYPE={kind} is not read; export the file as F, D or I")
    widths = [text.get(f"p{number}b", "").strip() for number in range(1, count + 1)]
    odd = {
        f"$P{number}B={width}"
        for number, width in enumerate(widths, start=1)
        if not width.isdigit() or int(width) not in _INTEGER_WIDTHS
    }
    if odd:
        raise FileFormatError(
            f"{path}: integers of 8, 16 and 32 bits are read, but {', '.join(sorted(odd))}; "
            "export the file as floating point"
        )
    return tuple(f"{order}u{int(width) // 8}" for width in widths)


def _data_start(
    path: Path,
    start: int,
    version: str,
    segments: Mapping[str, Any],
    text: Mapping[str, str],
    rows: int,
    row_bytes: int,
    offsets: Offsets | None,
) -> int:
    """Return the byte at which the events begin, after checking their number against $TOT."""
    in_header = (int(segments["data_start"]), int(segments["data_stop"]))
    in_text = (_integer(path, text, "begindata"), _integer(path, text, "enddata"))

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
            f"TEXT says {in_text[0]} to {in_text[1]}; choose with offsets='header' or 'text' "
            "(--offsets) and look at the values, as neither is right for every instrument"
        )
    else:
        chosen = in_text
    if rows == 0:
        return start
    if chosen[0] <= 0:
        raise FileFormatError(f"{path} does not say where its events lie")
    where = f"bytes {chosen[0]} to {chosen[1]}"
    if held(chosen) != rows:
        other = "" if version == "2.0" else "; try the other value of offsets ('header', 'text')"
        raise FileFormatError(
            f"{path}: {where} hold {held(chosen)} events of {row_bytes} bytes, but $TOT says "
            f"{rows}{other}"
        )
    size = path.stat().st_size
    if start + chosen[0] + rows * row_bytes > size:
        raise FileFormatError(
            f"{path} is truncated: its events lie in {where} of the data set at byte {start}, "
            f"but the file has {size} bytes"
        )
    return start + chosen[0]
