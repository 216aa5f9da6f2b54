"""Resolved parameters of a Gaussian mixture."""

from __future__ import annotations

from dataclasses import dataclass

from bigtensor.errors import IdentifiabilityError, Setting
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import ParameterValues, check_rows_for_components
from bigtensor.models.gaussian.component_labels import check_labels

FEW_COMPONENTS = 4
"""Largest number of components whose centred third moment is not unique."""

ROWS_A_COMPONENT = 200
ROWS_A_FEATURE = 5
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
    tied : bool
        True for one full covariance matrix of all components.
    max_iter : int
        Largest number of iterations over all rows.
    pilot_rows : int
        Largest number of rows of the pilot sample.
    random_state : int
        Seed of the model.
    """

    shape: DataShape
    n_components: int
    tied: bool
    max_iter: int
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
    def spherical(self) -> tuple[slice, ...] | None:
        """Columns that have one variance together; None for a full covariance."""
        return None if self.tied else (slice(0, self.n_features),)


def settings_of(parameters: ParameterValues, shape: DataShape) -> GaussianSettings:
    """Return the resolved parameters for the data.

    Raises
    ------
    DataError
        When there are fewer rows than components.
    IdentifiabilityError
        When third moments do not determine so many components of a tied covariance.
    ParameterError
        When there are labels, and not one for every component.
    """
    k, d = int(parameters.n_components), len(shape.features)
    check_rows_for_components(max(shape.rows, shape.all_rows), k)
    check_labels(shape.groups, k)
    tied = parameters.covariance_type == "tied"
    if tied and not shape.groups:
        _check_tied(k, d)
    enough = max(ROWS_A_COMPONENT * k, ROWS_A_FEATURE * d, LEAST_PILOT_ROWS)
    return GaussianSettings(
        shape=shape,
        n_components=k,
        tied=tied,
        max_iter=int(parameters.max_iter),
        pilot_rows=min(
            shape.most_occurrences,
            enough if parameters.pilot_rows is None else int(parameters.pilot_rows),
        ),
        random_state=parameters.random_state,
    )


def _check_tied(k: int, d: int) -> None:
    """Raise an IdentifiabilityError for numbers that a tied covariance does not allow."""
    remedy = "use " + Setting("covariance_type", "shared_spherical") + ", or label some rows"
    if 1 < k <= FEW_COMPONENTS:
        raise IdentifiabilityError(
            f"{k} components with a tied covariance are not determined by third moments: about "
            f"the mean their columns have rank {k - 1}, and up to {FEW_COMPONENTS} components "
            "other columns give the same moment; " + remedy
        )
    if k > d:
        raise IdentifiabilityError(
            f"{k} components with a tied covariance need as many features, and the data have "
            f"{d}: with fewer, the lengths of the columns are not determined; " + remedy
        )
