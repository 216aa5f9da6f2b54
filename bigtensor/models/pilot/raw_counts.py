"""Raw counts, such as genes of cells, that were given to a model of measurements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import ConditioningWarning, warn
from bigtensor.models.words.wording import percent

FEWEST_FEATURES = 20
"""Features from which on counts are looked for. A few counted features are fitted in seconds."""

SHARE_OF_ZEROS = 0.55
"""Share of zeros above which whole numbers are taken for counts.

Of the words of news articles 99 % are zero, and of simulated genes of cells 60 to 90 %. Other
tables of whole numbers had 0 to 49 %: pixels of digits had most, before integers of flow cytometers
and letters of DNA.
"""

SHARE_ABOVE_ONE = 0.2
"""Share of the features whose largest value is above one, from which on they are counts.

Answers of yes and no, coded as 0 and 1, exceed one in a few numeric columns at most: in 3 % of the
features of the table "chess" of KEEL. Words of 100 news articles do in 35 %, and genes of 100
simulated cells, 93 % of them zero, in 30 %. More rows raise both.
"""


def warn_of_raw_counts(values: NDArray[np.floating], model: str) -> str | None:
    """Warn if the values are raw counts.

    Values are taken for counts if they are whole numbers, of which more than `SHARE_OF_ZEROS` are
    zero, and if at least `SHARE_ABOVE_ONE` of the features that are not all zeros exceed one.

    Parameters
    ----------
    values : (rows, features) array
        Values of the pilot sample, without categories.
    model : str
        Name of the model.

    Returns
    -------
    str or None
        Sentence of the warning; None without one.
    """
    if values.shape[1] < FEWEST_FEATURES:
        return None
    zeros = float(np.mean(values == 0))
    if not SHARE_OF_ZEROS < zeros < 1 or not (values >= 0).all():
        return None
    largest = values.max(axis=0)
    if np.mean(largest[largest > 0] > 1) < SHARE_ABOVE_ONE:
        return None
    if (values != np.rint(values)).any():
        return None
    sentence = (
        f"The {values.shape[1]:,} features look like raw counts, such as molecules of genes: whole "
        f"numbers, of which {percent(zeros)} are zero. {model} describes measurements, so a fit of "
        "raw counts is slow and its components mean little. Use TopicModel for the counts, or give "
        "normalised values in a few features, such as the principal components that AnnData holds "
        "in obsm, which open_samples can read. Transform counts of mass cytometry with arcsinh"
    )
    warn(sentence, ConditioningWarning)
    return sentence
