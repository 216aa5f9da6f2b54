"""Stores of Zarr v2 whose arrays of objects run code when they are decoded.

With numcodecs below 0.16.6, or where unpickling is allowed, reading any array of them makes a file.
"""

import json
import pickle
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class Attack:
    """An object that makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


def objects(strings: Sequence[str], mark: Path | None = None) -> bytes:
    """Return the bytes of strings as vlen-utf8 stores them, or of an attack."""
    if mark is not None:
        return pickle.dumps(Attack(mark))
    parts = [struct.pack("<I", len(strings))]
    for string in strings:
        encoded = string.encode()
        parts += [struct.pack("<I", len(encoded)), encoded]
    return b"".join(parts)


def write_array(
    folder: Path,
    shape: Sequence[int],
    content: bytes,
    *,
    dtype: Any = "|O",
    filters: Sequence[str] = ("vlen-utf8", "pickle"),
    attrs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write an array of one chunk and return its metadata."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": list(shape),
        "dtype": dtype,
        "order": "C",
        "fill_value": None,
        "compressor": None,
        "filters": [{"id": name} for name in filters] or None,
    }
    (folder / ".zarray").write_text(json.dumps(document))
    (folder / ".zattrs").write_text(json.dumps(attrs or {}))
    (folder / ".".join("0" * max(len(shape), 1))).write_bytes(content)
    return document


def write_group(folder: Path, attrs: Mapping[str, Any] | None = None) -> Path:
    """Write a group without arrays."""
    folder.mkdir(parents=True)
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    (folder / ".zattrs").write_text(json.dumps(attrs or {}))
    return folder


def consolidate(folder: Path) -> None:
    """List the metadata of a group in one document."""
    metadata = {
        str(path.relative_to(folder)): json.loads(path.read_text())
        for path in folder.rglob(".z*")
        if path.name in (".zarray", ".zattrs", ".zgroup")
    }
    document = {"zarr_consolidated_format": 1, "metadata": metadata}
    (folder / ".zmetadata").write_text(json.dumps(document))


def samples(folder: Path, mark: Path, names: str = "feature") -> Path:
    """Write a store of samples of which the array `names` is an attack."""
    import numpy as np

    rows, features = 6, ["a", "b"]
    write_group(folder)
    values = np.arange(rows * 2, dtype="<f4").tobytes()
    dims = {"_ARRAY_DIMENSIONS": ["sample", "feature"]}
    write_array(folder / "X", (rows, 2), values, dtype="<f4", filters=(), attrs=dims)
    for name, dim, strings in (("feature", "feature", features), ("donor", "sample", ["d"] * rows)):
        attacking = names == name
        write_array(
            folder / name,
            (len(strings),),
            objects(strings, mark if attacking else None),
            filters=("vlen-utf8", "pickle") if attacking else ("vlen-utf8",),
            attrs={"_ARRAY_DIMENSIONS": [dim]},
        )
    return folder


def as_attack(source: Path, target: Path, mark: Path, only: str | None = None) -> Path:
    """Copy a group of Zarr v3 as one of v2 whose arrays, or one of them, are attacks."""
    root = json.loads((source / "zarr.json").read_text())
    write_group(target, root["attributes"])
    for path in source.glob("*/zarr.json"):
        found = json.loads(path.read_text())
        if found["node_type"] == "array" and only in (None, path.parent.name):
            attack = objects([], mark)
            write_array(target / path.parent.name, found["shape"], attack)
    return target
