"""Edits that know a format: JSON documents, FCS keywords, cells of tables, lines of TOML."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from typing import Any

CONTROL = "\x1b[2J\x07\u202e\n"

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 2**31, 2**53, 2**63 - 1, 2**63, 10**30, 10**400, 1e308),
    *(0.5, -0.5, float("nan"), float("inf"), "", "0", "NaN", "Infinity", "-1", "|O", "<U9"),
    *("float64", "int32", "V0", "O", "datetime64[ns]", "numcodecs.pickle", "pickle", "gzip"),
    *(CONTROL, "x" * 50_000, "../../../etc", "/", "é" * 50, "\ud800", [], {}, [0], [-1], [2**40]),
    *([2**62, 2**62], [None], [[]], {"": 1}, {"a": {"b": []}}, ["x"] * 100, {"name": "blosc"}),
)
"""What takes the place of values in JSON and TOML."""

# made of text, because writers of JSON refuse such depth
_DEEP, _LONG = "@deep@", "@long@"

WORDS = (
    *("", "0", "-1", "1", "2", "3", "7", "8", "16", "31", "32", "63", "64", "65", "1e308", "1e400"),
    *("nan", "inf", "-inf", "-0.0", "99999999", str(2**31), str(2**32), str(2**63), "9" * 400),
    *("4,1", "0,0", "4,0", "0,1", "nan,nan", "1,2,3,4", "4,3,2,1", "1,1", "I", "F", "D", "A", "L"),
    *("text", CONTROL, "=1+1", "é", "\x00", "x" * 20_000, "1.5", "1,5", "0x10", "1_0", "T", "NA"),
    *("3,A,B,C,1,0,0,0,1,0,0,0,1", "2,CD3,CD3,1,0,0,1", "2,CD3,CD4,0,0,0,0", "10000,", "1,A,nan"),
)
"""What takes the place of cells of tables, keywords and numbers in text."""


def edit_json(files: dict[str, bytes], chance: random.Random) -> str:
    """Change a value, a name or the order of a JSON document."""
    names = [name for name in sorted(files) if files[name].lstrip()[:1] in (b"{", b"[")]
    if not names:
        return ""
    name = chance.choice(names)
    try:
        document = json.loads(files[name])
    except (ValueError, RecursionError):
        return ""
    places = list(_places(document))
    if not places:
        return ""
    holder, key = chance.choice(places)
    words = _edit_place(holder, key, chance)
    text = json.dumps(document)
    text = text.replace(f'"{_DEEP}"', "[" * 50_000 + "]" * 50_000)
    files[name] = text.replace(f'"{_LONG}"', "9" * 5000).encode()
    return f"{name}: {words}"


def _places(value: Any) -> Any:
    """Yield every container of a document with every key of it."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _edit_place(holder: Any, key: Any, chance: random.Random) -> str:
    """Change one entry of a mapping or a list."""
    value = holder[key]
    how = chance.choice(("set", "set", "set", "number", "delete", "rename", "exchange"))
    if how == "number" and isinstance(value, int | float):
        holder[key] = chance.choice((value + 1, value - 1, -value, value * 2, value * 10**9))
        return f"{key!r} is {holder[key]!r}, was {value!r}"
    if how == "delete":
        del holder[key]
        return f"{key!r} left out"
    if how == "rename" and isinstance(holder, dict):
        holder[chance.choice(("", CONTROL, f"{key} ", "x"))] = holder.pop(key)
        return f"{key!r} renamed"
    if how == "exchange":
        other = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        holder[key], holder[other] = holder[other], value
        return f"{key!r} and {other!r} exchanged"
    holder[key] = chance.choice((*VALUES, _DEEP, _LONG))
    return f"{key!r} is {str(holder[key])[:40]!r}"


