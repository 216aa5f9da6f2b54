"""Wording of numbers, nouns and lists in texts about a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bigtensor.errors import Message, Setting


def counted(number: int, one: str, several: str | None = None) -> str:
    """Write a number with its noun.

    Parameters
    ----------
    number : int
        Number of things, written with separators of thousands.
    one : str
        Noun in the singular.
    several : str, optional
        The plural where it is not the noun with an s.
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def sentence_of(text: str) -> Message:
    """Give a text a capital and a full stop. Parameters keep their spelling."""
    first, *others = text.parts if isinstance(text, Message) else (text,)
    if not isinstance(first, Setting):
        first = first[:1].upper() + first[1:]
    return Message(first, *others, "" if text.endswith(".") else ".")


def words_of(numbers: Sequence[int]) -> str:
    """Write ascending numbers as a list with "and" before the last one, and runs as "5 to 8"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run)
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


_MOST_NAMES = 40
"""Names that a list shows."""


_FEW_NAMES = 5
"""Names of many that a sentence shows."""


def names_in_words(names: Sequence[str]) -> str:
    """List names, of very many the first ones."""
    shown, more = names[:_MOST_NAMES], len(names) - _MOST_NAMES
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def several_names(names: Sequence[str]) -> str:
    """Write the first names of many, in quotes: ``"'a', 'b', ..."``."""
    return ", ".join(map(repr, names[:_FEW_NAMES])) + ", ..." * (len(names) > _FEW_NAMES)


def name_and_number(name: str) -> tuple[str, str]:
    """Split the name of a numbered pass, such as ``"posterior 2"``; other names have no number."""
    stem, _, number = name.rpartition(" ")
    return (stem, number) if number.isdecimal() else (name, "")


def passes_by_name(
    passes: Iterable[Mapping[str, Any]],
) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Put passes of one name, and of the same rows and parts, together.

    Parameters
    ----------
    passes : iterable of mappings
        With the entries ``name``, such as ``"posterior 2"``, and ``rows``. If there are ``parts``,
        passes of other parts stay apart.

    Returns
    -------
    list of (name, passes)
        In the order of the first pass of each name. The name says which iterations there were, such
        as ``"posterior 1 to 5"``.
    """
    entries: dict[tuple[str, Any, Any], list[Mapping[str, Any]]] = {}
    for entry in passes:
        stem, _ = name_and_number(entry["name"])
        entries.setdefault((stem, entry["rows"], entry.get("parts")), []).append(entry)
    return [(_joint_name(stem, own), own) for (stem, _, _), own in entries.items()]


def passes_in_words(passes: Iterable[Mapping[str, Any]]) -> str:
    """List passes with the rows that each of them read; iterations of one name are one entry.

    Parameters
    ----------
    passes : iterable of mappings
        As for `passes_by_name`.
    """
    return ", ".join(
        f"{name} ({counted(own[0]['rows'], 'row')}{' each' if len(own) > 1 else ''})"
        for name, own in passes_by_name(passes)
    )


def _joint_name(stem: str, passes: Sequence[Mapping[str, Any]]) -> str:
    """Say which iterations there were, or how many if their numbers start again."""
    numbers = [name_and_number(entry["name"])[1] for entry in passes]
    if len(numbers) == 1:
        return f"{stem} {numbers[0]}".strip()
    if any(numbers) and len({*numbers}) < len(numbers):
        return f"{stem} {len(numbers)} times"
    return f"{stem} {numbers[0] or 1} to {numbers[-1] or len(numbers)}"


def percent(part: float) -> str:
    """Write a part of one as a percentage of about three digits."""
    value = 100 * part
    return f"{value:.1f} %" if value >= 1 else f"{value:.2g} %"


def size(nbytes: int) -> str:
    """Write a number of bytes with a unit."""
    amount, units = float(nbytes), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return (
        f"{amount:.0f} {units[0]}"
        if amount >= 100 or units[0] == "bytes"
        else (f"{amount:.1f} {units[0]}")
    )


def independence_sentence(views: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Say which features of ``(name, features)`` views may depend on each other in a component."""
    if all(len(members) == 1 for _, members in views):
        return (
            "Every feature is a view of its own: features are taken as independent within a "
            "component."
        )
    listed = "; ".join(f"{name} ({', '.join(members)})" for name, members in views)
    return f"Views, independent of each other within a component: {listed}."
