"""Removal of outlying rows from a pilot sample, their diagnostics and their warning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bigtensor.features.row_order import content_order_of_rows
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.pilot.doubtful_features import doubts, running_numbers
from bigtensor.models.words.faults import Fault, as_warnings
from bigtensor.statistics.outlier_rule import reach_of_ordinary_rows
from bigtensor.statistics.row_sample import Sample
from bigtensor.statistics.within_reach import Reach

MOST_NAMED = 5
"""Outlying rows that diagnostics and a warning name."""


@dataclass(frozen=True, eq=False)
class OrdinaryRows:
    """Rows of a pilot sample that are not outlying.

    Attributes
    ----------
    sample : Sample
        The ordinary rows, by default in an order that depends on their content alone.
    reach : Reach
        Distances from the median within which the ordinary rows lie.
    diagnostics : dict
        ``outlying_rows``, their number in the sample, and ``first_outlying_rows``, the index of
        the first of them in the data. ``doubts`` and ``running_numbers`` are sentences on all rows
        of the sample, if there are any; see `bigtensor.models.pilot.doubtful_features`.
    """

    sample: Sample
    reach: Reach
    diagnostics: dict[str, Any]


def ordinary_rows(
    sample: Sample,
    columns: tuple[tuple[int, int], ...],
    shape: DataShape,
    *,
    categorical: tuple[int, ...] = (),
    heavy_tails: bool = False,
    keeps_order: bool = False,
) -> OrdinaryRows:
    """Leave outlying rows out of a pilot sample.

    Parameters
    ----------
    sample : Sample
        Rows of the pilot sample.
    columns : tuple of (start, stop)
        Groups of columns, each of which has a reach of its own. Several groups are independent of
        each other given the component.
    shape : DataShape
        Size of the data, and names of the features of the sample.
    categorical : tuple of int
        Columns of codes of categories, which say nothing about distances.
    heavy_tails : bool, default False
        Take the decay of the tails into account.
    keeps_order : bool, default False
        Leave the rows in the order of the data, as of a recording, whose neighbours are alike.
    """
    reach = reach_of_ordinary_rows(
        sample.values, columns, weight=sample.weight, ignored=categorical, heavy_tails=heavy_tails
    )
    ordinary = reach.holds(sample.values)
    outlying = sample.index[~ordinary]
    diagnostics: dict[str, Any] = {
        "outlying_rows": len(outlying),
        "first_outlying_rows": outlying[:MOST_NAMED].tolist(),
    }
    if sentences := doubts(sample, shape, columns, categorical):
        diagnostics["doubts"] = sentences
    if notes := running_numbers(sample, shape, categorical):
        diagnostics["running_numbers"] = notes
    without = sample if ordinary.all() else sample.take(ordinary)
    if keeps_order:
        return OrdinaryRows(without, reach, diagnostics)
    # after outlying rows have left: one of them would change the order of all others
    order = content_order_of_rows(without.values, without.weight, categorical)
    return OrdinaryRows(without.take(order), reach, diagnostics)


def outlier_faults(diagnostics: dict[str, Any]) -> list[Fault]:
    """Return a warning of outlying rows that count in no sum. Without such rows it is empty.

    Parameters
    ----------
    diagnostics : dict
        With ``outlying_rows`` of all rows, and ``first_outlying_rows`` of the sample.
    """
    return as_warnings(*_sentences(diagnostics, "", "fit"))


def sample_outliers(diagnostics: dict[str, Any], whole: str = "pilot sample") -> list[Fault]:
    """Return a warning of outlying rows of a sample, or none.

    If the densities have tails, an outlying row counts in sums over all rows, and in no choice that
    the sample makes.

    Parameters
    ----------
    diagnostics : dict
        With ``drawn_rows``, ``outlying_rows`` and ``first_outlying_rows``.
    whole : {"pilot sample", "fit"}, default "pilot sample"
        What the rows were left out of.
    """
    drawn = f"of {diagnostics['drawn_rows']:,} "
    return as_warnings(*_sentences(diagnostics, drawn, whole))


def _sentences(diagnostics: dict[str, Any], of_all: str, whole: str) -> list[str]:
    """Return a sentence on outlying rows and what they were left out of, or none."""
    outlying, first = diagnostics["outlying_rows"], diagnostics["first_outlying_rows"]
    if not outlying:
        return []
    several = outlying > 1
    rows = "rows" if several or of_all else "row"
    more = ", ..." * (outlying > len(first))
    named = f" (row{'s' * several} {', '.join(map(str, first))}{more})" if first else ""
    return [
        f"{outlying:,} {of_all}{rows} lie{'s' * (not several)} far from all others{named} "
        f"and {'were' if several else 'was'} left out of the {whole}. "
        f"Predictions still include {'them' if several else 'it'}. Check for errors of "
        "measurement, for a population of its own, and for a feature with heavy tails, which a "
        "transformation such as arcsinh shortens."
    ]
