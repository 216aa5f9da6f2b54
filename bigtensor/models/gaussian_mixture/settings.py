"""Resolved parameters of a Gaussian mixture."""

from __future__ import annotations

from dataclasses import dataclass

from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import ParameterValues, check_rows_for_components
from bigtensor.models.gaussian.component_labels import check_labels
from bigtensor.statistics.gaussian.quadratic_features import COVARIANCE_TYPES, QuadraticFeatures

FEW_COMPONENTS = 4
"""Largest number of components of a tied covariance whose centred third moment is not unique."""

ROWS_A_COMPONENT = 200
ROWS_A_FEATURE = 5
ROWS_A_NUMBER = 10
"""Rows of the pilot sample for every number that components with own covariances consist of."""

LEAST_PILOT_ROWS = 10_000


@dataclass(frozen=True)
class GaussianSettings:
    """Resolved parameters and the data that they are resolved for.

    Attributes
    ----------
    shape : DataShape
        Size, names and types of the data.
    n_components : int
        Number of components.
    covariance_type : {"full", "tied", "diag", "spherical", "shared_spherical"}
        Type of the covariances.
    n_init : int
        Number of clusterings of the sample that EM iterations start from.
    reg_covar : float, optional
        Added to the variances of standardised features. None if held-out rows choose it.
    max_iter : int
        Largest number of iterations over all rows.
    tol : float
        Gain of the mean log-likelihood at which iterations over all rows end, in nats.
    pilot_rows : int
        Largest number of rows of the pilot sample.
    random_state : int
        Seed of the model.
    """

    shape: DataShape
    n_components: int
    covariance_type: str
    n_init: int
    reg_covar: float | None
    max_iter: int
    tol: float
    pilot_rows: int
    random_state: int

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
        return self.covariance_type in COVARIANCE_TYPES

    @property
    def determined_by_moments(self) -> bool:
        """True if third moments may determine so many components."""
        k, d = self.n_components, self.n_features
        return k > 1 and not (self.tied and (k <= FEW_COMPONENTS or k > d))

    @property
    def spherical(self) -> tuple[slice, ...] | None:
        """Columns that have one variance together; None for a full covariance."""
        return None if self.tied else (slice(0, self.n_features),)


def settings_of(parameters: ParameterValues, shape: DataShape) -> GaussianSettings:
    """Return the resolved parameters for the data.

    Raises
    ------
    DataError
        When there are fewer rows than components.
    ParameterError
        When there are labels, and not one for every component.
    """
    k, d = int(parameters.n_components), len(shape.features)
    check_rows_for_components(max(shape.rows, shape.all_rows), k)
    check_labels(shape.groups, k)
    covariance_type = str(parameters.covariance_type)
    numbers = (
        k * QuadraticFeatures(covariance_type, d).width
        if covariance_type in COVARIANCE_TYPES
        else 0
    )
    enough = max(
        ROWS_A_COMPONENT * k, ROWS_A_FEATURE * d, ROWS_A_NUMBER * numbers, LEAST_PILOT_ROWS
    )
    return GaussianSettings(
        shape=shape,
        n_components=k,
        covariance_type=covariance_type,
        n_init=int(parameters.n_init),
        reg_covar=None if parameters.reg_covar == "auto" else float(parameters.reg_covar),
        max_iter=int(parameters.max_iter),
        tol=float(parameters.tol),
        pilot_rows=min(
            shape.most_occurrences,
            enough if parameters.pilot_rows is None else int(parameters.pilot_rows),
        ),
        random_state=parameters.random_state,
    )
