"""TEXT segments of FCS files: keywords and values between delimiters, read and written.

The first byte of a segment is its delimiter. The standard (FCS 3.1, 3.2.7) doubles a delimiter that
belongs to a keyword or a value, and forbids empty values. Instruments write empty values all the
same, as two adjacent delimiters. Instruments do not put delimiters into the names of keywords. A
segment therefore has one reading: a keyword ends at its first delimiter, a value ends at the first
delimiter that is not doubled.

===========  ======================================
``/a//b/x``  ``a`` is empty, ``b`` is ``x``
``/a/x//y``  ``a`` is ``x/y``
``/a///x``   ``a`` is ``/x``
``/a/x///b`` ``a`` is ``x/``, then comes ``b``
===========  ======================================
"""

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bigtensor.errors import DataError

Encoding = Literal["utf-8", "latin-1"]

_MOST_LISTED = 6
"""Names that a message lists."""

_PADDING = " \t\r\n\0"
# Characters first that no name and no comment holds.
_DELIMITERS = "\x0c\x1e\x1f|/!\\*~" + string.punctuation.replace("$", "")


@dataclass(frozen=True)
class TextSegment:
    """Keywords of a TEXT segment.

    Parameters
    ----------
    keywords : tuple of (str, str)
        Keywords and values as they are spelled, in their order.
    delimiter : str
        The character between them; empty if the segment is.
    encoding : {"utf-8", "latin-1"}
        The encoding of the bytes.
    complete : bool
        True if the segment ends with its delimiter and every keyword has a value.
    notes : tuple of str
        Guesses and repairs, a sentence each.
    """

    keywords: tuple[tuple[str, str], ...]
    delimiter: str
    encoding: Encoding
    complete: bool
    notes: tuple[str, ...]


def split_text(raw: bytes, delimiter: str | None = None) -> TextSegment:
    """Split a TEXT segment into keywords and values.

    Parameters
    ----------
    raw : bytes
        The segment, from its first delimiter to its last.
    delimiter : str, optional
        The delimiter of a supplemental segment, which may begin with a keyword. By default the
        first character.
    """
    text, encoding = _decode(raw)
    delimiter = delimiter or text[:1]
    if not delimiter:
        return TextSegment((), "", encoding, complete=False, notes=())
    body = text.lstrip(delimiter)
    unpadded = body.rstrip(_PADDING.replace(delimiter, ""))
    ended = unpadded.endswith(delimiter)
    tokens = (unpadded[:-1] if ended else body).split(delimiter) if body else []
    names, values, alone = _pairs(tokens, delimiter)
    notes = []
    if body and not ended:
        notes.append(f"TEXT does not end with its delimiter {delimiter!r}, but with {body[-20:]!r}")
    if alone:
        notes.append(
            f"TEXT ends with the keyword {names[-1]!r}, which has no value; if values hold "
            f"delimiters ({delimiter!r}) that are not doubled, keywords before it are wrong"
        )
    guessed = _guessed(names, values)
    if guessed:
        notes.append(
            f"the doubled delimiter after {listed(guessed)} is read as an empty value; the "
            "standard would have it belong to the keyword's name"
        )
    pairs = tuple(zip(names, values, strict=True))
    return TextSegment(pairs, delimiter, encoding, ended and not alone, tuple(notes))


def join_text(keywords: Iterable[tuple[str, str]], encoding: Encoding = "utf-8") -> bytes:
    """Write a TEXT segment, which :func:`split_text` reads as the same keywords.

    Parameters
    ----------
    keywords : iterable of (str, str)
        Keywords and values in their order.
    encoding : {"utf-8", "latin-1"}, default "utf-8"
        The encoding of the bytes.

    Raises
    ------
    DataError
        If a keyword has no name, or no delimiter is left that no name holds.
    """
    pairs = list(keywords)
    names = "".join(name for name, _ in pairs)
    if not all(name for name, _ in pairs):
        raise DataError("a keyword has an empty name; give every value of a TEXT segment a name")
    usable = [mark for mark in _DELIMITERS if mark not in names]
    if not usable:
        raise DataError(
            "names of keywords hold every character that could separate them; rename keywords"
        )
    # Readers disagree about doubled delimiters, so that one is taken that occurs nowhere.
    written = names + "".join(value for _, value in pairs)
    mark = next((mark for mark in usable if mark not in written), usable[0])
    doubled = ((name, value.replace(mark, mark * 2)) for name, value in pairs)
    text = mark + "".join(f"{name}{mark}{value}{mark}" for name, value in doubled)
    return text.encode(encoding)


def listed(names: Sequence[str]) -> str:
    """Return the first names of a list that may be long.

    Names are quoted. A list of more than `_MOST_LISTED` names ends with the number of the others.
    """
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(map(repr, names[:_MOST_LISTED])) + more


def _decode(raw: bytes) -> tuple[str, Encoding]:
    """Decode a segment by the standard's UTF-8, or by the Latin-1 of older instruments."""
    try:
        return raw.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return raw.decode("latin-1"), "latin-1"


def _pairs(tokens: Sequence[str], delimiter: str) -> tuple[list[str], list[str], bool]:
    """Return names, their values, and True if the last name has no value.

    An empty token after the beginning of a value stands between the two halves of a doubled
    delimiter.
    """
    names, values = [], []
    place, last = 0, len(tokens) - 1
    while place <= last:
        names.append(tokens[place])
        place += 1
        if place > last:
            values.append("")
            return names, values, True
        value = [tokens[place]]
        place += 1
        while place < last and not tokens[place]:
            value.append(tokens[place + 1])
            place += 2
        if place == last and not tokens[place]:
            # some instruments end TEXT with one delimiter more
            place += 1
        values.append(delimiter.join(value))
    return names, values, False


def _guessed(names: Sequence[str], values: Sequence[str]) -> list[str]:
    """Return keywords whose empty value could be a delimiter inside their names.

    A standard keyword begins with ``$`` and holds no delimiter. If it stands before or after the
    doubled delimiter, the value is empty for certain. At the end of TEXT it is, too.
    """
    return [
        name
        for name, value, following in zip(names, values, names[1:], strict=False)
        if not value and not name.startswith("$") and not following.startswith("$")
    ]
