"""Edits that know a binary format: datasets and attributes of HDF5, columns of Parquet."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.text_edits import CONTROL

NUMBERS = (0, 1, -1, 2, 127, 255, 2**15, 2**31 - 1, -(2**31), 2**40, 2**62, -(2**63))

ATTRIBUTES: tuple[Any, ...] = (
    *("", "csr_matrix", "csc_matrix", "array", "categorical", "dataframe", "0.1.0", "9.9.9"),
    *(CONTROL, "x" * 5000, 0, -1, 1e308, np.nan, [], [0, 0], [-1, 3], [2**62, 3], [2**40, 2**40]),
)

COLUMNS: tuple[Callable[[int], Any], ...] = (
    lambda rows: pa.nulls(rows),
    lambda rows: pa.array([None] * rows, pa.float32()),
    lambda rows: pa.array([float("nan")] * rows),
    lambda rows: pa.array([1e308] * rows),
    lambda rows: pa.array([-(2**63)] * rows),
    lambda rows: pa.array([2**64 - 1] * rows, pa.uint64()),
    lambda rows: pa.array([[1.0, 2.0]] * rows),
    lambda rows: pa.array([[]] * rows, pa.list_(pa.float64())),
    lambda rows: pa.array([{"a": 1}] * rows),
    lambda rows: pa.array([Decimal("1" * 38)] * rows),
    lambda rows: pa.array([0] * rows, pa.timestamp("ns")),
    lambda rows: pa.array([2**62] * rows, pa.timestamp("us")),
    lambda rows: pa.array([2**60] * rows, pa.duration("us")),
    lambda rows: pa.array([2**31 - 1] * rows, pa.date32()),
    lambda rows: pa.array([b"\xff\x00"] * rows),
    lambda rows: pa.array([CONTROL] * rows),
    lambda rows: pa.array(([True, None] * rows)[:rows]),
    lambda rows: pa.array(["1.5"] * rows).dictionary_encode(),
    lambda rows: pa.array([1.5] * rows).dictionary_encode(),
    lambda rows: pa.array(["x" * 10_000] * rows),
    lambda rows: pa.array(np.ones(rows, "f2")),
)


def edit_parquet(files: dict[str, bytes], chance: random.Random) -> str:
    """Change the type, the name or the number of columns, or leave out all rows."""
    try:
        table = pq.read_table(io.BytesIO(files[""]))
    except (KeyError, OSError, ValueError):
        return ""
    if not table.num_columns:
        return ""
    place = chance.randrange(table.num_columns)
    name = table.column_names[place]
    how = chance.choice(("type", "type", "type", "name", "double", "out", "rows", "all"))
    if how == "type":
        column = chance.choice(COLUMNS)(table.num_rows)
        table = table.set_column(place, name, column)
        how = f"of {column.type}"
    elif how == "name":
        other = chance.choice(("", CONTROL, "kind", "CD3", "x" * 5000, "=1+1", "sample_id"))
        table = table.rename_columns(
            [*table.column_names[:place], other, *table.column_names[place + 1 :]]
        )
    elif how == "double":
        table = table.append_column(name, table.column(place))
    elif how == "out":
        table = table.remove_column(place)
    else:
        table = table.select([]) if how == "all" else table.slice(0, chance.choice((0, 1)))
    packed = io.BytesIO()
    pq.write_table(table, packed)
    files[""] = packed.getvalue()
    return f"column {name!r}: {how}"


def edit_hdf5(files: dict[str, bytes], chance: random.Random) -> str:
    """Change values, shapes, types and attributes."""
    packed = io.BytesIO(files.get("", b""))
    try:
        with h5py.File(packed, "r+") as file:
            names: list[str] = []
            file.visit(names.append)
            words = _edit_object(file, chance.choice(names), chance)
    # of names that an earlier edit left out, and of values that a dataset does not take
    except (OSError, KeyError, ValueError, RuntimeError, TypeError, IndexError):
        return ""
    files[""] = packed.getvalue()
    return words


def _edit_object(file: Any, name: str, chance: random.Random) -> str:
    """Change one dataset or group of a file."""
    found = file[name]
    how = chance.choice(("value", "value", "value", "attribute", "out", "shape", "type"))
    if how == "out":
        del file[name]
    elif how == "attribute" or not isinstance(found, h5py.Dataset):
        if not len(found.attrs):
            return ""
        key = chance.choice(sorted(found.attrs))
        value = chance.choice(ATTRIBUTES)
        found.attrs[key] = value
        how = f"attribute {key!r} is {str(value)[:40]!r}"
    elif how == "value" and found.dtype.kind in "iuf" and found.size:
        # whole numbers wrap around where they do not fit
        fitting = np.array(chance.choice(NUMBERS)).astype(found.dtype)
        found[(chance.randrange(len(found)),) if found.ndim else ()] = fitting
        how = f"a value is {fitting}"
    elif found.ndim:
        attributes, values = dict(found.attrs), found[...]
        del file[name]
        if how == "shape":
            changed = (values[:-1], values[:0], np.concatenate([values, values]), values[None])
            values = chance.choice(changed)
        else:
            values = np.zeros(values.shape, chance.choice(("i1", "f8", "S3", "?", "c8", "u8")))
        file[name] = values
        file[name].attrs.update(attributes)
    return f"{name}: {how}"
