"""Comparisons of arrays whose failures say by how much, and the errors of broken laws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Case = TypeVar("Case")


def law(check: Callable[[Case], None]) -> Callable[[Case], None]:
    """Raise every failure of a law as an AssertionError that begins with the name of the law.

    Parameters
    ----------
    check : callable
        A law: a function of a case that returns nothing if the law holds.
    """
    words = check.__name__.replace("_", " ")

    @wraps(check)
    def checked(case: Case) -> None:
        try:
            check(case)
        except AssertionError as error:
            raise AssertionError(f"law broken, {words}: {case}: {error}") from error
        except Exception as error:
            raise AssertionError(
                f"law broken, {words}: {case}: {type(error).__name__}: {error}"
            ) from error

    return checked


def require(holds: bool, message: str) -> None:
    """Raise an AssertionError with this message unless the condition holds."""
    if not holds:
        raise AssertionError(message)


@contextmanager
def expected_error(
    kinds: type[Exception] | tuple[type[Exception], ...], call: str
) -> Iterator[None]:
    """Raise an AssertionError unless the body raises an error of these kinds."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    names = " or ".join(kind.__name__ for kind in kinds)
    try:
        yield
    except kinds:
        return
    raise AssertionError(f"{call} raised nothing; expected {names}")


def require_close(
    actual: Mapping[str, Any], expected: Mapping[str, Any], rtol: float, what: str
) -> None:
    """Raise an AssertionError unless named arrays agree.

    Parameters
    ----------
    actual, expected : mapping of str to array
        Arrays by name. Names, shapes and dtypes have to agree.
    rtol : float
        Tolerance of floating point numbers, relative to the largest number of the array. Other
        types have to be equal. NaN equals NaN.
    what : str
        What was computed in two ways, for the message.
    """
    if set(actual) != set(expected):
        raise AssertionError(f"{what}: arrays {sorted(actual)}, expected {sorted(expected)}")
    for name in expected:
        left, right = np.asarray(actual[name]), np.asarray(expected[name])
        if (left.shape, left.dtype) != (right.shape, right.dtype):
            raise AssertionError(
                f"{what}: {name!r} is {left.dtype} {left.shape}, "
                f"expected {right.dtype} {right.shape}"
            )
        _require_close_array(left, right, rtol, f"{what}: {name!r}")


def require_same(actual: Mapping[str, Any], expected: Mapping[str, Any], what: str) -> None:
    """Raise an AssertionError unless named arrays are equal bit for bit; NaN equals NaN."""
    require_close(actual, expected, 0.0, what)


def _require_close_array(left: NDArray[Any], right: NDArray[Any], rtol: float, what: str) -> None:
    """Compare two arrays of one shape and type."""
    if left.dtype.kind not in "fc":
        differ = left != right
        tolerance = 0.0
    else:
        finite = np.isfinite(right)
        scale = float(np.abs(right[finite]).max(initial=0.0))
        tolerance = rtol * scale
        with np.errstate(invalid="ignore"):
            distance = np.abs(left - right)
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        differ = ~same & ~(distance <= tolerance)
    if not differ.any():
        return
    first = tuple(int(place) for place in np.argwhere(differ)[0])
    raise AssertionError(
        f"{what} differs in {int(differ.sum()):,} of {left.size:,} entries; the first at "
        f"{list(first)} is {left[first]!r}, expected {right[first]!r} within {tolerance:.3g}"
    )
