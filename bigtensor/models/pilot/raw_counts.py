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


def warn_of_raw_counts(values: NDArray[np.floating], model: str) -> str | None:
    """Warn if the values are raw counts.

    Values are taken for counts if they are whole numbers, of which more than `SHARE_OF_ZEROS` are
    zero, and not only zeros and ones.

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
    if zeros <= SHARE_OF_ZEROS or not (values >= 0).all() or values.max() <= 1:
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
