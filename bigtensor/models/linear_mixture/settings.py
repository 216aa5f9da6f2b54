"""Resolved parameters of a linear mixture."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from bigtensor.errors import IdentifiabilityError, Message, ParameterError, Setting, ViewError
from bigtensor.models.contract.data_shape import DataShape, NamedViews
from bigtensor.models.contract.iteration import SETTLED_GAIN
from bigtensor.models.contract.parameters import (
    NoEffect,
    ParameterValues,
    check_rows_for_components,
    unused_parameter,
)
from bigtensor.models.gaussian.component_labels import check_labels
from bigtensor.models.linear_mixture.declared_parameters import PARAMETERS
from bigtensor.models.pilot.sample import ROWS_A_FEATURE, most_pilot_rows

ROWS_A_COMPONENT = 200
"""Rows of the pilot sample for every component: fewer leave some components unfound."""

LEAST_PILOT_ROWS = 20_000

ITERATIONS, ITERATIONS_IN_SAMPLE, ITERATIONS_IN_ROUNDS = 10, 200, 2
"""Largest number of EM iterations by default: over more rows than the pilot sample holds, if it
holds all rows, and in rounds, where every iteration is an exchange between sites.

Moments of rows that the model describes are so near to the largest likelihood that two or three
settle it. On nine of twelve real tables, a row had .03 to 1 nat less after 2 iterations than after
10.
"""

LEAST_GAIN = 1e-3
"""Gain of a row, in nats, below which iterations over more rows than the sample end by default."""


@dataclass(frozen=True)
class LinearSettings:
    """Resolved parameters and the data that they are resolved for.

    Attributes
    ----------
    shape : DataShape
        Size, names and types of the data.
    n_components : int
        Number of components.
    method : str
        Name of the method, ``"auto"`` until it is chosen.
    chooses_method : bool
        True if the method follows from its cost.
    gauss_newton_steps, max_iter : int
        Largest numbers of Gauss-Newton steps and of EM iterations over all rows.
    tolerance : float
        Mean gain of a row, in nats, below which EM iterations end.
    pilot_rows : int
        Largest number of rows of the pilot sample.
    random_state : int
        Seed of the model.
    """

    shape: DataShape
    n_components: int
    method: str
    chooses_method: bool
    gauss_newton_steps: int
    max_iter: int
    tolerance: float
    pilot_rows: int
    random_state: int

    @property
    def columns(self) -> tuple[tuple[int, int], ...]:
        """First and last column of every view in a block."""
        return tuple((columns.start, columns.stop) for columns in self.shape.slices.values())

    @property
    def exceeds_moment(self) -> bool:
        """True for more components than the third moment determines, without labels."""
        return not self.shape.groups and self.n_components > most_of_moment(self.shape.views)

    @property
    def slices(self) -> tuple[slice, ...]:
        """Columns of every view in a block."""
        return tuple(self.shape.slices.values())


def most_of_moment(views: NamedViews) -> int:
    """Return the number of components whose parameters are as many as entries of the moment."""
    sizes = [len(members) + 1 for _, members in views]
    return prod(sizes) // (sum(sizes) - 2)


def settings_of(parameters: ParameterValues, shape: DataShape) -> LinearSettings:
    """Return the resolved parameters for the data.

    Raises
    ------
    ViewError
        When there are not three views.
    DataError
        When there are fewer rows than components.
    IdentifiabilityError
        When the third moment has fewer entries than so many components have parameters, and no
        clusters may take its place.
    ParameterError
        When there are labels, and not one for every component.
    """
    check_views(shape.views)
    k = int(parameters.n_components)
    check_rows_for_components(max(shape.rows, shape.all_rows), k)
    check_labels(shape.groups, k)
    features = max(len(members) for _, members in shape.views)
    enough = max(ROWS_A_COMPONENT * k, ROWS_A_FEATURE * features, LEAST_PILOT_ROWS)
    pilot_rows = most_pilot_rows(parameters, shape, enough)
    in_sample = pilot_rows == shape.most_occurrences
    max_iter, tolerance = _em_iterations(parameters.max_iter, shape, in_sample=in_sample)
    settings = LinearSettings(
        shape=shape,
        n_components=k,
        method=parameters.method,
        chooses_method=parameters.method == "auto",
        gauss_newton_steps=int(parameters.gauss_newton_steps),
        max_iter=max_iter,
        tolerance=tolerance,
        pilot_rows=pilot_rows,
        random_state=parameters.random_state,
    )
    check_method(settings)
    _check_count(settings)
    return settings


def _em_iterations(asked: int | None, shape: DataShape, *, in_sample: bool) -> tuple[int, float]:
    """Return the largest number of EM iterations, and the mean gain below which they end."""
    settled = SETTLED_GAIN / shape.all_rows
    if asked is not None:
        return int(asked), settled
    if shape.in_rounds:
        return ITERATIONS_IN_ROUNDS, settled
    return (ITERATIONS_IN_SAMPLE, settled) if in_sample else (ITERATIONS, LEAST_GAIN)


def _check_count(settings: LinearSettings) -> None:
    """Raise an IdentifiabilityError if moments alone have to determine too many components."""
    has_clusters = settings.max_iter and settings.method in ("auto", "sample")
    if not settings.exceeds_moment or has_clusters:
        return
    views = settings.shape.views
    features = ", ".join(str(len(members)) for _, members in views)
    most = most_of_moment(views)
    remedy = Setting("method", "sample") if settings.max_iter else Setting("max_iter", None)
    raise IdentifiabilityError(
        f"{settings.n_components} components have more parameters than the third moment of views "
        f"of {features} features has entries, which determine at most {most}: use fewer components "
        "("
        + Setting("n_components", most)
        + "), more features, labels of some rows, or EM iterations from clusters of the rows ("
        + remedy
        + ")"
    )


_NO_EFFECT = (
    NoEffect(
        ("gauss_newton_steps",),
        "method",
        ("explicit", "passes", "power"),
        "which makes no such steps",
    ),
)


def without_effect(parameters: ParameterValues) -> Message | None:
    """Return a sentence on a parameter that is given although nothing uses it, or None."""
    return unused_parameter(parameters, PARAMETERS, _NO_EFFECT)


def check_method(settings: LinearSettings) -> None:
    """Raise a ParameterError for a method that cannot find so many components, or from labels."""
    asked, k = settings.method, settings.n_components
    if settings.shape.groups and asked not in ("auto", "sample"):
        raise ParameterError(
            Setting("method", asked)
            + " does not start from labels: leave the labels out, or use "
            + Setting("method", "sample")
        )
    view, members = min(settings.shape.views, key=lambda named: len(named[1]))
    if asked == "compressed" and k > len(members):
        raise ParameterError(
            Setting("method", asked)
            + " needs at least as many features in every view as components, but the view "
            + f"{view!r} has {len(members)} for {k} components: use "
            + Setting("method", "sample", "explicit")
        )


def check_views(views: NamedViews) -> None:
    """Raise a ViewError unless there are three views."""
    if len(views) == 3:
        return
    names = ", ".join(repr(name) for name, _ in views[:6]) + (", ..." if len(views) > 6 else "")
    remedy = (
        "join views that depend on each other into one, until three are left"
        if len(views) > 3
        else "split the features into three groups that are independent given the component"
    )
    features = [name for _, members in views for name in members]
    shown, example = features, "the features"
    if len(features) < 3:
        shown, example = ["x0", "x1", "x2", "x3"], "four features"
    elif len(features) > 6:
        shown, example = features[:4], "the first four features"
    raise ViewError(
        f"a LinearMixture needs exactly three views, and the data have {len(views)} ({names}): "
        + remedy
        + ", such as "
        + Setting("views", {"a": shown[:-2], "b": [shown[-2]], "c": [shown[-1]]})
        + f" of {example}"
    )
