"""Segments of FCS files: HEADER, TEXT and supplemental TEXT of one data set."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bigtensor.data.importers.fcs.keywords import Keywords, index_keywords, whole_number
from bigtensor.data.importers.fcs.text import Encoding, TextSegment, listed, split_text
from bigtensor.errors import FileFormatError

HEADER_BYTES = 58
"""Bytes of the header: the version, four spaces, and six offsets of eight digits."""

_NOWHERE = (0, 0)
"""Offsets of a segment that the file does not have."""


@dataclass(frozen=True)
class Segments:
    """Places of segments as the HEADER says them: first and last byte from the data set's begin.

    Parameters
    ----------
    version : str
        Version of the standard that the file claims.
    text, data, analysis : tuple of (int, int)
        The segments; (0, 0) if there is none.
    """

    version: str
    text: tuple[int, int]
    data: tuple[int, int]
    analysis: tuple[int, int]


@dataclass(frozen=True)
class Dataset:
    """One data set of a file: its segments and its keywords.

    Parameters
    ----------
    start : int
        Byte of the file at which the data set begins.
    segments : Segments
        What the HEADER says.
    keywords : Keywords
        Values by keyword.
    spelled : tuple of (str, str)
        Keywords and values as they are spelled, in their order.
    encoding : {"utf-8", "latin-1"}
        An encoding that can write all keywords: that of the TEXT segment, if it can.
    unread : tuple of str
        Segments that hold something that is not read.
    notes : tuple of str
        Guesses and repairs, a sentence each.
    """

    start: int
    segments: Segments
    keywords: Keywords
    spelled: tuple[tuple[str, str], ...] = field(repr=False)
    encoding: Encoding
    unread: tuple[str, ...]
    notes: tuple[str, ...]

    def next_start(self) -> int | None:
        """Return the byte at which the following data set begins.

        Returns
        -------
        int or None
            None if there is none.
        """
        path, following = self.keywords.path, self.start + self.keywords.integer("nextdata", 0)
        if not self.start < following < path.stat().st_size:
            return None
        return following if _read_between(path, following, following + 2) == b"FCS" else None


def read_dataset(path: Path, start: int) -> Dataset:
    """Read the HEADER and the keywords of a data set.

    Parameters
    ----------
    path : Path
        The file.
    start : int
        Byte at which the data set begins.

    Raises
    ------
    FileFormatError
        If segments lie outside of the file, or their places cannot be read.
    """
    segments = _read_segments(path, start)
    text = _read_text(path, start, segments)
    values, repeated = index_keywords(text.keywords)
    primary = Keywords(path, values)
    supplement = _read_supplement(path, start, segments, primary, text.delimiter)
    # The primary segment has the last word on a keyword that stands in both.
    names = {key.strip().lower() for key, _ in text.keywords}
    added = [pair for pair in supplement or () if pair[0].strip().lower() not in names]
    notes = list(text.notes)
    if repeated:
        notes.append(
            f"keywords are repeated with other values, and the last counts: {listed(repeated)}"
        )
    unread = []
    if supplement is None:
        unread.append("supplemental TEXT")
    if _place(primary, "analysis") != _NOWHERE or segments.analysis[0] > 0:
        unread.append("ANALYSIS")
    return Dataset(
        start=start,
        segments=segments,
        keywords=Keywords(path, index_keywords([*added, *text.keywords])[0]),
        spelled=(*text.keywords, *added),
        encoding=_common_encoding(text.encoding, added),
        unread=tuple(unread),
        notes=tuple(notes),
    )


def _read_segments(path: Path, start: int) -> Segments:
    """Read the HEADER of the data set at byte `start`."""
    with path.open("rb") as file:
        file.seek(start)
        head = file.read(HEADER_BYTES).decode("latin-1")
    fields = [head[place : place + 8] for place in range(10, HEADER_BYTES, 8)]
    # ANALYSIS may be blank
    places = [whole_number(field if field.strip() else "0") for field in fields]
    if len(head) < HEADER_BYTES or None in places[:4]:
        raise FileFormatError(
            f"{path}: the HEADER segment is damaged: {head[10:]!r} does not say in which bytes "
            "TEXT and DATA lie; copy the file again"
        )
    numbers = [place or 0 for place in places]
    return Segments(
        version=head[3:6],
        text=(numbers[0], numbers[1]),
        data=(numbers[2], numbers[3]),
        analysis=(numbers[4], numbers[5]),
    )


def _read_text(path: Path, start: int, segments: Segments) -> TextSegment:
    """Read the TEXT segment of the data set at byte `start`."""
    first, last = segments.text
    if last == segments.data[0]:
        # The most common error of offsets: the end is the byte after the last.
        last -= 1
    size = path.stat().st_size
    if not 0 < first <= last or start + last >= size:
        raise FileFormatError(
            f"{path}: TEXT should lie in bytes {first} to {last} of the data set at byte {start}, "
            f"but the file has {size} bytes; copy the file again"
        )
    return split_text(_read_between(path, start + first, start + last))


def _read_supplement(
    path: Path, start: int, segments: Segments, keywords: Keywords, delimiter: str
) -> tuple[tuple[str, str], ...] | None:
    """Return the keywords of the supplemental TEXT, or None if its bytes are not a TEXT segment.

    Some instruments keep other things there, such as a ZIP archive.
    """
    first, last = _place(keywords, "stext")
    if (first, last) in (_NOWHERE, segments.text):
        return ()
    taken = (segments.text, segments.data, _place(keywords, "data"))
    apart = all(last < begin or end < first for begin, end in taken)
    if not apart or start + last >= path.stat().st_size:
        return None
    segment = split_text(_read_between(path, start + first, start + last), delimiter)
    return segment.keywords if segment.complete else None


def _common_encoding(encoding: Encoding, added: Sequence[tuple[str, str]]) -> Encoding:
    """Return the encoding of the primary TEXT if it can write the supplemental keywords too."""
    try:
        "".join(part for pair in added for part in pair).encode(encoding)
    except UnicodeEncodeError:
        return "utf-8"
    return encoding


def _place(keywords: Keywords, segment: str) -> tuple[int, int]:
    """Return the first and the last byte of a segment according to TEXT."""
    first, last = (
        whole_number(keywords.text(f"{end}{segment}", "0")) or 0 for end in ("begin", "end")
    )
    return (first, last) if 0 < first < last else _NOWHERE


def _read_between(path: Path, first: int, last: int) -> bytes:
    """Return the bytes of a segment, from the first to the last."""
    with path.open("rb") as file:
        file.seek(first)
        return file.read(last - first + 1)
