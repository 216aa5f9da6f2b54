"""Random damage of files and folders: bytes, pieces, files, and values of formats made of text."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Edit = Callable[[dict[str, bytes], random.Random], str]
"""Changes files in place and says what it did; returns nothing where it could do nothing."""

MAGNITUDES = (0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63)


@dataclass(frozen=True)
class Subject:
    """A file, or a folder with its files, in memory.

    Attributes
    ----------
    name : str
        Tells inputs of one kind apart.
    entry : str
        The name of the file or the folder.
    files : dict of str to bytes
        Names below ``entry``; a file alone has the empty name.
    """

    name: str
    entry: str
    files: dict[str, bytes]

    @classmethod
    def read(cls, folder: Path) -> Subject:
        """Read the only entry of a folder."""
        (entry,) = folder.iterdir()
        if entry.is_file():
            return cls(folder.name, entry.name, {"": entry.read_bytes()})
        paths = sorted(path for path in entry.rglob("*") if path.is_file())
        files = {path.relative_to(entry).as_posix(): path.read_bytes() for path in paths}
        return cls(folder.name, entry.name, files)

    def write(self, folder: Path) -> Path:
        """Write the entry into a folder, and return its path."""
        path = folder / self.entry
        folder.mkdir(parents=True, exist_ok=True)
        if not self.files.keys() <= {""}:
            path.mkdir()
        for name, content in self.files.items():
            file = path / name if name else path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return path


def mutate(whole: Subject, chance: random.Random, edits: tuple[Edit, ...]) -> tuple[Subject, str]:
    """Return a damaged copy of an input, and what was done to it.

    Parameters
    ----------
    whole : Subject
    chance : random.Random
    edits : tuple of callable
        Mutations that know the format; they make up two thirds of all where there are any.
    """
    files, entry, done = dict(whole.files), whole.entry, list[str]()
    chosen = [
        chance.choice(edits if edits and chance.random() < 2 / 3 else GENERAL)
        for _ in range(chance.choice((1, 1, 1, 2, 4)))
    ]
    # a mutation that knows the format needs a file that can still be read
    chosen.sort(key=lambda edit: edit in GENERAL)
    for edit in chosen:
        words = edit(files, chance) if files else ""
        done += [words] if words else []
    if not done:
        done.append(flip_bits(files, chance))
    if chance.random() < 0.03:
        entry = f"\x1b[2J\n{whole.entry}"
        done.append(f"named {entry!r}")
    return replace(whole, entry=entry, files=files), f"{whole.name}: {'; '.join(done)}"


def _piece(content: bytearray, chance: random.Random) -> slice:
    """Choose a short piece of some bytes; half of all pieces lie near an end."""
    length = len(content)
    start = chance.randrange(length + 1)
    if chance.random() < 0.5:
        start = min(chance.randrange(200), length)
        start = start if chance.random() < 0.5 else length - start
    return slice(start, start + chance.choice((1, 4, 8, 50, 1000)))


def _change(
    files: dict[str, bytes], chance: random.Random, change: Callable[[bytearray, slice], None]
) -> str:
    """Change a piece of one file."""
    name = chance.choice(sorted(files))
    content = bytearray(files[name])
    piece = _piece(content, chance)
    change(content, piece)
    files[name] = bytes(content)
    return f"{change.__name__} at {piece.start} of {name or 'the file'}"


def flip_bits(files: dict[str, bytes], chance: random.Random) -> str:
    """Flip one bit, or a few."""

    def flipped(content: bytearray, piece: slice) -> None:
        for place in range(*piece.indices(len(content)))[: chance.choice((1, 1, 5))]:
            content[place] ^= 1 << chance.randrange(8)

    return _change(files, chance, flipped)


def overwrite(files: dict[str, bytes], chance: random.Random) -> str:
    """Overwrite a piece with one byte or with random ones."""

    def overwritten(content: bytearray, piece: slice) -> None:
        length = len(content[piece])
        same = bytes([chance.choice((0, 32, 48, 57, 127, 255))]) * length
        content[piece] = same if chance.random() < 0.5 else chance.randbytes(length)

    return _change(files, chance, overwritten)


def set_number(files: dict[str, bytes], chance: random.Random) -> str:
    """Overwrite 1 to 8 bytes with an extreme number."""

    def numbered(content: bytearray, piece: slice) -> None:
        width = chance.choice((1, 2, 4, 8))
        value = (chance.choice(MAGNITUDES) * chance.choice((1, -1))) % 2 ** (8 * width)
        order: Any = chance.choice(("little", "big"))
        if piece.start + width <= len(content):
            content[piece.start : piece.start + width] = value.to_bytes(width, order)

    return _change(files, chance, numbered)


def cut(files: dict[str, bytes], chance: random.Random) -> str:
    """Leave out everything from some place on."""

    def cut_off(content: bytearray, piece: slice) -> None:
        del content[piece.start :]

    return _change(files, chance, cut_off)


def repeat(files: dict[str, bytes], chance: random.Random) -> str:
    """Repeat a piece, once or many times."""

    def repeated(content: bytearray, piece: slice) -> None:
        content[piece.start : piece.start] = bytes(content[piece]) * chance.choice((1, 1, 100))

    return _change(files, chance, repeated)


def remove(files: dict[str, bytes], chance: random.Random) -> str:
    """Leave out a piece."""

    def removed(content: bytearray, piece: slice) -> None:
        del content[piece]

    return _change(files, chance, removed)


def swap_files(files: dict[str, bytes], chance: random.Random) -> str:
    """Exchange the contents of two files, or copy one over another."""
    if len(files) < 2:
        return ""
    one, other = chance.sample(sorted(files), 2)
    files[one], files[other] = files[other], chance.choice((files[one], files[other]))
    return f"contents of {one} and {other} exchanged or repeated"


def delete_file(files: dict[str, bytes], chance: random.Random) -> str:
    """Delete a file, or empty it."""
    name = chance.choice(sorted(files))
    if chance.random() < 0.5:
        files[name] = b""
        return f"{name or 'the file'} emptied"
    del files[name]
    return f"{name or 'the file'} deleted"


GENERAL: tuple[Edit, ...] = (
    *(flip_bits, flip_bits, overwrite, overwrite, set_number, set_number),
    *(cut, repeat, remove, swap_files, delete_file),
)
