"""Resolved parameters of a Gaussian mixture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import Message, ParameterError, Setting
from bigtensor.models.contract.data_shape import DataShape, NamedViews
from bigtensor.models.contract.parameters import (
    NoEffect,
    ParameterValues,
    check_rows_for_components,
    unused_parameter,
)
from bigtensor.models.gaussian.component_labels import check_labels
from bigtensor.models.gaussian_mixture.declared_parameters import PARAMETERS
from bigtensor.models.gaussian_mixture.initial_arrays import (
    InitialArrays,
    LastFit,
    initial_arrays,
    with_last_fit,
)
from bigtensor.models.gaussian_mixture.regularisation import Strength
from bigtensor.models.pilot.sample import ROWS_A_FEATURE, most_pilot_rows
from bigtensor.statistics.gaussian.quadratic_features import OWN_COVARIANCE_TYPES, QuadraticFeatures

FEW_COMPONENTS = 4
"""Largest number of components of a tied covariance whose centred third moment is not unique."""

ROWS_A_COMPONENT = 200
ROWS_A_NUMBER = 10
"""Rows of the pilot sample for every number that components with own covariances consist of."""

LEAST_PILOT_ROWS = 10_000

MOST_CHOSEN = 100
"""Largest number of components that is chosen."""

SAMPLED_FOR = 20
"""Number of components that the pilot sample is large enough for, if the number is chosen."""

LEAST_ROWS_A_FEATURE = 2
"""Rows a component for each of its features and one more, in a choice of components.

Held-out rows judge the numbers, and this one says which are compared. Two rows for each parameter
allowed one component alone where several are far better: 569 rows of breast cancers (30 features)
have a held-out log-likelihood of 28.0 nats a row with one component, 34.7 with the three chosen.
"""


@dataclass(frozen=True)
class Competition:
    """Rules of the competition of initialisations in the pilot sample.

    Attributes
    ----------
    finalists : int
        Number of initialisations that go on to convergence, after the first iterations of all.
    few_rows : int
        Rows of a sample up to which all initialisations go on, if every component has a covariance
        for itself.
    tolerance : float
        Gain of the mean log-likelihood at which EM iterations end, in nats.
    """

    finalists: int
    few_rows: int
    tolerance: float


THOROUGH = Competition(finalists=3, few_rows=5_000, tolerance=1e-5)
"""Competition for the components that a fit goes on with."""

QUICK = Competition(finalists=1, few_rows=0, tolerance=1e-4)
"""Competition in the comparison of numbers of components, which makes up to a hundred mixtures."""


@dataclass(frozen=True)
class GaussianSettings:
    """Resolved parameters and the data that they are resolved for.

    Attributes
    ----------
    shape : DataShape
        Size, names and types of the data.
    n_components : int
        Number of components, or the largest that may be chosen.
    criterion : {"held_out", "bic"}, optional
        How the number of components is chosen. None if it is given.
    covariance_type : {"full", "tied", "diag", "spherical", "shared_spherical"}
        Type of the covariances.
    n_populations : int or "auto", optional
        Number of populations that the components are merged into.
    init : {"auto", "kmeans", "moments"}
        Initialisations that compete.
    n_init : int
        Number of clusterings of the sample that EM iterations start from.
    strength : Strength, optional
        Regularisation of the covariances. None if held-out rows choose it.
    max_iter : int
        Largest number of iterations over all rows.
    tol : float
        Gain of the mean log-likelihood at which iterations over all rows end, in nats.
    pilot_rows : int
        Largest number of rows of the pilot sample.
    random_state : int
        Seed of the model.
    initial : InitialArrays, optional
        Parameters to start from.
    competition : Competition
        Rules of the competition of initialisations in the pilot sample.
    marginalised : bool
        True if rows with missing entries count by their other entries.
    """

    shape: DataShape
    n_components: int
    criterion: str | None
    covariance_type: str
    n_populations: int | str | None
    init: str
    n_init: int
    strength: Strength | None
    max_iter: int
    tol: float
    pilot_rows: int
    random_state: int
    initial: InitialArrays | None = None
    competition: Competition = THOROUGH
    marginalised: bool = False

    @property
    def is_unregularised(self) -> bool:
        """True if nothing keeps a component of few rows from collapsing."""
        return self.strength is not None and self.strength.reg_covar == 0

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.shape.features)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns of a block."""
        return self.shape.features

    @property
    def columns(self) -> tuple[tuple[int, int], ...]:
        """All columns of a block, as one group."""
        return ((0, self.n_features),)

    @property
    def tied(self) -> bool:
        """True for one full covariance matrix of all components."""
        return self.covariance_type == "tied"

    @property
    def own_covariances(self) -> bool:
        """True if every component has a covariance for itself."""
        return self.covariance_type in OWN_COVARIANCE_TYPES

    @property
    def starts_from_all_arrays(self) -> bool:
        """True if weights, means and covariances to start from are given."""
        return self.initial is not None and self.initial.is_complete

    @property
    def orders_components(self) -> bool:
        """True if components are in the order of given means."""
        return self.initial is not None and self.initial.means is not None

    @property
    def log_likelihood_before(self) -> float | None:
        """Mean log-likelihood before the last EM iteration of a fit that this one continues."""
        return None if self.initial is None else self.initial.log_likelihood

    @property
    def sharing(self) -> GaussianSettings:
        """Settings of the mixture with one covariance that is nearest to the covariance type."""
        if not self.own_covariances:
            return self
        spherical = self.covariance_type == "spherical"
        return replace(self, covariance_type="shared_spherical" if spherical else "tied")

    @property
    def determined_by_moments(self) -> bool:
        """True if third moments may determine so many components."""
        k, d = self.n_components, self.n_features
        return k > 1 and not (self.tied and (k <= FEW_COMPONENTS or k > d))

    def without_columns(self, views: NamedViews, varying: NDArray[np.bool_]) -> GaussianSettings:
        """Return the settings for the features that vary, of which initial arrays are left.

        Parameters
        ----------
        views : tuple of (name, features)
            Views of the features that vary.
        varying : (d,) bool array
            False for constant features.
        """
        shape, initial = replace(self.shape, views=views), self.initial
        if initial is not None:
            initial = initial.of_data(shape.features, np.flatnonzero(varying))
        k = self.n_components
        if self.criterion is not None:
            # constant features are no parameters that rows would be needed for
            k = _most_chosen(shape, self.n_populations)
        return replace(self, shape=shape, n_components=k, initial=initial)

    @property
    def spherical(self) -> tuple[slice, ...] | None:
        """Columns that have one variance together; None for a full covariance."""
        return None if self.tied else (slice(0, self.n_features),)


