"""Keywords of channels: what cannot be true is refused, and named with its value and a remedy."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bigtensor.data.importers.fcs.events import Offsets, iterate_fcs, read_fcs_header
from bigtensor.errors import FileFormatError, FileFormatWarning

FcsWriter = Callable[..., Path]

WORDS = [np.array([1, 256, 3], "<u2")] * 2
BYTES = [np.array([1, 2, 255], "u1")] * 2


def events(path: Path) -> np.ndarray:
    """All events of a file on the linear scale."""
    return np.concatenate(list(iterate_fcs(path)))


@pytest.mark.parametrize("order", ["1,2", "1,2,3,4", " 1, 2 ,3,4", "1,2,3,4,5,6,7,8"])
def test_byte_order__ascending_is_little_endian(write_fcs: FcsWriter, order: str) -> None:
    path = write_fcs("a.fcs", WORDS, {"$BYTEORD": order})
    np.testing.assert_array_equal(events(path)[:, 0], [1, 256, 3])


@pytest.mark.parametrize("order", ["2,1", "4,3,2,1", "8,7,6,5,4,3,2,1"])
def test_byte_order__descending_is_big_endian(write_fcs: FcsWriter, order: str) -> None:
    columns = [np.array([1, 256, 3], ">u2")] * 2
    path = write_fcs("a.fcs", columns, {"$BYTEORD": order, "$DATATYPE": "I"})
    np.testing.assert_array_equal(events(path)[:, 0], [1, 256, 3])


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("x", "is no byte order that is read"),
        ("a,b", "is no byte order that is read"),
        ("1;2;3;4", "is no byte order that is read"),
        ("1,1", "is no byte order that is read"),
        ("2,3", "is no byte order that is read"),
        ("²,1", "is no byte order that is read"),
        ("1", "does not order the bytes of the data"),
        ("3,4,1,2", "is a mixed byte order"),
    ],
)
def test_byte_order__is_not_guessed(write_fcs: FcsWriter, order: str, reason: str) -> None:
    path = write_fcs("a.fcs", WORDS, {"$BYTEORD": order})
    with pytest.raises(FileFormatError) as error:
        read_fcs_header(path)
    message = str(error.value)
    assert message.startswith(f"{path}: $BYTEORD={order} {reason}")
    assert "1,2,3,4" in message
    assert "4,3,2,1" in message


def test_byte_order__messages_are_short(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", WORDS, {"$BYTEORD": "1;" * 1000})
    with pytest.raises(FileFormatError, match=r"\$BYTEORD=(1;){30}\.\.\. is no byte"):
        read_fcs_header(path)


def test_byte_order__single_bytes_have_none(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", BYTES, {"$BYTEORD": "1"})
    np.testing.assert_array_equal(events(path)[:, 1], [1, 2, 255])
    floats = write_fcs("b.fcs", [np.ones(2, "<f4")], {"$BYTEORD": "1"})
    with pytest.raises(FileFormatError, match="does not order the bytes"):
        read_fcs_header(floats)


@pytest.mark.parametrize("channels", [10**9, 10**18])
def test_channels__as_many_as_text_names(write_fcs: FcsWriter, channels: int) -> None:
    path = write_fcs("a.fcs", WORDS, {"$PAR": channels})
    tracemalloc.start()
    with pytest.raises(FileFormatError, match=rf"\$PAR says {channels:,} .*TEXT names 2"):
        read_fcs_header(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize(
    ("offsets", "header_data", "message"),
    [
        (None, None, "HEADER .*bytes 4096 to 4107, TEXT says"),
        (None, (0, 0), "is truncated: .*bytes 4096 to"),
        ("header", None, r"3 events .*\$TOT says 1000000000000000"),
        ("text", None, "is truncated: .*bytes 4096 to"),
    ],
)
def test_events__as_many_as_the_file_holds(
    write_fcs: FcsWriter, offsets: Offsets | None, header_data: tuple[int, int], message: str
) -> None:
    rows = 10**15
    claimed = (4096, 4096 + rows * 4 - 1)
    path = write_fcs("a.fcs", WORDS, {"$TOT": rows}, header_data=header_data, text_data=claimed)
    tracemalloc.start()
    with pytest.raises(FileFormatError, match=message):
        read_fcs_header(path, offsets=offsets)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"$PAR": "²"}, r"\$PAR=² is no whole number"),
        ({"$PAR": "0"}, r"\$PAR=0 is no number of channels"),
        ({"$PAR": "9" * 5000}, r"\$PAR=9{60}\.\.\. is no whole number"),
        ({"$TOT": "-3"}, r"\$TOT=-3 is no number of events"),
        ({"$TOT": "1_0"}, r"\$TOT=1_0 is no whole number"),
        ({"$P1N": " "}, r"lacks the keyword \$P1N .*is blank"),
        ({"$P1B": "²"}, r"16 and 32 bits are read, but \$P1B=²"),
        ({"$P1B": "1e1"}, r"\$P1B=1e1; export the file"),
        ({"$P1R": "nan"}, r"\$P1R=nan is no finite number"),
        ({"$P1R": "1e999"}, r"\$P1R=1e999 is no finite number"),
        ({"$P1R": "-4"}, r"\$P1R=-4 .* range of integers"),
        ({"$P1R": "0", "$P1E": "4,1"}, r"\$P1R=0 .* range of a logarithmic"),
        ({"$P1E": "inf"}, r"\$P1E=inf is not a pair of numbers"),
        ({"$P1E": "inf,1"}, r"\$P1E=inf,1 is not a pair of numbers"),
        ({"$P1E": "4,nan"}, r"\$P1E=4,nan is not a pair of numbers"),
        ({"$P1E": "4,1,1"}, r"\$P1E=4,1,1 is not a pair of numbers"),
        ({"$P1E": "-4,1"}, r"\$P1E=-4,1 must be 0 to 100 decades"),
        ({"$P1E": "400,1"}, r"\$P1E=400,1 must be 0 to 100 decades"),
        ({"$P1E": "4,-1"}, r"\$P1E=4,-1 must .* offset of 0"),
        ({"$P1G": "-2"}, r"\$P1G=-2 is a negative gain"),
        ({"$P1G": "nan"}, r"\$P1G=nan is no finite number"),
        ({"$NEXTDATA": "x"}, r"\$NEXTDATA=x is no whole number"),
    ],
)
def test_numbers__that_cannot_be_true_are_refused(
    write_fcs: FcsWriter, keywords: dict[str, str], message: str
) -> None:
    path = write_fcs("a.fcs", WORDS, keywords)
    with pytest.raises(FileFormatError, match=message) as error:
        read_fcs_header(path)
    assert str(error.value).startswith(str(path))
    assert "export" in str(error.value)


def test_numbers__that_may_be_absent_may_be_empty(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", WORDS, {"$P1E": "", "$P1G": "", "$P1S": "", "$TIMESTEP": ""})
    header = read_fcs_header(path)
    assert (header.amplification[0], header.gains[0], header.markers[0]) == ((0, 0), 1, "")


@pytest.mark.parametrize("step", ["nan", "inf", "-1", "0", "0,01"])
def test_time_step__that_is_none_leaves_the_units(write_fcs: FcsWriter, step: str) -> None:
    path = write_fcs("a.fcs", WORDS, {"$TIMESTEP": step}, names=["A", "Time"])
    with pytest.warns(FileFormatWarning, match=rf"\$TIMESTEP={step} is no.*Time stays in the"):
        header = read_fcs_header(path)
    assert header.time_step == 1
    assert next(iterate_fcs(header))[:, 1].tolist() == [1, 256, 3]


@pytest.mark.parametrize(
    ("spillover", "message"),
    [
        ("2,A,A,1,0,0,1", r"names \['A'\] more than once"),
        ("2,A,T,1,0,0,1", r"names \['T'\], but several channels"),
        ("2,A,C,1,0,0,1", r"names \['C'\].* with all channels"),
        ("2,A,B,1,nan,0,1", r"damaged: \['nan'\] are no finite"),
        ("2,A,B,1,0,0", "damaged: 2 channels .*4 .* has 3"),
        ("0", "damaged: it begins with '0'"),
        ("-1,1", "damaged: it begins with '-1'"),
        ("2,A,B,1,2,2,4", "has no inverse"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*repeated channel names")
def test_spillover__that_cannot_be_removed_is_refused(
    write_fcs: FcsWriter, spillover: str, message: str
) -> None:
    columns = [np.ones(2, "<f4")] * 4
    path = write_fcs("a.fcs", columns, {"$SPILL": spillover}, names=["A", "B", "T", "T"])
    with pytest.raises(FileFormatError, match=f"spillover matrix .*{message}") as error:
        list(iterate_fcs(path, compensate=True))
    assert "leave this file out" in str(error.value)


def test_spillover__an_empty_keyword_is_none(write_fcs: FcsWriter) -> None:
    keywords = {"$SPILLOVER": "", "SPILL": "1,C1,2"}
    path = write_fcs("a.fcs", [np.full(2, 4, "<f4")], keywords)
    assert next(iterate_fcs(path, compensate=True)).tolist() == [[2], [2]]
