"""Resolved parameters of a discrete mixture, and the way in which its sums are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bigtensor.errors import (
    DataError,
    IdentifiabilityError,
    Message,
    ParameterError,
    Setting,
    ViewError,
)
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import ParameterValues, check_rows_for_components
from bigtensor.models.discrete_mixture.declared_parameters import PARAMETERS
from bigtensor.statistics.codes.code_counts import table_cells
from bigtensor.statistics.codes.code_moments import Groups, SymbolGroup

MOST_CELLS = 2**22
"""Largest joint table that rows are counted in: 32 MiB of counts in every task."""

PILOT_ROWS = 200_000
"""Rows that the driver holds where the joint table is too large."""

MOST_SYMBOLS = 2**12
"""Largest number of joint codes of a group of several views."""

LEAST_SYMBOLS = 64
"""Number of joint codes of a group that is allowed whatever the number of rows."""

ROWS_A_SYMBOL = 10
"""Rows that every further joint code of a group needs: with fewer, its table is mostly noise.

5,000 rows of 30 views in groups of up to 2^17 joint codes ended 0.4 to 4 nats a row below the same
rows in groups of 16 to 1,024, and took 60 times as long.
"""

MOST_COUNTED = 20
"""Largest number of components that is looked for."""


@dataclass(frozen=True)
class DiscreteSettings:
    """Resolved parameters and the data that they are resolved for.

    Attributes
    ----------
    shape : DataShape
        Size, names and types of the data.
    n_components : int or "auto"
        Number of components.
    method : str
        Algorithm of the fit.
    ridge : float, optional
        Pseudo-count; None stands for a choice by held-out rows.
    max_iter : int, optional
        Most EM iterations; None stands for a number that depends on the method.
    n_starts : int
        Number of random initialisations.
    random_state : int
        Seed of the model.
    """

    shape: DataShape
    n_components: int | str
    method: str
    ridge: float | None
    max_iter: int | None
    n_starts: int
    random_state: int

    def in_order(self, order: Sequence[int]) -> DiscreteSettings:
        """Return settings of the views in another order.

        Parameters
        ----------
        order : sequence of int
            Positions of the views.
        """
        return replace(
            self,
            shape=replace(
                self.shape,
                views=tuple(self.shape.views[view] for view in order),
                categories=tuple(self.shape.categories[view] for view in order),
            ),
        )

    def with_sizes(self, sizes: Sequence[int]) -> DiscreteSettings:
        """Return settings of the first categories of every view.

        Parameters
        ----------
        sizes : sequence of int
            Number of categories of every view.
        """
        pairs = zip(self.shape.categories, sizes, strict=True)
        kept = tuple(names[:size] for names, size in pairs)
        return replace(self, shape=replace(self.shape, categories=kept))

    @property
    def pilot_rows(self) -> int:
        """Rows of the pilot sample."""
        return PILOT_ROWS

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of every view."""
        return tuple(map(len, self.shape.categories))

    @property
    def counted(self) -> bool:
        """True if the joint table of all views fits: one pass then tells everything."""
        return table_cells(self.sizes) <= MOST_CELLS

    @property
    def most_components(self) -> int:
        """Largest number of components to look for, or the number that was asked for.

        A mixture has no more parameters than the joint table has probabilities.
        """
        if self.n_components != "auto":
            return int(self.n_components)
        free = math.prod(self.sizes) - 1
        least = 1 + sum(size - 1 for size in self.sizes)
        return max(1, min(MOST_COUNTED, (free + 1) // least))


def settings_of(parameters: ParameterValues, shape: DataShape) -> DiscreteSettings:
    """Return the resolved parameters for the data.

    Raises
    ------
    ViewError
        When there are fewer than three views, or one has several features.
    DataError
        When there are fewer rows than components, or a feature has no entry.
    """
    wide = [name for name, members in shape.views if len(members) > 1]
    if wide:
        raise ViewError(
            f"the view {wide[0]!r} has several features, but a view of a DiscreteMixture is one "
            "categorical feature: make every feature its own view, or combine them into one feature"
        )
    if len(shape.views) < 3:
        raise ViewError(
            f"a DiscreteMixture needs three views to tell its components apart, and the data have "
            f"{len(shape.views)}: give at least three categorical features"
        )
    empty = [
        name for (name, _), names in zip(shape.views, shape.categories, strict=True) if not names
    ]
    if empty:
        raise DataError(
            f"the feature {empty[0]!r} has no entry in any row, so that it has no category: leave "
            "it out (" + Setting("views") + ")"
        )
    if parameters.n_components != "auto":
        check_rows_for_components(shape.most_occurrences, int(parameters.n_components))
    return DiscreteSettings(
        shape=shape,
        n_components=parameters.n_components,
        method=parameters.method,
        ridge=_ridge_of(parameters.ridge),
        max_iter=parameters.max_iter,
        n_starts=int(parameters.n_starts),
        random_state=parameters.random_state,
    )


def check_parameters(parameters: ParameterValues) -> None:
    """Raise a ParameterError for a parameter of a `DiscreteMixture` that is out of range."""
    if parameters.n_components == "auto" and parameters.method not in ("ex", "em"):
        raise ParameterError(
            Setting("n_components")
            + f" is 'auto', but the method {parameters.method!r} is for a known number of "
            "components: give the number, or use the method 'ex'"
        )


def without_effect(parameters: ParameterValues) -> Message | None:
    """Return a sentence on a parameter that is given although nothing uses it, if there is one."""
    declared = {parameter.name: parameter.default for parameter in PARAMETERS}
    if parameters.n_starts != declared["n_starts"] and parameters.method not in ("ex", "em"):
        return (
            Setting("n_starts")
            + f" is {parameters.n_starts}, but the method {parameters.method!r} has no random "
            "starts"
        )
    if parameters.ridge != declared["ridge"] and parameters.method not in ("ex", "em"):
        return (
            Setting("ridge")
            + f" is {parameters.ridge!r}, but the method {parameters.method!r} has none"
        )
    return None


def three_groups(sizes: tuple[int, ...], used: tuple[int, ...], weight: float = math.inf) -> Groups:
    """Return three groups of views, of about as many joint codes each.

    A view goes to the group of fewest joint codes so far, large views first. Views that would make
    a group too large are left out: they follow from the posterior probabilities of the others.

    Parameters
    ----------
    sizes : tuple of int
        Number of categories of every view.
    used : tuple of int
        Positions of the views that tell anything; at least three.
    weight : float
        Of all rows.

    Raises
    ------
    IdentifiabilityError
        When there are fewer.
    """
    if len(used) < 3:
        raise IdentifiabilityError(
            f"only {len(used)} of {len(sizes)} views have more than one category; three are "
            "needed to tell components apart: use other features"
        )
    most = min(MOST_SYMBOLS, max(LEAST_SYMBOLS, weight / ROWS_A_SYMBOL))
    members: list[list[int]] = [[], [], []]
    counts = [1, 1, 1]
    for view in sorted(used, key=lambda view: (-sizes[view], view)):
        least = min(range(3), key=lambda group: counts[group])
        if not members[least] or counts[least] * sizes[view] <= most:
            members[least].append(view)
            counts[least] *= sizes[view]
    first, second, third = (
        SymbolGroup(tuple(sorted(group)), tuple(sizes[view] for view in sorted(group)))
        for group in members
    )
    return first, second, third


def _ridge_of(ridge: float | str | None) -> float | None:
    """Return a pseudo-count; None for a choice by held-out rows."""
    if ridge == "cross-validation":
        return None
    return 0.0 if ridge is None else float(ridge)