def check_parameters(parameters: ParameterValues) -> None:
    """Raise a ParameterError for parameters of a `GaussianMixture` that contradict each other."""
    own = parameters.covariance_type in OWN_COVARIANCE_TYPES
    if parameters.missing == "marginalise" and not own:
        raise ParameterError(
            Setting("missing", "marginalise")
            + " needs a covariance for every component: use "
            + Setting("covariance_type", "full")
            + ", or "
            + Setting("missing", "omit")
        )


def settings_of(parameters: ParameterValues, shape: DataShape) -> GaussianSettings:
    """Return the resolved parameters for the data.

    Raises
    ------
    DataError
        When there are fewer rows than components.
    ParameterError
        When there are labels, and not one for every component, initial arrays do not fit, or
        components cannot be merged into so many populations.
    """
    parameters = with_last_fit(parameters, shape)
    d, covariance_type = len(shape.features), str(parameters.covariance_type)
    _check_populations(parameters, shape)
    asked_for = _given_components(parameters, shape)
    chosen = asked_for is None
    k = _most_chosen(shape, parameters.n_populations) if asked_for is None else asked_for
    check_rows_for_components(max(shape.rows, shape.all_rows), k)
    check_labels(shape.groups, k)
    sampled_for = min(k, SAMPLED_FOR) if chosen else k
    numbers = (
        sampled_for * QuadraticFeatures(covariance_type, d).width
        if covariance_type in OWN_COVARIANCE_TYPES
        else 0
    )
    enough = max(
        ROWS_A_COMPONENT * sampled_for,
        ROWS_A_FEATURE * d,
        ROWS_A_NUMBER * numbers,
        LEAST_PILOT_ROWS,
    )
    return GaussianSettings(
        shape=shape,
        n_components=k,
        criterion=str(parameters.criterion) if chosen else None,
        covariance_type=covariance_type,
        n_populations=_whole(parameters.n_populations),
        init=str(parameters.init),
        n_init=int(parameters.n_init),
        strength=_strength(parameters),
        max_iter=int(parameters.max_iter),
        tol=float(parameters.tol),
        pilot_rows=most_pilot_rows(parameters, shape, enough),
        random_state=parameters.random_state,
        initial=initial_arrays(parameters, k, d),
        marginalised=parameters.missing == "marginalise",
    )


