"""Natural order of names: numbers within names are compared as numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

_DIGITS = re.compile(r"(\d+)")


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key by which names sort naturally.

    Parameters
    ----------
    name : str
        Name of a sample, a group or a population.

    Examples
    --------
    >>> sorted(["Activation_10", "Activation_2"], key=natural_key)
    ['Activation_2', 'Activation_10']
    """
    pieces = _DIGITS.split(name.casefold())
    # digits are at odd places; the name itself comes last, so that no two names are equal
    parts = [
        (0, int(piece), "") if place % 2 else (1, 0, piece) for place, piece in enumerate(pieces)
    ]
    return (*parts, (2, 0, name))


def natural_order(names: Sequence[str]) -> list[int]:
    """Return the positions of names in their natural order.

    Parameters
    ----------
    names : sequence of str
        Numbers, such as concentrations, are compared by their values if all names are numbers.

    Examples
    --------
    >>> natural_order(["0.5", "0", "0.05"])
    [1, 2, 0]
    """
    numbers = as_numbers(names)
    if numbers is not None:
        return sorted(range(len(names)), key=numbers.__getitem__)
    return sorted(range(len(names)), key=lambda place: natural_key(names[place]))


def as_numbers(texts: Sequence[str]) -> list[float] | None:
    """Return texts as finite numbers, or None if one of them is no finite number."""
    # to Python, 1_1 is eleven
    if any("_" in text for text in texts):
        return None
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None
    return numbers if all(abs(number) < float("inf") for number in numbers) else None
