"""Means and covariances of features by state, as labelled arrays."""

from __future__ import annotations

from typing import cast

import xarray as xr

from bigtensor.models.hidden_markov.emissions.gaussian_emissions import GaussianEmissions
from bigtensor.models.hidden_markov.emissions.kernel_emissions import KernelEmissions
from bigtensor.models.hidden_markov.emissions.poisson_emissions import PoissonEmissions
from bigtensor.models.hidden_markov.emissions.protocols import Emissions


def feature_moments(emissions: Emissions) -> tuple[xr.DataArray, xr.DataArray | None]:
    """Return the means of measured features, and the covariances of Gaussian emissions.

    Parameters
    ----------
    emissions : Emissions
        Of measured rows.

    Returns
    -------
    means : DataArray, (state, feature)
        In the units of the data.
    covariances : DataArray, (state, feature, other_feature) or (state, feature), or None
        None of emissions that are not Gaussian.
    """
    measured = cast("KernelEmissions | GaussianEmissions | PoissonEmissions", emissions)
    names = [name for _, members in measured.views for name in members]
    means = xr.DataArray(
        measured.feature_means(), {"feature": names}, ("state", "feature"), name="mean"
    )
    if not isinstance(measured, GaussianEmissions):
        return means, None
    covariances = measured.feature_covariances()
    dims = ("state", "feature", "other_feature")[: covariances.ndim]
    coords = dict.fromkeys(dims[1:], names)
    return means, xr.DataArray(covariances, coords, dims, name="covariance")