def _strength(parameters: ParameterValues) -> Strength | None:
    """Return the regularisation of the last fit or the one that a caller gave; None for "auto"."""
    last: LastFit | None = parameters.last_fit
    if last is not None:
        return last.strength
    return None if parameters.reg_covar == "auto" else Strength(float(parameters.reg_covar))


def free_parameters(covariance_type: str, n_components: int, n_features: int) -> int:
    """Return the number of free parameters of a Gaussian mixture.

    Parameters
    ----------
    covariance_type : {"full", "tied", "diag", "spherical", "shared_spherical"}
        Type of the covariances.
    n_components, n_features : int
        Numbers of components k and features d.
    """
    k, d = n_components, n_features
    of_covariance = {
        "full": k * d * (d + 1) // 2,
        "tied": d * (d + 1) // 2,
        "diag": k * d,
        "spherical": k,
        "shared_spherical": 1,
    }[covariance_type]
    return k - 1 + k * d + of_covariance


_NO_EFFECT = (
    NoEffect(
        ("n_init",), "covariance_type", ("shared_spherical",), "which begins with one clustering"
    ),
    NoEffect(("n_init",), "init", ("moments",), "which makes no clustering"),
    NoEffect(
        ("reg_covar",),
        "covariance_type",
        ("tied", "shared_spherical"),
        "which estimates one covariance from all rows",
    ),
    NoEffect(("criterion",), "n_components", None, "which fixes the number of components"),
)


def without_effect(parameters: ParameterValues) -> Message | None:
    """Return a sentence on a parameter that is given although nothing uses it, or None."""
    return unused_parameter(parameters, PARAMETERS, _NO_EFFECT)


def _whole(n_populations: Any) -> int | str | None:
    """Return an integer of NumPy as one of Python, which files hold."""
    if n_populations is None or isinstance(n_populations, str):
        return n_populations
    return int(n_populations)


def _check_populations(parameters: ParameterValues, shape: DataShape) -> None:
    """Raise a ParameterError where components cannot be merged into populations."""
    if parameters.n_populations is None:
        return
    asked_for = Setting("n_populations") + f" is {parameters.n_populations!r}, but "
    if shape.in_rounds:
        raise ParameterError(
            asked_for + "a fit in rounds does not merge components; leave it out, or use fit"
        )
    if shape.groups:
        raise ParameterError(
            asked_for + "labelled rows say what the components are; leave out one of the two"
        )
    k = _given_components(parameters, shape)
    if k is not None and least_components(parameters.n_populations) > k:
        raise ParameterError(
            asked_for
            + f"there are {k} components to merge; use fewer populations or more components ("
            + Setting("n_components")
            + ")"
        )


def least_components(n_populations: int | str | None) -> int:
    """Return the smallest number of components that can be merged into so many populations."""
    return 1 if n_populations is None or isinstance(n_populations, str) else int(n_populations)


def _given_components(parameters: ParameterValues, shape: DataShape) -> int | None:
    """Return the number of components that is asked for, or follows from labels or arrays."""
    if parameters.n_components != "auto":
        return int(parameters.n_components)
    for name in ("weights_init", "means_init"):
        if getattr(parameters, name) is not None:
            return len(getattr(parameters, name))
    return len(shape.groups) or None


def _most_chosen(shape: DataShape, n_populations: int | str | None) -> int:
    """Return the largest number of components that may be chosen for the data."""
    rows, d = max(shape.rows, shape.all_rows), len(shape.features)
    return max(most_components(rows, d), least_components(n_populations))


def most_components(rows: float, d: int) -> int:
    """Return the largest number of components that so many rows may speak for.

    Parameters
    ----------
    rows : float
        Number of rows.
    d : int
        Number of features.
    """
    return int(min(max(rows / (LEAST_ROWS_A_FEATURE * (d + 1)), 1), MOST_CHOSEN))
