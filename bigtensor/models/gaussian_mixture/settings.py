"""Resolved parameters of a Gaussian mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bigtensor.errors import IdentifiabilityError, ParameterError, Setting
from bigtensor.models.contract.data_shape import DataShape, NamedViews
from bigtensor.models.contract.declarations import check_declared
from bigtensor.models.contract.parameters import check_rows_for_components
from bigtensor.models.gaussian.labelled_fit import check_labels
from bigtensor.models.gaussian_mixture.declared_parameters import PARAMETERS

FEW_COMPONENTS = 4
"""Largest number of components whose centred third moment is not unique."""

ROWS_A_COMPONENT = 200
ROWS_A_FEATURE = 5
LEAST_PILOT_ROWS = 10_000


@dataclass(frozen=True)
class GaussianSettings:
    """Resolved parameters, and the size of the data.

    Attributes
    ----------
    views : tuple of (name, features)
        All features are seen together.
    n_components : int
        Number of components.
    tied : bool
        True for one full covariance matrix of all components.
    max_iter : int
        Largest number of iterations over all rows.
    pilot_rows : int
        Largest number of rows of the pilot sample.
    rows : int
        Number of rows of the data.
    effective_rows : float
        Number of rows of all sites, which weighted rows stand for: the sum of their weights.
    dtype : str
        Type of the values.
    has_weight : bool
        True if rows have weights.
    random_state : int
        Seed of the model.
    labels : tuple of str
        Of the components; empty without.
    """

    views: NamedViews
    n_components: int
    tied: bool
    max_iter: int
    pilot_rows: int
    rows: int
    effective_rows: float
    dtype: str
    has_weight: bool
    random_state: int
    labels: tuple[str, ...]

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return sum(len(members) for _, members in self.views)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns of a block."""
        return tuple(str(name) for _, members in self.views for name in members)

    @property
    def columns(self) -> tuple[tuple[int, int], ...]:
        """All columns of a block, as one group."""
        return ((0, self.n_features),)

    @property
    def spherical(self) -> tuple[slice, ...] | None:
        """Columns that have one variance together; None for a full covariance."""
        return None if self.tied else (slice(0, self.n_features),)


def settings_of(model: Any, shape: DataShape, effective_rows: float) -> GaussianSettings:
    """Return the resolved parameters of a model.

    Raises
    ------
    DataError
        When there are fewer rows than components.
    IdentifiabilityError
        When third moments do not determine so many components of a tied covariance.
    ParameterError
        When there are labels, and not one for every component.
    """
    k, d = int(model.n_components), len(shape.features)
    check_rows_for_components(max(shape.rows, effective_rows), k)
    check_labels(shape.groups, k)
    tied = model.covariance_type == "tied"
    if tied and not shape.groups:
        _check_tied(k, d)
    enough = max(ROWS_A_COMPONENT * k, ROWS_A_FEATURE * d, LEAST_PILOT_ROWS)
    return GaussianSettings(
        views=shape.views,
        n_components=k,
        tied=tied,
        max_iter=int(model.max_iter),
        pilot_rows=min(
            shape.most_occurrences, enough if model.pilot_rows is None else int(model.pilot_rows)
        ),
        rows=shape.rows,
        effective_rows=effective_rows,
        dtype=shape.dtype,
        has_weight=shape.has_weight,
        random_state=model._seed,
        labels=shape.groups,
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


def check_parameters(model: Any) -> None:
    """Raise a ParameterError for a parameter of a `GaussianMixture` that is out of range."""
    if model.n_components is None:
        raise ParameterError(
            Setting("n_components") + " is needed: the number of components of a GaussianMixture"
        )
    check_declared(model, PARAMETERS)
