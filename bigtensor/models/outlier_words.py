"""Words on rows that were left out for lying far from all others."""

MANY_OUT = 0.01
"""Share of rows out of reach that is no handful of outliers."""


def outlier_words(left_out: int, rows: int) -> list[str]:
    """Return a sentence, or none where all rows are within reach.

    Parameters
    ----------
    left_out : int
        Rows out of reach.
    rows : int
        All rows.
    """
    if not left_out:
        return []
    words = f"{left_out:,} of {rows:,} rows lie far from all others and were left out of the sums."
    if left_out > MANY_OUT * rows:
        words += " Look at them: they may be a population of their own."
    return [words]
