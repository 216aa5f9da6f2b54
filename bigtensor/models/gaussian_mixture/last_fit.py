"""The last fit of a Gaussian mixture, from which a warm start goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.models.contract.parameters import ParameterValues


@dataclass(frozen=True, eq=False)
class LastFit:
    """What a fit found, and what it was asked for.

    Attributes
    ----------
    features : tuple of str
        Names of the features.
    asked_for : int or "auto"
        The parameter ``n_components``. A fit may return fewer components.
    covariance_type : str
        Type of the covariances.
    regularisation : float or "auto"
        Part of the variances that was added to them.
    weights : (k,) float64 array
    means : (k, d) float64 array
    precisions : float64 array or float
        As the attribute ``precisions_``.
    log_likelihood : float
        Mean of a row before the last EM iteration.
    """

    features: tuple[str, ...]
    asked_for: int | str
    covariance_type: str
    regularisation: float | str
    weights: FloatArray
    means: FloatArray
    precisions: FloatArray | float
    log_likelihood: float

    def of_features(self, features: Sequence[str]) -> LastFit:
        """Return the fit with the same features in another order."""
        positions = np.array([self.features.index(name) for name in features])
        precisions = self.precisions
        if self.covariance_type in ("full", "tied", "diag"):
            precisions = np.asarray(precisions)[..., positions]
        if self.covariance_type in ("full", "tied"):
            precisions = np.asarray(precisions)[..., positions, :]
        return replace(
            self,
            features=tuple(features),
            means=self.means[:, positions],
            precisions=precisions,
        )


def with_last_fit(parameters: ParameterValues, features: Sequence[str]) -> ParameterValues:
    """Return parameters that start from the last fit, if it was one of the same model.

    Parameters
    ----------
    parameters : ParameterValues
        With ``last_fit``, None unless a warm start is wished for.
    features : sequence of str
        Names of the features of the data, in the order of the blocks.

    Returns
    -------
    ParameterValues
        With ``last_fit`` None if the features, the number of components that was asked for, or the
        type of covariance are other ones.
    """
    last: LastFit | None = parameters.last_fit
    if last is None:
        return parameters
    same_model = (parameters.n_components, parameters.covariance_type) == (
        last.asked_for,
        last.covariance_type,
    )
    if not same_model or sorted(features) != sorted(last.features):
        return parameters.changed(last_fit=None)
    last = last.of_features(features)
    return parameters.changed(
        # arrays are in the order of the blocks already
        views=None,
        reg_covar=last.regularisation,
        n_components=len(last.weights),
        weights_init=last.weights,
        means_init=last.means,
        precisions_init=last.precisions,
        last_fit=last,
    )
