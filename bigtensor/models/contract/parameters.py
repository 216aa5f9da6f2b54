"""Checks of parameters and arguments, and parameters as JSON holds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from bigtensor.data.rows import sample_weights, views
from bigtensor.data.values import random_states
from bigtensor.data.values.missing_values import MARGINALISE, MISSING_RULES
from bigtensor.data.values.random_states import check_random_state
from bigtensor.data.values.sample_weight_meanings import MEANINGS
from bigtensor.errors import DataError, Message, ParameterError, Setting
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.models.contract.declarations import Options, Parameter


class ParameterValues(SimpleNamespace):
    """Values of the parameters of a model by their names, with an integer as `random_state`.

    Fields of options objects are values as well, in place of the objects.
    """

    def changed(self, **values: object) -> ParameterValues:
        """Return these values with others in place of some."""
        return ParameterValues(**{**vars(self), **values})


SHARED_PARAMETERS = ("views", "missing", "weights", "sample_dim", "random_state")
"""Parameters that any model may have without a declaration."""

RandomState: TypeAlias = random_states.RandomState
"""Random state that a caller gives, for the signatures of models."""

FEW_COUNTS = sample_weights.FEW_COUNTS
"""Counts that add up to less than this share of the rows are probably relative weights."""

ViewsLike: TypeAlias = views.ViewsLike
"""Names of views with their features, for the signatures of models."""


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise a ParameterError unless the value is one of those allowed."""
    if not (isinstance(value, str) and value in allowed):
        raise ParameterError(Setting(name) + f" is {value!r}; expected one of {', '.join(allowed)}")


def check_integer(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise a ParameterError unless the value is an integer within bounds."""
    if (
        isinstance(value, int | np.integer)
        and not isinstance(value, bool)
        and value >= least
        and (most is None or value <= most)
    ):
        return
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    setting = name if isinstance(name, Setting) else Setting(name)
    raise ParameterError(setting + f" is {value!r}; expected an integer {bounds}")


MOST_WORKERS = 1024
"""Processes or threads on this machine: more are a slip of the keyboard."""


def check_workers(workers: object) -> None:
    """Raise a ParameterError unless this many workers can run on this machine."""
    if workers is not None:
        check_integer("workers", workers, 1, MOST_WORKERS)


def check_rows_for_components(rows: float, n_components: int) -> None:
    """Raise a DataError for fewer rows than components, before arrays of that size are made."""
    if rows < n_components:
        raise DataError(
            f"the data have {rows:,.0f} rows, fewer than the {n_components:,} components asked "
            "for: use fewer components (" + Setting("n_components") + "), or more rows"
        )


def check_inputs(parameters: ParameterValues, *, marginalises: bool) -> None:
    """Raise a ParameterError for one of the parameters that all models share."""
    if parameters.views is not None:
        _check_views(parameters.views)
    sample_dim = parameters.sample_dim
    if not isinstance(sample_dim, str) or not sample_dim:
        raise ParameterError(
            Setting("sample_dim") + f" is {sample_dim!r}; expected the name of a dimension"
        )
    allowed = MISSING_RULES if marginalises else [r for r in MISSING_RULES if r != MARGINALISE]
    check_choice("missing", parameters.missing, allowed)
    check_choice("weights", parameters.weights, MEANINGS)
    check_random_state(parameters.random_state)


def check_missing_rule(rule: str, model: str, *, marginalises: bool) -> None:
    """Raise a ParameterError if rows are to be used that a fitted model cannot use.

    The rule may have been set after the fit, which checks it.

    Parameters
    ----------
    rule : {"raise", "omit", "marginalise"}
        Rule for rows with missing entries.
    model : str
        Name of the model.
    marginalises : bool
        True if the fitted model can use the other entries of such rows.
    """
    if rule == MARGINALISE and not marginalises:
        raise ParameterError(
            Setting("missing", MARGINALISE)
            + f" does not go with this {model}, which answers for whole rows: use "
            + Setting("missing", "omit")
        )


@dataclass(frozen=True)
class NoEffect:
    """Parameters that have no effect with some values of another parameter.

    Attributes
    ----------
    names : tuple of str
        The parameters without an effect.
    other : str
        The parameter that decides.
    values : tuple, optional
        Its values. None stands for all but the default.
    reason : str
        End of the sentence that begins with the value, such as "which makes no such steps".
    """

    names: tuple[str, ...]
    other: str
    values: tuple[object, ...] | None
    reason: str


def unused_parameter(
    values: ParameterValues, declared: Iterable[Parameter], cases: Iterable[NoEffect]
) -> Message | None:
    """Return a sentence on a parameter that differs from its default without an effect, or None.

    Parameters
    ----------
    values : ParameterValues
        Values of the parameters of a model.
    declared : iterable of Parameter
        Declared parameters of the model.
    cases : iterable of NoEffect
        When parameters have no effect.
    """
    by_name = {parameter.name: parameter for parameter in declared}
    for case in cases:
        other, default = getattr(values, case.other), by_name[case.other].default
        if not (other != default if case.values is None else other in case.values):
            continue
        for name in case.names:
            if getattr(values, name) != by_name[name].default:
                return (
                    by_name[name].setting()
                    + " has no effect with "
                    + Setting(case.other, other)
                    + ", "
                    + case.reason
                    + ": leave it out"
                )
    return None


def checked_points(points: npt.ArrayLike, view: str, width: int) -> NDArray[np.float64]:
    """Return points of a view of ``width`` features, or raise a ParameterError."""
    values = np.asarray(points, np.float64)
    if values.shape[1:] != (width,) and not (width == 1 and values.ndim == 1):
        raise ParameterError(
            f"points have shape {values.shape}; view {view!r} has {width} feature(s), so that "
            f"(n, {width}) is expected" + (" or (n,)" if width == 1 else "")
        )
    return values


def checked_function(f: Callable[[NDArray[Any]], Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return the function with a check that it gives one number or one row a value."""

    def checked(values: NDArray[Any]) -> NDArray[Any]:
        numbers = np.asarray(f(values))
        if numbers.shape[:1] != values.shape[:1] or numbers.ndim > 2:
            raise ParameterError(
                f"f returned shape {numbers.shape} for {len(values)} values; expected "
                f"({len(values)},) or ({len(values)}, m)"
            )
        return numbers

    return checked


def _check_views(views: object) -> None:
    """Raise a ParameterError unless views map names to lists of features or columns."""
    example = "expected view names with lists of features, such as {'a': ['x0'], 'b': ['x1', 'x2']}"
    if not isinstance(views, Mapping):
        raise ParameterError(Setting("views") + f" is a {type(views).__name__}; {example}")
    for name, members in views.items():
        listed = isinstance(members, Sequence | np.ndarray) and not isinstance(members, str)
        if not listed or any(not _is_feature(member) for member in members):
            raise ParameterError(Setting("views") + f" has {members!r} under {name!r}; {example}")


def _is_feature(member: object) -> bool:
    """Return True if this can be the name or the column of a feature."""
    return isinstance(member, str | int | np.integer) and not isinstance(member, bool)


def plain(value: object) -> Any:
    """Return a value as JSON holds it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(entry) for entry in value]
    if isinstance(value, Options):
        return plain(value.as_dict())
    if isinstance(value, CustomKernel):
        return repr(value)
    return value
