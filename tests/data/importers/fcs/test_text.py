"""TEXT segments: what writers of all kinds make of empty values and of doubled delimiters."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigtensor.data.importers.fcs.text import join_text, split_text
from bigtensor.errors import DataError

# Delimiters that are written first, others, letters and digits, Latin-1 and beyond, blanks.
CHARACTERS = "\x0c\x1e|/!\\ab1$ \n\0äµ\u3042\U0001f52c"
VALUES = st.text(alphabet=CHARACTERS, max_size=8) | st.text(
    alphabet=st.characters(exclude_categories=["Cs"]), max_size=8
)
NAMES = st.text(alphabet=CHARACTERS.replace("!", ""), min_size=1, max_size=6)
KEYWORDS = st.lists(st.tuples(NAMES, VALUES), max_size=8)


@given(KEYWORDS)
def test_join__is_undone_by_split(keywords: list[tuple[str, str]]) -> None:
    segment = split_text(join_text(keywords))
    assert segment.keywords == tuple(keywords)
    assert segment.complete == bool(keywords)


@given(KEYWORDS)
def test_split__reads_any_delimiter_that_no_name_holds(keywords: list[tuple[str, str]]) -> None:
    doubled = [part for name, value in keywords for part in (name, value.replace("!", "!!"))]
    written = ("!" + "".join(part + "!" for part in doubled)).encode()
    assert split_text(written).keywords == tuple(keywords)


@given(st.lists(st.tuples(st.sampled_from(["a", "$b", "ü"]), st.text("/|é\xff", max_size=5))))
def test_join__keeps_latin_1(keywords: list[tuple[str, str]]) -> None:
    # 0xFF is in no UTF-8, so that the encoding shows
    keywords = [("k", "\xff"), *keywords]
    segment = split_text(join_text(keywords, "latin-1"))
    assert (segment.encoding, segment.keywords) == ("latin-1", tuple(keywords))


@pytest.mark.parametrize(
    ("raw", "keywords"),
    [
        (b"/$SYS/RSX-11//M/$PAR/1/", [("$SYS", "RSX-11/M"), ("$PAR", "1")]),
        (b"/$OP//$PAR/1/", [("$OP", ""), ("$PAR", "1")]),
        (b"/$OP//$EXP//$PAR/1/", [("$OP", ""), ("$EXP", ""), ("$PAR", "1")]),
        (b"/$FIL///home//me/$PAR/1/", [("$FIL", "/home/me"), ("$PAR", "1")]),
        (b"/$FIL/home///$PAR/1/", [("$FIL", "home/"), ("$PAR", "1")]),
        (b"/$FIL////$PAR/1/", [("$FIL", "/"), ("$PAR", "1")]),
        (b"/$F/561////10 nm/$PAR/1/", [("$F", "561//10 nm"), ("$PAR", "1")]),
        (b"/$PAR/1/$OP//", [("$PAR", "1"), ("$OP", "")]),
        (b"/$PAR/1/\0\0 \r\n", [("$PAR", "1")]),
        (b"|$PAR|1||", [("$PAR", "1")]),
        (b" $PAR 1 ", [("$PAR", "1")]),
        ("/é/µ/".encode(), [("é", "µ")]),
        ("/é/µ/".encode("latin-1"), [("é", "µ")]),
        (b"/", []),
        (b"", []),
    ],
)
def test_split__reads_what_is_certain_without_notes(
    raw: bytes, keywords: list[tuple[str, str]]
) -> None:
    segment = split_text(raw)
    assert segment.keywords == tuple(keywords)
    assert segment.notes == ()


@pytest.mark.parametrize(
    ("raw", "keywords", "note"),
    [
        (b"/GUID//CREATOR/me/", [("GUID", ""), ("CREATOR", "me")], "after 'GUID' is read as"),
        (b"/a/b/c/", [("a", "b"), ("c", "")], "keyword 'c', which has no value"),
        (b"/a/b", [("a", "b")], "delimiter '/', but with 'a/b'"),
    ],
)
def test_split__says_what_it_guessed(
    raw: bytes, keywords: list[tuple[str, str]], note: str
) -> None:
    segment = split_text(raw)
    assert segment.keywords == tuple(keywords)
    assert len(segment.notes) == 1
    assert re.search(note, segment.notes[0])
    assert segment.complete == ("is read as" in segment.notes[0])


def test_split__long_lists_are_cut() -> None:
    segment = split_text(b"/" + b"".join(b"k%d//" % number for number in range(10)))
    assert len(segment.keywords) == 10
    assert "'k0', 'k1', 'k2', 'k3', 'k4', 'k5' and 3 more" in segment.notes[0]


def test_split__a_supplement_may_begin_with_a_keyword() -> None:
    for raw in (b"a|b|", b"|a|b|"):
        assert split_text(raw, "|").keywords == (("a", "b"),)


def test_join__takes_a_delimiter_that_occurs_nowhere() -> None:
    assert join_text([("a", "1"), ("b", "")]) == b"\x0ca\x0c1\x0cb\x0c\x0c"
    assert join_text([("a", "\x0c")]) == b"\x1ea\x1e\x0c\x1e"


def test_join__refuses_what_cannot_be_read_again() -> None:
    with pytest.raises(DataError, match="has an empty name"):
        join_text([("", "x")])
    with pytest.raises(DataError, match="rename keywords"):
        join_text([("".join(map(chr, range(128))), "x")])
