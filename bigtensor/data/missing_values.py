"""Rules for rows with missing values."""

import numpy as np

MARGINALISE = "marginalise"
"""The rule for missing entries by which a row keeps its others."""

MISSING_RULES = ("raise", "omit", MARGINALISE)
"""An error, or rows left out; `MARGINALISE` is for models that can."""

UNSEEN_CODE = int(np.iinfo(np.int32).min)
"""Code of a category that the fit did not have. By every rule the row keeps its other entries."""
