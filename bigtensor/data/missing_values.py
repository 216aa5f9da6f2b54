"""Rules for rows with missing values."""

MARGINALISE = "marginalise"
"""The rule for missing codes by which a row keeps its other entries."""

MISSING_RULES = ("raise", "omit", MARGINALISE)
"""An error, or rows left out; `MARGINALISE` is for models that can."""
