"""Initial weights, means and covariances of a Gaussian mixture, from parameters or the last fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import ParameterError, Setting
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import ParameterValues
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.regularisation import Strength

_Components = TypeVar("_Components", GaussianComponents, OwnCovarianceComponents)

NAMES = ("weights_init", "means_init", "precisions_init")
"""Parameters that hold the arrays."""

_SUM_TOLERANCE = 1e-6
"""Largest difference of the sum of weights from one."""


@dataclass(frozen=True, eq=False)
class InitialArrays:
    """Parameters of a mixture, some of which may be missing.

    Attributes
    ----------
    covariance_type : {"full", "tied", "diag", "spherical", "shared_spherical"}
        Type of the covariances.
    weights : (k,) float64 array, optional
        Positive; they sum to one.
    means : (k, d) float64 array, optional
        In the units of the data.
    covariances : float64 array, optional
        ``(k, d, d)``, ``(d, d)``, ``(k, d)``, ``(k,)`` or ``()``, in the order of the types.
    log_likelihood : float, optional
        Mean of a row before the last EM iteration, if the arrays are those of another fit.
    features : tuple of str
        Names of the features, if the arrays are those of another fit. Empty if they are all
        features of the data, in their order.
    """

    covariance_type: str
    weights: FloatArray | None = None
    means: FloatArray | None = None
    covariances: FloatArray | None = None
    log_likelihood: float | None = None
    features: tuple[str, ...] = ()

    def of_data(self, features: Sequence[str], positions: NDArray[np.intp]) -> InitialArrays | None:
        """Return the arrays of the features of a fit, or None if they are of other features.

        Parameters
        ----------
        features : sequence of str
            Names of the features of the fit, m of those of the data.
        positions : (m,) integer array
            Their positions in the features of the data.
        """
        if not self.features:
            return self.of_features(positions)
        if sorted(features) != sorted(self.features):
            return None
        return self.of_features(np.array([self.features.index(name) for name in features], np.intp))

    def of_features(self, positions: NDArray[np.intp]) -> InitialArrays:
        """Return the arrays of features in another order.

        Parameters
        ----------
        positions : (d,) integer array
            Position of every feature in the present order.
        """
        means, covariances = self.means, self.covariances
        if means is not None:
            means = means[:, positions]
        if covariances is not None and self.covariance_type in ("full", "tied", "diag"):
            covariances = covariances[..., positions]
        if covariances is not None and self.covariance_type in ("full", "tied"):
            covariances = covariances[..., positions, :]
        return replace(self, means=means, covariances=covariances)

    @property
    def is_complete(self) -> bool:
        """True if nothing is missing."""
        return not (self.weights is None or self.means is None or self.covariances is None)

    def in_place_of(self, components: _Components) -> _Components:
        """Return components with these weights, means and covariances in place of theirs."""
        arrays: dict[str, Any] = {}
        if self.weights is not None:
            arrays["weights"] = self.weights
        if self.means is not None:
            arrays["means"] = self.means
        if self.covariances is not None and isinstance(components, GaussianComponents):
            n_features = components.means.shape[1]
            of_one = self.covariance_type == "shared_spherical"
            arrays["covariance"] = (
                np.full(n_features, self.covariances) if of_one else self.covariances
            )
        elif self.covariances is not None:
            arrays["covariances"] = self.covariances
        return replace(components, **arrays)


@dataclass(frozen=True, eq=False)
class LastFit:
    """Components of a fit, with the parameters that made it this model.

    Attributes
    ----------
    constant_features : tuple of str
        Names of the features that the fit left out.
    n_components : int or "auto"
        The parameter. A fit may return fewer components.
    reg_covar : float or "auto"
        The parameter.
    strength : Strength, optional
        Regularisation of the covariances; None if they are shared.
    arrays : InitialArrays
        Weights, means and covariances, with the names of their features.
    """

    constant_features: tuple[str, ...]
    n_components: int | str
    reg_covar: float | str
    strength: Strength | None
    arrays: InitialArrays


def with_last_fit(parameters: ParameterValues, shape: DataShape) -> ParameterValues:
    """Return parameters that start from the last fit, if it was one of the same model.

    Parameters
    ----------
    parameters : ParameterValues
        With ``last_fit``, None unless a warm start is wished for.
    shape : DataShape
        With the names of the features, in the order of the blocks, and of the labels of rows.

    Returns
    -------
    ParameterValues
        With ``last_fit`` None if features, `n_components`, `covariance_type`, `reg_covar` or the
        number of labels are other ones.
    """
    last: LastFit | None = parameters.last_fit
    if last is None:
        return parameters
    assert last.arrays.weights is not None
    count = len(last.arrays.weights)
    same_model = (
        parameters.n_components == last.n_components
        and parameters.covariance_type == last.arrays.covariance_type
        and parameters.reg_covar == last.reg_covar
        and sorted(shape.features) == sorted(last.arrays.features + last.constant_features)
        and len(shape.groups) in (0, count)
    )
    if not same_model:
        return parameters.changed(last_fit=None)
    return parameters.changed(n_components=count)


def initial_arrays(parameters: ParameterValues, k: int, d: int) -> InitialArrays | None:
    """Return the arrays of the last fit, or those that a caller gave, or None.

    Parameters
    ----------
    parameters : ParameterValues
        With ``last_fit``, ``weights_init``, ``means_init`` and ``precisions_init``.
    k, d : int
        Numbers of components and features.

    Raises
    ------
    ParameterError
        When a shape is another one, a weight is not positive, the weights do not sum to one, or a
        precision is not positive definite.
    """
    if parameters.last_fit is not None:
        return cast("LastFit", parameters.last_fit).arrays
    values = {name: getattr(parameters, name) for name in NAMES}
    if all(value is None for value in values.values()):
        return None
    if parameters.views is not None:
        raise ParameterError(
            Setting("views") + " changes the order of the features that initial arrays have; give "
            "one of both"
        )
    kind = str(parameters.covariance_type)
    of_precisions = {
        "full": (k, d, d),
        "tied": (d, d),
        "diag": (k, d),
        "spherical": (k,),
        "shared_spherical": (),
    }[kind]
    weights, means, precisions = (
        _checked(name, values[name], shape)
        for name, shape in zip(NAMES, ((k,), (k, d), of_precisions), strict=True)
    )
    if weights is not None and not (
        (weights > 0).all() and abs(weights.sum() - 1) < _SUM_TOLERANCE
    ):
        raise ParameterError(
            Setting("weights_init")
            + f" are {weights.tolist()}; expected positive numbers that sum "
            "to one"
        )
    return InitialArrays(kind, weights, means, _inverse(precisions, kind))


def _checked(name: str, value: object, shape: tuple[int, ...]) -> FloatArray | None:
    """Return an array of this shape, or None."""
    if value is None:
        return None
    array = np.asarray(value, np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ParameterError(
            Setting(name) + f" have shape {array.shape}; expected finite numbers of shape {shape}"
        )
    return array


def _inverse(precisions: FloatArray | None, covariance_type: str) -> FloatArray | None:
    """Return the covariances of precisions."""
    if precisions is None:
        return None
    matrices = covariance_type in ("full", "tied")
    if matrices:
        symmetric = np.allclose(precisions, np.swapaxes(precisions, -1, -2))
        positive = symmetric and bool((np.linalg.eigvalsh(precisions) > 0).all())
    else:
        positive = bool((precisions > 0).all())
    if not positive:
        expected = "symmetric, positive definite matrices" if matrices else "positive numbers"
        raise ParameterError(Setting("precisions_init") + f" are no {expected}")
    return np.asarray(np.linalg.inv(precisions) if matrices else 1 / precisions)
