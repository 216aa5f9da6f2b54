"""Warnings of columns of a table of samples that probably do not say what is meant."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from bigtensor.abundance.natural_order import as_numbers
from bigtensor.abundance.sample_table import SampleTable, listed
from bigtensor.array_types import FloatArray, IntArray
from bigtensor.errors import ConditioningWarning, Setting, warn


def warn_of_mixed(samples: SampleTable, name: str) -> None:
    """Warn if most values of a column are numbers, and a few others make groups of them."""
    entries = [*zip(samples.names, samples.column(name), strict=True)]
    others = [f"{text!r} in {sample}" for sample, text in entries if as_numbers([text]) is None]
    numbers = len(entries) - len(others)
    if numbers > len(others):
        warn(
            f"{name} is a number in {numbers} of {len(entries)} samples, and {listed(others)}, so "
            "that all values are groups; correct the table, leave the cell empty, or give "
            + Setting("groups")
            + f" with {name} if they are groups",
            ConditioningWarning,
        )


def warn_of_spellings(name: str, groups: Sequence[str]) -> None:
    """Warn of groups whose names differ in capital letters or spaces alone."""
    alike: dict[str, list[str]] = {}
    for group in groups:
        key = " ".join(unicodedata.normalize("NFC", group).casefold().split())
        alike.setdefault(key, []).append(repr(group))
    pairs = [" and ".join(names) for names in alike.values() if len(names) > 1]
    if pairs:
        warn(
            f"{name} has groups whose names differ in capital letters or spaces alone: "
            f"{listed(pairs)}. They are different groups here; if they are the same, write them "
            "alike in the table of samples",
            ConditioningWarning,
        )


def warn_of_single_samples(
    samples: SampleTable, name: str, groups: Sequence[str], codes: IntArray, *, by_default: bool
) -> None:
    """Warn of groups of one sample.

    Parameters
    ----------
    samples : SampleTable
        Samples that are compared.
    name : str
        Column that is compared.
    groups : sequence of str
        Names of its groups, the reference first; none of a number.
    codes : (samples,) int array
        Group of every sample; -1 for a sample that adds nothing.
    by_default : bool
        True if nobody chose the reference.
    """
    single = np.bincount(codes[codes >= 0], minlength=len(groups))[: len(groups)] == 1
    if not single.any():
        return
    members = [
        f"{groups[code]!r} ({sample})"
        for sample, code in zip(samples.names, codes.tolist(), strict=True)
        if code >= 0 and single[code]
    ]
    words = (
        f"{name} has one sample in {listed(members)}. One sample has no spread of its own, so that "
        "p values rest on the spread within other groups: add samples, or correct or empty the "
        "cell in the table of samples"
    )
    if single[0] and by_default:
        other = f", or choose another reference than {groups[0]!r}, the first group, with "
        warn(words + other + Setting("reference"), ConditioningWarning)
    else:
        warn(words, ConditioningWarning)


def warn_of_numbered_names(name: str, values: FloatArray) -> None:
    """Warn if whole numbers that are adjusted for look like names, such as of patients.

    Names are repeated about equally often, or numbered from zero or one without a gap. Ages of
    single samples are neither. Numbers that are compared are not judged: time points and stages
    are numbered, too.

    Parameters
    ----------
    name : str
        Of the column.
    values : (samples,) float array
        Its numbers.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < 3 or len(distinct) == counts.sum() or (values != np.rint(values)).any():
        return
    is_numbered = distinct[0] in (0, 1) and np.ptp(distinct) == len(distinct) - 1
    if is_numbered or 1 < counts.min() <= counts.max() <= 2 * counts.min():
        warn(
            f"{name} is adjusted for as a number, with one slope; if its {len(distinct)} whole "
            "numbers are names, as of patients or batches, give "
            + Setting("groups")
            + f" with {name} too",
            ConditioningWarning,
        )
