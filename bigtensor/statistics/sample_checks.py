"""Checks of a pilot sample: its rows, its weights, and the differences of its values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bigtensor.errors import DataError
from bigtensor.statistics.row_sample import Sample
from bigtensor.statistics.validity import NamedFeatures, Validity, explain

LEAST_DIFFERENCE = 1e-150
"""Smallest usable difference of two values. The square of a smaller one loses digits or is zero."""

_SHOWN = 6
"""Largest number of features that a message names."""


def check_pilot(sample: Sample, validity: Validity, views: NamedFeatures) -> None:
    """Refuse a pilot sample that no model can be fitted to.

    Parameters
    ----------
    sample : Sample
        Rows of the pilot sample.
    validity : Validity
        Of the rows that the sample was drawn from.
    views : sequence of (name, features)
        Views of the sample, one beside the other.

    Raises
    ------
    DataError
        When no row can be used, no row has a positive weight, or the values of a feature differ by
        less than `LEAST_DIFFERENCE`.
    """
    if validity.rows and not len(sample.values):
        reason = explain(validity, views)
        if not reason:
            raise DataError(
                f"every sample weight is zero in the {validity.rows:,} rows that the pilot sample "
                "was drawn from, so that nothing is left to fit; leave out rows of weight zero, or "
                "give more rows a positive weight"
            )
        raise DataError(
            f"no row is left to fit: {reason}; give rows a finite value in every feature"
        )
    if sample.values.dtype.kind == "f" and len(sample.values):
        _check_differences(sample, [name for _, names in views for name in names])


def _check_differences(sample: Sample, features: Sequence[str]) -> None:
    """Raise a DataError for features whose values differ by too little for a square."""
    # comparisons with NaN, which is a missing entry, are false
    largest, least = (extreme.reduce(sample.values, axis=0) for extreme in (np.fmax, np.fmin))
    # float32 may hold two values whose difference it does not
    ranges = np.subtract(largest, least, dtype=np.float64)
    tiny = np.flatnonzero((ranges > 0) & (ranges < LEAST_DIFFERENCE))
    if not tiny.size:
        return
    names = ", ".join(repr(features[column]) for column in tiny[:_SHOWN])
    names += ", ..." if tiny.size > _SHOWN else ""
    whose = (
        f"the values of feature {names} differ" if tiny.size == 1 else f"values of {names} differ"
    )
    raise DataError(
        f"{whose} by {ranges[tiny].max():.1g} at most, and squares of differences below "
        f"{LEAST_DIFFERENCE:.0e} cannot be computed; change the unit of the values, for "
        "example multiply them by a constant"
    )
