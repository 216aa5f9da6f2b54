"""Measured features with few distinct values, which may be codes of categories."""

from __future__ import annotations

import numpy as np

from bigtensor.errors import Message, Setting
from bigtensor.features.modes import FEW_SYMBOLS, distinct_values
from bigtensor.models.kernel_mixture.settings import KernelMixtureSettings
from bigtensor.models.words.wording import several_names
from bigtensor.statistics.row_sample import Sample


def features_of_few_values(sample: Sample, settings: KernelMixtureSettings) -> tuple[str, ...]:
    """Return the measured features with at most `FEW_SYMBOLS` distinct values, two rows for each.

    Parameters
    ----------
    sample : Sample
        Pilot sample.
    settings : KernelMixtureSettings
        Settings with the kernels, of which the delta kernel is for categories.
    """
    measured = np.setdiff1d(np.arange(sample.values.shape[1]), settings.categorical_columns)
    first, few = sample.values[: 100 * FEW_SYMBOLS], []
    for column in measured.tolist():
        # many values among the first rows are many in all
        for rows in (first, sample.values):
            entries = rows[:, column].astype(np.float64)
            count = len(distinct_values(entries[~np.isnan(entries)])[0])
            if count > FEW_SYMBOLS or 2 * count > len(sample.values):
                break
        else:
            few.append(settings.shape.features[column])
    return tuple(few)


def few_values_in_words(features: tuple[str, ...]) -> Message:
    """Return a sentence on measured features with few distinct values, without its full stop."""
    several = len(features) > 1
    return (
        f"Feature{'s' * several} {several_names(features)} ha{'ve' if several else 's'} at most "
        f"{FEW_SYMBOLS} distinct values and {'are' if several else 'is'} taken as measured. "
        "Densities of equal values have no bound, so held-out log-likelihoods say little about "
        f"{'them' if several else 'it'}. For categories, use "
        + Setting("kernel", "delta")
        + " for their views, or import them with --codes (codes=True) and fit DiscreteMixture"
    )
