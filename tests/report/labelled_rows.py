"""Labelled rows without values, for words about labels."""

import numpy as np

from bigtensor.models.words.sampled_rows import LabelledRows


def rows_of(label, certainty, *, total=None, left_out=0):
    """Return rows with these labels and certainties."""
    label = np.asarray(label)
    return LabelledRows(
        values=np.zeros((len(label), 1)),
        label=label,
        probability=np.asarray(certainty, float)[:, None],
        weight=np.ones(len(label)),
        truth=None,
        sample_id=None,
        total=len(label) if total is None else total,
        left_out=left_out,
    )
