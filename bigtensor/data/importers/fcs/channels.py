"""Channels of FCS files: names, types and scales, from their keywords."""

import re
from dataclasses import dataclass

from bigtensor.data.importers.fcs.keywords import Keywords, finite_number, whole_number
from bigtensor.errors import FileFormatError

_INTEGER_WIDTHS = (8, 16, 32)
"""Bits of the integers that are read."""

_WORD_BYTES = (2, 4, 8)
"""Bytes of the numbers that have a byte order."""

_MOST_DECADES = 100
"""Decades of a logarithmic channel: a float64 holds numbers of about 300 decades."""


@dataclass(frozen=True)
class ChannelKeywords:
    """Keywords of all channels, in their order.

    Parameters
    ----------
    names : tuple of str
        ``$PnN`` as they are in the file.
    markers : tuple of str
        ``$PnS``, empty where there is none.
    dtypes : tuple of str
        NumPy type of each stored number, with its byte order.
    amplification : tuple of (float, float)
        ``$PnE``: decades and offset.
    gains : tuple of float
        ``$PnG``.
    ranges : tuple of float
        ``$PnR``.
    """

    names: tuple[str, ...]
    markers: tuple[str, ...]
    dtypes: tuple[str, ...]
    amplification: tuple[tuple[float, float], ...]
    gains: tuple[float, ...]
    ranges: tuple[float, ...]


def read_channels(keywords: Keywords) -> ChannelKeywords:
    """Read and check the keywords of all channels.

    Raises
    ------
    FileFormatError
        If a keyword is absent, or its value cannot be used.
    """
    # A keyword that is absent says more than numbers that do not fit.
    for key in ("par", "tot", "datatype", "mode", "byteord"):
        keywords.text(key)
    numbers = range(1, _channel_count(keywords) + 1)
    dtypes = _dtypes(keywords, len(numbers))
    amplification = tuple(_amplification(keywords, n) for n in numbers)
    return ChannelKeywords(
        names=tuple(keywords.text(f"p{n}n") for n in numbers),
        markers=tuple(keywords.text(f"p{n}s", "") for n in numbers),
        dtypes=dtypes,
        amplification=amplification,
        gains=tuple(_gain(keywords, n) for n in numbers),
        ranges=tuple(
            _range(keywords, n, dtype, decades)
            for n, dtype, (decades, _) in zip(numbers, dtypes, amplification, strict=True)
        ),
    )


def _channel_count(keywords: Keywords) -> int:
    """Return $PAR after checking that TEXT names this number of channels.

    The check comes before anything of that size is allocated.
    """
    count = keywords.integer("par")
    matches = (re.fullmatch(r"p([1-9][0-9]{0,8})n", key) for key in keywords.values)
    named = {int(match[1]) for match in matches if match}
    if count < 1:
        raise keywords.refusal("par", "is no number of channels")
    if len(named) != count or max(named) != count:
        raise FileFormatError(
            f"{keywords.path}: $PAR says {count:,} channels, but TEXT names {len(named):,} ($PnN); "
            "export the file again from the instrument's software"
        )
    return count


def _dtypes(keywords: Keywords, count: int) -> tuple[str, ...]:
    """Return the NumPy type of each stored number."""
    kind = keywords.text("datatype").upper()
    if keywords.text("mode").upper() != "L":
        raise FileFormatError(
            f"{keywords.path}: {keywords.shown('mode')}, but only lists of events (L) are read; "
            "export the file as one"
        )
    if kind not in ("I", "F", "D"):
        raise FileFormatError(
            f"{keywords.path}: {keywords.shown('datatype')} is not read; export the file as F, D "
            "or I"
        )
    sizes = [_integer_bytes(keywords, n) for n in range(1, count + 1)] if kind == "I" else []
    order = _byte_order(keywords, any_order=set(sizes) == {1})
    if kind == "I":
        return tuple(f"{order}u{size}" for size in sizes)
    return (f"{order}f{4 if kind == 'F' else 8}",) * count


def _integer_bytes(keywords: Keywords, number: int) -> int:
    """Return the bytes of an integer channel."""
    key = f"p{number}b"
    width = whole_number(keywords.text(key))
    if width not in _INTEGER_WIDTHS:
        raise FileFormatError(
            f"{keywords.path}: integers of 8, 16 and 32 bits are read, but "
            f"{keywords.shown(key)}; export the file as floating point"
        )
    return width // 8


def _byte_order(keywords: Keywords, *, any_order: bool) -> str:
    """Return the byte order as a NumPy type prefix, ``"<"`` or ``">"``.

    One byte alone has no order, so that ``1`` says nothing about numbers of several bytes.
    """
    order = [item.strip() for item in keywords.text("byteord").split(",")]
    ascending = [str(place) for place in range(1, len(order) + 1)]
    if len(order) in _WORD_BYTES or (len(order) == 1 and any_order):
        if order == ascending:
            return "<"
        if order == ascending[::-1]:
            return ">"
    reason = "is no byte order that is read"
    if sorted(order) == ascending:
        reason = (
            "is a mixed byte order" if len(order) > 1 else "does not order the bytes of the data"
        )
    raise FileFormatError(
        f"{keywords.path}: {keywords.shown('byteord')} {reason}; export the file with 1,2,3,4 "
        "(little-endian) or 4,3,2,1 (big-endian)"
    )


def _amplification(keywords: Keywords, number: int) -> tuple[float, float]:
    """Return the decades and the offset of a channel, (0, 0) if it is linear."""
    key = f"p{number}e"
    value = keywords.text(key, "0,0")
    parts = [finite_number(part) for part in value.split(",")]
    if len(parts) != 2 or parts[0] is None or parts[1] is None:
        raise keywords.refusal(key, "is not a pair of numbers (decades, offset)")
    decades, offset = parts[0], parts[1]
    if not 0 <= decades <= _MOST_DECADES or offset < 0:
        raise keywords.refusal(
            key, f"must be 0 to {_MOST_DECADES} decades and an offset of 0 or more"
        )
    # The standard has files that say "4,0" read as "4,1".
    return decades, offset or float(decades > 0)


def _gain(keywords: Keywords, number: int) -> float:
    """Return the gain of a channel; 0 and 1 stand for none."""
    gain = keywords.number(f"p{number}g", 1.0)
    if gain < 0:
        raise keywords.refusal(f"p{number}g", "is a negative gain")
    return gain


def _range(keywords: Keywords, number: int, dtype: str, decades: float) -> float:
    """Return the range of a channel, checked where values depend on it."""
    key = f"p{number}r"
    value_range = keywords.number(key)
    if decades > 0 and value_range <= 0:
        raise keywords.refusal(key, f"cannot be the range of a logarithmic channel ($P{number}E)")
    if dtype[1] == "u" and value_range < 0:
        raise keywords.refusal(key, "cannot be the range of integers")
    return value_range
