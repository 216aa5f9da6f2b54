"""Doubtful features of a pilot sample: codes of missing values, copies, and running numbers."""

from __future__ import annotations

from math import comb, log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bigtensor.array_types import FloatArray
from bigtensor.errors import Message, Setting
from bigtensor.missing_codes import MOST_CODES, codes_in_words, missing_codes
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.pilot.linear_copies import linear_copies
from bigtensor.models.words.wording import percent, several_names
from bigtensor.statistics.row_copies import distinct_rows
from bigtensor.statistics.row_sample import Sample

LEAST_SHARE, LEAST_ROWS = 0.01, 5
"""Share of the weight, and rows of equal weight, that a code of missing values has at least.

Copies have as many rows beside their most frequent value.
"""

CHANCE = 1e-3
"""Largest expected number of pairs of independent features that are equal by chance."""

ROUNDED_WEIGHT = 0.999
"""A smaller weight is no count of rows, but a share of one."""

MOST_SHARE = 0.5
"""Largest share of the weight that several positive codes have, such as 98 and 99."""

FEW_ROWS = 20
"""Fewer rows do not show a distribution, whatever the fit finds in them."""

MOST_PAIRS = 3
"""Pairs of features that a warning names."""

REPEATS = 10
"""Square of the rows, in numbers of the range, above which a sample would show repeats.

Of numbers drawn at random from the range, five pairs are then expected to be equal.
"""


def doubts(
    sample: Sample,
    shape: DataShape,
    columns: tuple[tuple[int, int], ...],
    categorical: tuple[int, ...] = (),
) -> list[Message | str]:
    """Return sentences on codes of missing values, copies of features, and very few rows.

    In rounds, more rows may come than the sample has.

    Parameters
    ----------
    sample : Sample
        Pilot sample.
    shape : DataShape
        Size of the data, and names of the features.
    columns : tuple of (start, stop)
        Groups of columns. Copies of a feature are looked for in different groups.
    categorical : tuple of int
        Columns of codes of categories, which are not looked at.
    """
    measured = np.setdiff1d(np.arange(sample.values.shape[1]), categorical)
    if not len(sample.values) or not len(measured):
        return []
    # the shape of the data counts rows of weight zero, which are no rows
    few = [] if shape.in_rounds else _few_rows(max(len(sample.values), shape.all_rows))
    return [
        *few,
        *_missing_codes(sample, measured, shape.features),
        *_copies(sample, measured, columns, shape.features),
    ]


def _few_rows(rows: float) -> list[str]:
    """Return a sentence on data of very few rows."""
    if rows >= FEW_ROWS:
        return []
    return [
        f"The data have {rows:,.0f} rows. Fewer than {FEW_ROWS} show neither groups nor the shape "
        "of a distribution, so the result may be due to chance. Use more rows."
    ]


def _missing_codes(
    sample: Sample, measured: NDArray[np.intp], features: tuple[str, ...]
) -> list[Message]:
    """Return a sentence on every value that looks like a code of missing values."""
    values = sample.values
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    weight = sample.row_weights()
    total = float(weight.sum()) or 1.0
    least = max(LEAST_ROWS / max(len(values), total), LEAST_SHARE)
    shares: dict[tuple[float, ...], dict[str, float]] = {}
    # zeros are frequent, and no codes
    may_be = ((low < 0) & (low == np.rint(low))) | ((high >= 99) & (high == np.rint(high)))
    for column in measured[may_be[measured]]:
        entries = values[:, column]
        outer = (entries <= min(low[column] + MOST_CODES, -1)) | (
            entries >= max(high[column], 99) - MOST_CODES
        )
        if weight[outer].sum() < least * total:
            continue
        codes = missing_codes(np.unique(entries[~np.isnan(entries)]))
        share = float(weight[np.isin(entries, codes)].sum()) / total
        # several values that most rows have, such as 97 to 99 %, are measurements beside others
        are_measured = len(codes) > 1 and codes[0] > 0 and share > MOST_SHARE
        if codes and share >= least and not are_measured:
            shares.setdefault(codes, {})[features[column]] = share
    return [_missing_in_words(codes, shares[codes]) for codes in sorted(shares)]


def _missing_in_words(codes: tuple[float, ...], shares: dict[str, float]) -> Message:
    """Return a sentence on features that hold codes of missing values."""
    names, largest = _listed([*shares]), percent(max(shares.values()))
    share = f"up to {largest} of the rows each" if len(shares) > 1 else f"{largest} of the rows"
    one = len(codes) == 1
    values, at_import = codes_in_words(codes)
    return (
        f"{names} hold{'s' * (len(shares) == 1)} {values} in {share}, far from all other values: "
        f"probably {'a code' if one else 'codes'} of missing values, which the fit takes as "
        f"measured. Replace {'it' if one else 'them'} by NaN, or import the table with "
        f"{at_import}. A fit with "
        + Setting("missing", "omit")
        + " leaves rows with missing entries out."
    )


