"""Units of features, by the likelihood of rows that were held out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bigtensor.errors import Setting
from bigtensor.models.kernel_mixture.choices.held_out_densities import (
    fitted_and_held,
    held_out_log_densities,
)
from bigtensor.models.kernel_mixture.choices.replicates import ITERATIONS
from bigtensor.models.kernel_mixture.pilot_scores import mean_difference
from bigtensor.models.kernel_mixture.settings import KernelMixtureSettings
from bigtensor.statistics.row_sample import Sample

NOTES = {
    "common": "Features are compared as they are, because held-out rows are then more likely than "
    "with features in units of their spread. With "
    + Setting("units", "own")
    + " they are compared by their spread",
    "own": "Features are compared by their spread, because held-out rows are not more likely with "
    "features as they are. With " + Setting("units", "common") + " they are compared as they are",
}
"""Sentences on the choice."""


def with_chosen_units(
    sample: Sample, settings: KernelMixtureSettings
) -> tuple[KernelMixtureSettings, dict[str, float] | None]:
    """Choose between features in units of their spread and features as they are.

    Units decide which rows are near each other, and so which components a fit begins with. In
    each of the units, components are fitted to half of some rows of the sample. Features are
    compared as they are if the other half is then more likely, by more than a standard error.
    Rounded values are spread over the step of the rounding first.

    Parameters
    ----------
    sample : Sample
        Pilot sample.
    settings : KernelMixtureSettings
        Settings of the fit, in units of the spread.

    Returns
    -------
    settings : KernelMixtureSettings
        With the chosen units.
    likelihoods : dict of str to float, optional
        Mean held-out log-likelihood of a row by units, in nats, and the ``standard_error`` of their
        difference. None if nothing was to be chosen.
    """
    if not settings.units_by_data:
        return settings, None
    rows = fitted_and_held(sample, settings, "units")
    if rows is None:
        return settings, None
    own = held_out_log_densities(*rows, settings, ITERATIONS)
    common = held_out_log_densities(*rows, replace(settings, units="common"), ITERATIONS)
    weight = rows[1].row_weights()
    gain = mean_difference(common - own, weight)
    likelihoods = {
        "own": float(np.average(own, weights=weight)),
        "common": float(np.average(common, weights=weight)),
        "standard_error": gain.error,
    }
    units = "common" if gain.mean > gain.error else "own"
    return replace(settings, units=units, notes=(*settings.notes, NOTES[units])), likelihoods
