"""Segments of FCS files: places that are off, and keywords beside the primary TEXT."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bigtensor.data.importers.fcs.events import iterate_fcs, read_fcs_header
from bigtensor.data.importers.fcs.text import join_text, split_text
from bigtensor.errors import FileFormatError, FileFormatWarning

FcsWriter = Callable[..., Path]

COLUMNS = [np.array([1, 2, 3], "<f4")] * 2


def with_supplement(path: Path, supplement: bytes) -> Path:
    """Append a supplemental TEXT, whose place the primary TEXT says."""
    content = path.read_bytes()
    first, last = len(content), len(content) + len(supplement) - 1
    places = {b"$BEGINSTEXT/00000000": first, b"$ENDSTEXT/00000000": last}
    for placeholder, place in places.items():
        assert placeholder in content
        content = content.replace(placeholder, placeholder[:-8] + b"%08d" % place)
    path.write_bytes(content + supplement)
    return path


PLACEHOLDERS = {"$BEGINSTEXT": "00000000", "$ENDSTEXT": "00000000"}


@pytest.mark.parametrize("supplement", [b"/STAIN/x//y/$CYT/none/", b"STAIN/x//y/$CYT/none/ \n"])
def test_supplement__adds_keywords_and_replaces_none(
    write_fcs: FcsWriter, supplement: bytes
) -> None:
    path = write_fcs("a.fcs", COLUMNS, {**PLACEHOLDERS, "$CYT": "LSR", "CYT": "mine"})
    header = read_fcs_header(with_supplement(path, supplement))
    assert (header.keywords["stain"], header.keywords["cyt"]) == ("x/y", "LSR")
    assert header.spelled[-1] == ("STAIN", "x/y")
    assert ("CYT", "mine") in header.spelled
    assert header.unread == ()


def test_supplement__of_another_encoding_can_be_written(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", COLUMNS, {**PLACEHOLDERS, "$COM": "~m"})
    path.write_bytes(path.read_bytes().replace(b"~m", b"\xb5m"))
    header = read_fcs_header(with_supplement(path, "/NAME/\u7d30\u80de/".encode()))
    assert (header.keywords["com"], header.keywords["name"]) == ("µm", "\u7d30\u80de")
    assert split_text(join_text(header.spelled, header.encoding)).keywords == header.spelled


def test_supplement__that_is_no_text_is_unread(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", COLUMNS, PLACEHOLDERS)
    header = read_fcs_header(with_supplement(path, b"PK\x03\x04/a/zip"))
    assert header.unread == ("supplemental TEXT",)
    outside = write_fcs("b.fcs", COLUMNS, {"$BEGINSTEXT": 10**9, "$ENDSTEXT": 2 * 10**9})
    assert read_fcs_header(outside).unread == ("supplemental TEXT",)
    in_data = write_fcs("c.fcs", COLUMNS, {"$BEGINSTEXT": 4096, "$ENDSTEXT": 4100})
    assert read_fcs_header(in_data).unread == ("supplemental TEXT",)


@pytest.mark.parametrize(
    ("keywords", "note"),
    [
        ({"GUID": "", "CREATOR": "me"}, "after 'GUID' is read as an empty value"),
        ({"$OP": "me", "$op": "you"}, r"repeated with other values, .*: '\$op'"),
        ({"LAST": "a/b"}, "keyword 'b', which has no value"),
    ],
)
def test_text__guesses_are_told(write_fcs: FcsWriter, keywords: dict[str, str], note: str) -> None:
    path = write_fcs("a.fcs", COLUMNS, keywords)
    with pytest.warns(FileFormatWarning, match=note):
        header = read_fcs_header(path)
    assert next(iterate_fcs(header)).shape == (3, 2)


def test_text__the_standard_keyword_comes_before_the_users(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", COLUMNS, {"PAR": "7", "$CYT": "$LSR$"})
    header = read_fcs_header(path)
    assert header.channels == ("C1", "C2")
    assert header.keywords["cyt"] == "$LSR$"


def test_text__empty_values_shift_nothing(write_fcs: FcsWriter) -> None:
    keywords = {"$OP": "", "$P1S": "", "$P2S": "CD3", "$FIL": "//home//me", "$COM": "//"}
    header = read_fcs_header(write_fcs("a.fcs", COLUMNS, keywords))
    assert header.markers == ("", "CD3")
    assert [header.keywords[key] for key in ("op", "fil", "com")] == ["", "/home/me", "/"]


@pytest.mark.parametrize("place", ["       x", "     1e3", "        ", "      -1", "99999999"])
def test_header__places_of_text_are_checked(write_fcs: FcsWriter, place: str) -> None:
    path = write_fcs("a.fcs", COLUMNS)
    content = path.read_bytes()
    path.write_bytes(content[:18] + place.encode() + content[26:])
    with pytest.raises(FileFormatError, match=r"TEXT .*; copy the file again") as error:
        read_fcs_header(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("next_data", [10**19, 2**63, 5000])
def test_next_data__beyond_the_file_is_none(write_fcs: FcsWriter, next_data: int) -> None:
    assert read_fcs_header(write_fcs("a.fcs", COLUMNS, {"$NEXTDATA": next_data})).n_rows == 3
