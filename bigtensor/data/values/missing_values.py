"""Rules for rows with missing values."""

MARGINALISE = "marginalise"
"""The rule for missing entries by which a row keeps its others."""

MISSING_RULES = ("raise", "omit", MARGINALISE)
"""An error, or rows left out; `MARGINALISE` is for models that can."""
