"""Meanings of sample weights: counts of a row, or relative weights."""

COUNTS = "counts"
"""A weight of 2 is a row that occurs twice."""

RELATIVE = "relative"
"""Weights compare rows, and their unit has no effect."""

MEANINGS = (COUNTS, RELATIVE)
