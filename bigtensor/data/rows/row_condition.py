"""Conditions on rows, evaluated by NumPy on the values of some rows at a time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.condition_syntax import (
    Comparison,
    Conjunction,
    Disjunction,
    Flag,
    Membership,
    Negation,
    Operand,
    Tree,
    Value,
    Variable,
    condition_error,
    missing_remedy,
    parse_condition,
    variables_in,
)
from bigtensor.errors import ConditionError

_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_LISTED = 30
"""Most names that a message lists."""


@dataclass(frozen=True)
class ConditionColumn:
    """Kind of the values of a feature or a variable of the rows.

    Attributes
    ----------
    kind : {"numbers", "flags", "names", "others"}
        Numbers, true and false, names, or values that no condition can compare.
    categories : tuple of str, optional
        Names of the codes 0, 1, ... Numbers may have categories too: the names "0", "1", ... in
        this order, as clusters of scanpy have them. None if values are no codes.
    """

    kind: Literal["numbers", "flags", "names", "others"]
    categories: tuple[str, ...] | None = None


def column_of(dtype: np.dtype[Any], categories: Sequence[str] | None) -> ConditionColumn:
    """Return the kind of values of a type; integers with categories are codes of names.

    Parameters
    ----------
    dtype : dtype
        Type of the values.
    categories : sequence of str, optional
        Names of the codes 0, 1, ... If the names are "0", "1", ... in this order, the column is of
        numbers. `condition_on` makes it a column of names for a condition that compares it with
        texts alone, such as ``leiden == "1"``.
    """
    if dtype.kind == "b":
        return ConditionColumn("flags")
    if dtype.kind in "iu" and categories is not None:
        names = tuple(map(str, categories))
        return ConditionColumn("numbers" if _is_numbered(names) else "names", names)
    if dtype.kind in "iuf":
        return ConditionColumn("numbers")
    return ConditionColumn("names" if dtype.kind in "OUST" else "others")


def _is_numbered(names: Sequence[str]) -> bool:
    """Return True if the names of the codes are their numbers."""
    return tuple(names) == tuple(map(str, range(len(names))))


@dataclass(frozen=True)
class RowCondition:
    """A condition on rows, for data with these columns.

    Attributes
    ----------
    text : str
        The condition as it was given.
    tree : Tree
        The condition as it was parsed.
    columns : mapping of str to ConditionColumn
        Columns that the condition names.
    """

    text: str
    tree: Tree
    columns: Mapping[str, ConditionColumn]

    def evaluate(self, values: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Return True for every row that meets the condition.

        A comparison with a missing value (NaN, a negative code, no name) is false.

        Parameters
        ----------
        values : mapping of str to (rows,) array
            Values of every column that the condition names.
        """
        return self._evaluate(self.tree, values)

    def _evaluate(self, tree: Tree, values: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Evaluate a part of the condition."""
        if isinstance(tree, Negation):
            return ~self._evaluate(tree.part, values)
        if isinstance(tree, Conjunction | Disjunction):
            join = np.logical_and if isinstance(tree, Conjunction) else np.logical_or
            parts = (self._evaluate(part, values) for part in tree.parts)
            result = next(parts)
            for part in parts:
                join(result, part, out=result)
            return result
        if isinstance(tree, Flag):
            # a copy, because parts are combined in place
            return np.array(values[tree.variable.name], bool)
        if isinstance(tree, Membership):
            return self._is_one_of(
                tree.variable, [entry.value for entry in tree.values], values, tree.negated
            )
        return self._compare(tree, values)

    def _compare(self, tree: Comparison, values: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Evaluate a comparison of numbers, or of names with a text."""
        for side, other in ((tree.left, tree.right), (tree.right, tree.left)):
            if not isinstance(side, Variable) or not isinstance(other, Value):
                continue
            if self.columns[side.name].kind == "names":
                return self._is_one_of(side, [other.value], values, tree.operator == "!=")
        if isinstance(tree.left, Variable) and self.columns[tree.left.name].kind == "names":
            # names are compared with themselves alone
            return self._is_one_of(tree.left, [], values, negated=True)
        left, right = (
            side.value if isinstance(side, Value) else self._numbers(side, values)
            for side in (tree.left, tree.right)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            result: NDArray[np.bool_] = np.asarray(_COMPARE[tree.operator](left, right))
        if tree.operator == "!=":
            result &= _present(left) & _present(right)
        return result

    def _numbers(self, variable: Variable, values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Return the values of a variable, with NaN in place of missing categories."""
        stored = values[variable.name]
        if self.columns[variable.name].categories is None:
            return stored
        return np.where(stored < 0, np.nan, stored)

    def _is_one_of(
        self,
        variable: Variable,
        entries: Sequence[int | float | str],
        values: Mapping[str, NDArray[Any]],
        negated: bool,
    ) -> NDArray[np.bool_]:
        """Return True where a variable has one of some values, or none of them if negated."""
        column = self.columns[variable.name]
        if column.kind == "names":
            codes, names = _coded(values[variable.name], column.categories)
            texts = {*entries}
            member = np.array([name in texts for name in names], bool)
            present = (codes >= 0) & (codes < len(names))
            result = np.zeros(len(codes), bool)
            result[present] = member[codes[present]] != negated
            return result
        stored = self._numbers(variable, values)
        result = np.zeros(len(stored), bool)
        with np.errstate(over="ignore", invalid="ignore"):
            for entry in entries:
                result |= stored == entry
        return ~result & _present(stored) if negated else result


def condition_on(
    text: str | None,
    columns: Sequence[Mapping[str, ConditionColumn]],
    flags: Sequence[str] = (),
    renamed: Mapping[str, str] | None = None,
) -> list[RowCondition]:
    """Return a condition for each of several data sets that are read as one.

    Parameters
    ----------
    text : str, optional
        See `bigtensor.data.rows.condition_syntax` for the grammar.
    columns : sequence of mapping of str to ConditionColumn
        Features and variables of the rows of every data set.
    flags : sequence of str, default ()
        Columns of true and false that have to be true besides.
    renamed : mapping of str to str, optional
        Variables that an import makes of columns with other names, by these names.

    Raises
    ------
    ConditionError
        When the text is no condition, or names a column or a category that no data set has, or
        compares values of different kinds. The message names the place.
    """
    parsed: list[Tree] = [] if text is None else [parse_condition(text)]
    words = [] if text is None else [f"({text})" if flags else text]
    text = " and ".join([*words, *flags])
    trees = [*parsed, *(Flag(Variable(name, 0)) for name in flags)]
    tree = trees[0] if len(trees) == 1 else Conjunction(tuple(trees))
    variables = variables_in(tree)
    for variable in variables:
        for available in columns:
            if variable.name not in available:
                raise _unknown(text, tree, variable, available, renamed or {})
    columns = [_with_texts_as_names(tree, available) for available in columns]
    for available in columns:
        _check(text, tree, available)
    for variable, values in _compared_names(tree):
        _check_categories(text, values, [available[variable.name] for available in columns])
    names = {variable.name for variable in variables}
    return [
        RowCondition(text, tree, {name: available[name] for name in sorted(names)})
        for available in columns
    ]


def _with_texts_as_names(
    tree: Tree, available: Mapping[str, ConditionColumn]
) -> Mapping[str, ConditionColumn]:
    """Return the columns, with numbered codes as names if all that they are compared with is text.

    Clusters of scanpy are the names "0", "1", ...
    """
    compared: dict[str, list[Value | None]] = {}
    for variable, values in _compared_names(tree):
        compared.setdefault(variable.name, []).extend(values or [None])
    names = {
        name: replace(available[name], kind="names")
        for name, values in compared.items()
        if available[name].categories is not None
        and all(value is not None and isinstance(value.value, str) for value in values)
    }
    return {**available, **names}


def _present(values: Any) -> NDArray[np.bool_]:
    """Return True where values are not NaN."""
    return np.asarray(values == values)


def _coded(
    stored: NDArray[Any], categories: tuple[str, ...] | None
) -> tuple[NDArray[Any], Sequence[str]]:
    """Return names as codes, negative for none, and the name of every code."""
    if categories is not None:
        return stored, categories
    # imports of files whose names are codes do without pandas
    import pandas as pd

    codes, names = pd.factorize(np.asarray(stored, object))
    return codes, [
        name.decode(errors="replace") if isinstance(name, bytes) else str(name) for name in names
    ]


def _unknown(
    text: str,
    tree: Tree,
    variable: Variable,
    available: Mapping[str, ConditionColumn],
    renamed: Mapping[str, str],
) -> ConditionError:
    """Return the error of a name that is no column."""
    reason = f"{variable.name!r} is neither a feature nor a variable of the rows"
    if variable.name in renamed:
        return condition_error(
            text,
            variable.place,
            f"{reason}, because the column was given another name: write {renamed[variable.name]}",
        )
    compared = next(iter(_compared_with(tree, variable)), next(iter(available)))
    if remedy := missing_remedy(variable.name, _as_variable(compared)):
        return condition_error(text, variable.place, f"{reason}; {remedy}")
    if variable.name.lower() in ("true", "false"):
        remedy = f"write {variable.name.capitalize()}"
        return condition_error(text, variable.place, f"{reason}; {remedy}")
    near = _near(variable.name, available, _as_variable)
    quotes = "" if near.startswith("did you mean") else "; a text stands in quotes"
    return condition_error(text, variable.place, f"{reason}; {near}{quotes}")


def _compared_with(tree: Tree, variable: Variable) -> list[str]:
    """Return the variables that a variable is compared with."""
    if isinstance(tree, Membership | Flag):
        return []
    if isinstance(tree, Comparison):
        sides = variables_in(tree)
        return [side.name for side in sides if side != variable] if variable in sides else []
    parts = (tree.part,) if isinstance(tree, Negation) else tree.parts
    return [name for part in parts for name in _compared_with(part, variable)]


def _near(name: str, names: Iterable[str], write: Callable[[str], str]) -> str:
    """Return the names that are like another one, or a list of all."""
    listed = list(names)
    lower = {entry.lower(): entry for entry in reversed(listed)}
    close = [lower[entry] for entry in get_close_matches(name.lower(), lower, n=3)]
    # what is longer than a name is often meant by it: CD45 and 145Nd_CD45
    close += [entry for entry in listed if len(name) > 1 and name.lower() in entry.lower()]
    if close:
        return f"did you mean {', '.join(map(write, list(dict.fromkeys(close))[:3]))}?"
    more = f" and {len(listed) - _LISTED:,} more" if len(listed) > _LISTED else ""
    return f"there are {', '.join(map(write, listed[:_LISTED]))}{more}"


def _as_variable(name: str) -> str:
    """Return a name as a condition holds it."""
    return name if name.isidentifier() else f"`{name}`"


def _check(text: str, tree: Tree, available: Mapping[str, ConditionColumn]) -> None:
    """Refuse comparisons of values of different kinds."""
    if isinstance(tree, Negation):
        _check(text, tree.part, available)
    elif isinstance(tree, Conjunction | Disjunction):
        for part in tree.parts:
            _check(text, part, available)
    elif isinstance(tree, Flag):
        if available[tree.variable.name].kind != "flags":
            raise condition_error(
                text,
                tree.variable.place,
                f"{tree.variable.name!r} is not true or false; compare it with a value",
            )
    elif isinstance(tree, Membership):
        for value in tree.values:
            _check_pair(text, tree.variable, value, "==", available)
    else:
        _check_pair(text, tree.left, tree.right, tree.operator, available)


def _check_pair(
    text: str,
    left: Operand,
    right: Operand,
    sign: str,
    available: Mapping[str, ConditionColumn],
) -> None:
    """Refuse two operands that cannot be compared."""
    variables = [side for side in (left, right) if isinstance(side, Variable)]
    if not variables:
        raise condition_error(text, left.place, "two values are compared; name a variable")
    for variable in variables:
        if available[variable.name].kind == "others":
            raise condition_error(
                text,
                variable.place,
                f"{variable.name!r} holds neither numbers nor names; select the rows by dates "
                "before, such as with .sel in xarray",
            )
    named = [side for side in variables if available[side.name].kind == "names"]
    if len(variables) == 2:
        if named and not (sign == "==" and variables[0].name == variables[1].name):
            raise condition_error(
                text, named[0].place, f"{named[0].name!r} holds names; compare it with a text"
            )
        return
    value = right if isinstance(right, Value) else left
    assert isinstance(value, Value)
    is_text = isinstance(value.value, str)
    if named and not is_text:
        raise condition_error(
            text,
            value.place,
            f'{named[0].name!r} holds names; write the name in quotes, such as "{value.value}"',
        )
    if not named and is_text:
        raise condition_error(
            text, value.place, f"{variables[0].name!r} holds numbers; leave the quotes out"
        )
    if isinstance(value.value, bool) and available[variables[0].name].kind != "flags":
        raise condition_error(
            text, value.place, f"{variables[0].name!r} holds numbers; compare it with a number"
        )
    if named and sign not in ("==", "!="):
        reason = f"{named[0].name!r} holds names; compare them by ==, != or in"
        categories = available[named[0].name].categories
        if categories is not None and _is_numbered(categories):
            reason += ", or compare their numbers: write the value without quotes"
        raise condition_error(text, named[0].place, reason)


def _compared_names(tree: Tree) -> list[tuple[Variable, list[Value]]]:
    """Return the texts that every variable is compared with."""
    if isinstance(tree, Membership):
        return [(tree.variable, list(tree.values))]
    if isinstance(tree, Comparison):
        sides = (tree.left, tree.right)
        values = [side for side in sides if isinstance(side, Value)]
        return [(side, values) for side in sides if isinstance(side, Variable)]
    if isinstance(tree, Flag):
        return []
    parts = (tree.part,) if isinstance(tree, Negation) else tree.parts
    return [pair for part in parts for pair in _compared_names(part)]


def _check_categories(
    text: str, values: Sequence[Value], columns: Sequence[ConditionColumn]
) -> None:
    """Refuse names that no data set has, where the categories tell all names."""
    if any(column.categories is None for column in columns):
        return
    names = list(dict.fromkeys(name for column in columns for name in column.categories or ()))
    for value in values:
        if isinstance(value.value, str) and value.value not in names:
            raise condition_error(
                text,
                value.place,
                f"there is no category of this name; {_near(value.value, names, repr)}",
            )