def edit_fcs_keyword(files: dict[str, bytes], chance: random.Random) -> str:
    """Change, double or leave out a keyword, and keep the offsets of the HEADER true."""
    try:
        raw = files[""]
        first, last = int(raw[10:18]), int(raw[18:26])
        data = int(raw[26:34])
        delimiter = raw[first : first + 1]
        fields = raw[first + 1 : last].split(delimiter)
    except (KeyError, ValueError):
        return ""
    pairs = [fields[place : place + 2] for place in range(0, len(fields) - 1, 2)]
    if not pairs or first < 58:
        return ""
    place = chance.randrange(len(pairs))
    name, how = pairs[place][0], chance.choice(("value", "value", "value", "name", "double", "out"))
    word = chance.choice(WORDS).encode()
    if how == "out":
        del pairs[place]
    elif how == "double":
        pairs.append([name, word])
    else:
        pairs[place] = [name, word] if how == "value" else [word, pairs[place][1]]
    text = delimiter + delimiter.join(field for pair in pairs for field in pair) + delimiter
    ends = f"{first + len(text) - 1:8d}".encode()
    if first + len(text) > data or len(ends) > 8:
        return ""
    head = raw[:18] + ends + raw[26:first]
    files[""] = (head + text).ljust(data) + raw[data:]
    return f"keyword {name!r}: {how} {word[:40]!r}"


def edit_fcs_header(files: dict[str, bytes], chance: random.Random) -> str:
    """Overwrite a number of the HEADER."""
    raw = files.get("", b"")
    if len(raw) < 58:
        return ""
    place = 10 + 8 * chance.randrange(6)
    word = chance.choice(
        ("", "0", "-1", "57", "58", "99999999", "nan", "1e3", str(len(raw)), "1_0")
    )
    files[""] = raw[:place] + f"{word:>8}".encode() + raw[place + 8 :]
    return f"number at {place} of the HEADER is {word!r}"


def edit_table(files: dict[str, bytes], chance: random.Random) -> str:
    """Change a cell, a line or the separators of a table, inside gzip where it is packed."""
    raw = files.get("", b"")
    packed = raw[:2] == b"\x1f\x8b"
    try:
        lines = (gzip.decompress(raw) if packed else raw).split(b"\n")
    except (OSError, EOFError, zlib.error):
        return ""
    place = 0 if chance.random() < 0.3 else chance.randrange(len(lines))
    word = chance.choice(WORDS).encode()
    how = chance.choice(("cell", "cell", "cell", "line", "double", "separator", "quote", "nul"))
    cells = lines[place].split(b",")
    if how == "cell":
        cells[chance.randrange(len(cells))] = word
        lines[place] = b",".join(cells)
    elif how == "line":
        lines[place] = word
    elif how == "double":
        lines[place:place] = [lines[place]] * chance.choice((1, 1000))
    elif how == "separator":
        lines[place] = lines[place].replace(b",", chance.choice((b";", b"\t", b",,", b"")))
    else:
        lines[place] += b'"' if how == "quote" else b"\x00"
    text = b"\n".join(lines)
    files[""] = gzip.compress(text, mtime=0) if packed else text
    return f"line {place}: {how} {word[:40]!r}"


def edit_toml(files: dict[str, bytes], chance: random.Random) -> str:
    """Put a value, a table or a key where it does not belong."""
    lines = files.get("", b"").decode("utf-8", "replace").split("\n")
    place = chance.randrange(len(lines))
    name = chance.choice(("views", "kernels", "t", "b", '""', '"\\u001b[2J"', "a.b.c", "1"))
    values = (
        *("[]", '["CD3"]', '["CD3", "CD3"]', "[1, 2]", "nan", "inf", "1", "{}", '""', '"laplace"'),
        *("1979-05-27", "[[[]]]", "true", '["\\u001b"]', "9" * 5000, "[" * 5000, '["' + "x" * 9999),
        *(
            '{a = ["CD3"]}',
            "[{}]",
            '["CD3", 1]',
            "0x10",
            "1e400",
            "'''",
            '["x"]',
            '["CD4", "CD19"]',
        ),
    )
    value = chance.choice(values)
    lines[place] = chance.choice(
        (f"{name} = {value}", f"[{name}]", f"[[{name}]]", f"{lines[place]}\n{lines[place]}", value)
    )
    if chance.random() < 0.1:
        lines += [f"v{count} = {value}" for count in range(500)]
    files[""] = "\n".join(lines).encode("utf-8", "replace")
    return f"line {place} is {lines[place][:60]!r}"
