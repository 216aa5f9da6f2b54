"""Suggested names by markers in the table of components, or populations, of a report."""

from __future__ import annotations

from collections.abc import Sequence

from bigtensor.models.words.report_blocks import Column


def marker_column(suggested: Sequence[str]) -> Column:
    """Return the column of suggested names, such as ``"CD3+ CD4-"``."""
    return Column("markers", tuple(suggested), wide=True)


def marker_lead(name: str) -> str:
    """Say how to read suggested names.

    Parameters
    ----------
    name : str
        The noun of a row of the table, such as ``"population"``.
    """
    return (
        f"A {name} is positive (+) for a marker if most of its rows lie above the lowest point "
        "between the two modes of the marker, and negative (-) if most lie below. Markers with "
        f"one mode are not used, except that {name}s of the same signs are told apart by high (hi) "
        "and low (lo) means."
    )
