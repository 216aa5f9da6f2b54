"""Words that tell populations with the same signs apart: high or low in a marker."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bigtensor.array_types import FloatArray

UNCLEAR = "unclear"
"""Name of a population that is neither positive nor negative for any marker."""

LEAST_GAP = 0.5
"""Smallest gap between the means of two populations that are high and low in a marker, in standard
deviations of the marker over all rows."""

MOST_WORDS = 3
"""Words that are added to a name at most."""

CLEAR_MEAN = 0.75
"""Distance from the overall mean, in standard deviations, of a level in a name without signs."""


def with_relative_levels(
    names: Sequence[str], means: FloatArray, markers: Sequence[str]
) -> tuple[str, ...]:
    """Return names in which repeated ones are followed by levels, such as ``"CD8+ CD69hi"``.

    Populations of one name are divided at the largest gap between their means in any marker that
    the name does not have, and every part again. Gaps in the middle count more. ``hi`` and ``lo``
    compare populations of one name with each other. Only a population without a sign is compared
    with all rows.

    Parameters
    ----------
    names : sequence of str
        Names of the populations, some of which repeat. `UNCLEAR` stands for no sign. Empty names
        stay empty.
    means : (markers, populations) float64 array
        Means of the markers in overall standard deviations.
    markers : sequence of str
        Names of the markers.

    Returns
    -------
    tuple of str
        Names still repeat if populations differ by less than `LEAST_GAP` in the markers that the
        name does not have, or after `MOST_WORDS` levels.
    """
    words: list[list[str]] = [[] for _ in names]
    for name in filter(None, dict.fromkeys(names)):
        members = [place for place, other in enumerate(names) if other == name]
        if name == UNCLEAR:
            for member in members:
                words[member] = _clear_levels(means[:, member], markers)
            continue
        signed = {word[:-1] for word in words_of(name, markers)}
        unused = [place for place, marker in enumerate(markers) if marker not in signed]
        _divide(members, means, unused, markers, words)
    return tuple(
        " ".join(own if name == UNCLEAR and own else [name, *own])
        for name, own in zip(names, words, strict=True)
    )


def words_of(name: str, markers: Sequence[str]) -> list[str]:
    """Return the words of a name, with a sign or a level in one word with its marker.

    Parameters
    ----------
    name : str
        Such as ``"CD3+ Alexa Fluor 430-A- CD69hi"``.
    markers : sequence of str
        Names of the markers, which may have spaces.
    """
    # a marker may begin or end as another one does
    longest_first = sorted(markers, key=len, reverse=True)
    marker = "|".join(re.escape(marker) for marker in longest_first)
    return re.findall(rf"(?<!\S)(?:(?:{marker})(?:[+-]|hi|lo)|\S+)(?!\S)", name)


def numbered(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names with numbers in parentheses after those that occur several times."""
    counts, before, different = Counter(names), Counter[str](), []
    for name in names:
        before[name] += 1
        different.append(f"{name} ({before[name]})" if name and counts[name] > 1 else name)
    return tuple(different)


def _clear_levels(means: FloatArray, markers: Sequence[str]) -> list[str]:
    """Return the levels of the markers that are farthest from the overall means."""
    order = np.argsort(-np.abs(means), kind="stable")[:MOST_WORDS]
    return [
        f"{markers[marker]}{'hi' if means[marker] > 0 else 'lo'}"
        for marker in order
        if abs(means[marker]) >= CLEAR_MEAN
    ]


def _divide(
    members: list[int],
    means: FloatArray,
    unused: list[int],
    markers: Sequence[str],
    words: list[list[str]],
) -> None:
    """Divide populations at the largest gap between their means, and then both parts."""
    count = len(members)
    if count < 2 or not unused or len(words[members[0]]) == MOST_WORDS:
        return
    ordered = np.sort(means[np.ix_(unused, members)], axis=1)
    gaps = np.diff(ordered, axis=1)
    above = np.arange(count - 1, 0, -1)
    # a gap that separates one of many populations leaves the others without a difference
    values = np.where(gaps >= LEAST_GAP, gaps * np.sqrt(above * (count - above)), 0.0)
    row, place = (int(index) for index in np.unravel_index(int(values.argmax()), values.shape))
    if not values[row, place]:
        return
    marker, middle = unused[row], ordered[row, place : place + 2].mean()
    rest = [other for other in unused if other != marker]
    for level, is_high in (("hi", True), ("lo", False)):
        part = [member for member in members if (means[marker, member] > middle) == is_high]
        for member in part:
            words[member].append(f"{markers[marker]}{level}")
        _divide(part, means, rest, markers, words)