def _copies(
    sample: Sample,
    measured: NDArray[np.intp],
    columns: tuple[tuple[int, int], ...],
    features: tuple[str, ...],
) -> list[Message]:
    """Return a sentence on features of different groups that are linear functions of each other.

    In few rows, any two features may be, and so may be two features with one value in nearly all
    rows.
    """
    weight = sample.row_weights()
    rows = max(len(weight), float(weight.sum()))
    if len(columns) < 2 or rows < FEW_ROWS:
        return []
    values, shares = sample.values[:, measured], weight / (weight.sum() or 1.0)
    group = np.repeat(np.arange(len(columns)), [stop - start for start, stop in columns])[measured]
    least = log(comb(len(measured), 2) / CHANCE) if len(measured) > 1 else 0.0
    pairs = [
        (measured[i], measured[j])
        for i, j in linear_copies(values)
        if group[i] != group[j] and _log_orders(values[:, i], rows * shares) >= least
    ]
    if not pairs:
        return []
    named = "; ".join(f"{features[i]!r} and {features[j]!r}" for i, j in pairs[:MOST_PAIRS])
    more = "; ..." * (len(pairs) > MOST_PAIRS)
    return [
        f"Some features are linear functions of each other, such as copies: {named}{more}. "
        "Views are taken to be independent given the component, so that the same values count "
        "twice, and probabilities are too extreme. Leave one feature of each pair out ("
        + Setting("views")
        + ")."
    ]


def _log_orders(column: NDArray[np.floating], rows: FloatArray) -> float:
    """Return the logarithm of the number of orders that the entries of a column can have.

    It is zero if all but a few have one value. Missing entries do not count, because features may
    lack them together.

    Parameters
    ----------
    column : (n,) array
        Entries.
    rows : (n,) float64 array
        Number of rows that each entry stands for.
    """
    present = ~np.isnan(column)
    _, number = np.unique(column[present], return_inverse=True)
    counts = np.bincount(number, weights=rows[present])
    if counts.sum() - counts.max(initial=0.0) < LEAST_ROWS:
        return 0.0
    return float(gammaln(counts.sum() + 1) - gammaln(counts + 1).sum())


def running_numbers(
    sample: Sample, shape: DataShape, categorical: tuple[int, ...] = ()
) -> list[Message]:
    """Return a note on features whose values are whole numbers that differ in all distinct rows.

    They fill no larger range than there are rows, and the sample is large enough to show repeats
    of numbers in this range. If all features are such, they are ranks. Equal rows count once, as
    a row with a weight does.

    Parameters
    ----------
    sample : Sample
        Pilot sample.
    shape : DataShape
        Size of the data, and names of the features.
    categorical : tuple of int
        Columns of codes of categories, which are not looked at.
    """
    values, weight = sample.values, sample.row_weights()
    measured = np.setdiff1d(np.arange(values.shape[1]), categorical)
    # most features have a fraction in the first rows
    first = values[:FEW_ROWS, measured]
    candidates = measured[(first == np.rint(first)).all(axis=0)]
    if not len(candidates):
        return []
    values = values[np.unique(distinct_rows(values), return_index=True)[1]]
    rows = len(values)
    if rows < FEW_ROWS:
        return []
    # differences of float32 values may be too large for float32
    ranges = np.ptp(values[:, candidates].astype(np.float64), axis=0)
    # weights below one are no counts, and add up to fewer rows than there are
    are_counts = weight.min() >= ROUNDED_WEIGHT
    most_rows = max(rows, shape.all_rows if are_counts else shape.most_rows)
    # NaN is in no range
    running = [
        int(column)
        for column in candidates[(ranges < most_rows) & (REPEATS * ranges < rows**2)]
        if (values[:, column] == np.rint(values[:, column])).all()
        and len(np.unique(values[:, column])) == rows
    ]
    if not running or len(running) == len(measured):
        return []
    several = len(running) > 1
    return [
        f"{_listed([shape.features[column] for column in running])} may be "
        f"{'running numbers' if several else 'a running number'}, such as an id or a row number, "
        "or a year, a day or a rank: whole numbers that differ in all rows of the sample. The fit "
        f"takes {'them' if several else 'it'} as measured. Leave {'them' if several else 'it'} out "
        "(" + Setting("views") + ") unless the numbers are to be part of the result."
    ]


def _listed(names: list[str]) -> str:
    """Return names of features as the subject of a sentence."""
    return f"Feature{'s' * (len(names) > 1)} {several_names(names)}"
