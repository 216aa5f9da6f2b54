"""Parameters of tests, of which every change is tried on a part."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings


def first_quick(values: Iterable[Any], quick: int = 1) -> list[Any]:
    """Return parameters of which the first few make quick tests, and the others slow ones.

    Almost always, what breaks a law breaks it for the first seed, unit or format as well. A tuple
    holds the values of several arguments.
    """
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=[pytest.mark.slow] if number >= quick else [],
        )
        for number, value in enumerate(values)
    ]


def few_examples() -> int:
    """Return the number of examples of a law that is tried on dozens of cases.

    It is a tenth of those of a single law, so that ``--hypothesis-profile`` changes it as well.
    """
    return settings().max_examples // 10
