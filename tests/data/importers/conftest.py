"""Files made on the spot, so that each test shows what its file holds."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

FcsWriter = Callable[..., Path]


def _write_fcs(
    path: Path,
    columns: Sequence[NDArray[np.generic]],
    keywords: Mapping[str, object] | None = None,
    *,
    names: Sequence[str] | None = None,
    version: str = "3.1",
    header_data: tuple[int, int] | None = None,
    text_data: tuple[int, int] | None = None,
) -> Path:
    """Write little-endian columns of one or several types as an FCS file."""
    names = names or [f"C{j}" for j in range(1, len(columns) + 1)]
    rows = len(columns[0])
    record = np.zeros(rows, dtype=[(f"c{j}", c.dtype) for j, c in enumerate(columns)])
    for j, column in enumerate(columns):
        record[f"c{j}"] = column
    data = record.tobytes()
    start = 4096
    stop = start + len(data) - 1
    text: dict[str, object] = {
        "$PAR": len(columns),
        "$TOT": rows,
        "$MODE": "L",
        "$BYTEORD": "1,2,3,4",
        "$DATATYPE": {"u": "I", "f": "F"}[columns[0].dtype.kind],
        "$NEXTDATA": 0,
    }
    if columns[0].dtype == np.float64:
        text["$DATATYPE"] = "D"
    if version != "2.0":
        text["$BEGINDATA"], text["$ENDDATA"] = text_data or (start, stop)
    for j, (name, column) in enumerate(zip(names, columns, strict=True), start=1):
        text |= {f"$P{j}N": name, f"$P{j}B": 8 * column.dtype.itemsize, f"$P{j}E": "0,0"}
        text[f"$P{j}R"] = 2 ** (8 * column.dtype.itemsize)
    text |= keywords or {}
    pairs = "".join(f"{key}/{value}/" for key, value in text.items() if value is not None)
    body = f"/{pairs}".encode()
    begin, end = header_data or (start, stop)
    offsets = [58, 58 + len(body) - 1, begin, end, 0, 0]
    header = f"FCS{version}    " + "".join(f"{offset:8d}" for offset in offsets)
    path.write_bytes((header.encode() + body).ljust(start) + data)
    return path


@pytest.fixture
def write_fcs(tmp_path: Path) -> FcsWriter:
    """Write an FCS file of the given name into the test's folder."""

    def write(name: str, *args: object, **options: object) -> Path:
        return _write_fcs(tmp_path / name, *args, **options)  # type: ignore[arg-type]

    return write
