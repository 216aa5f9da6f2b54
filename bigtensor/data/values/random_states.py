"""Conversion of the random states of NumPy and scikit-learn to one integer seed."""

from __future__ import annotations

from numbers import Integral
from typing import TypeAlias

import numpy as np

from bigtensor.errors import ParameterError, Setting

RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""Random state: an integer seed, a generator to draw a seed from, or None for the seed 0."""

SEEDS = 2**31 - 1
"""Number of seeds: they are drawn from 0 to ``SEEDS - 1``."""


def integer_seed(random_state: RandomState) -> int:
    """Return the integer seed of all random choices.

    Parameters
    ----------
    random_state : int, RandomState or Generator, optional
        A RandomState or Generator is drawn from once, so that the next call gives another seed.
        None stands for 0.

    Raises
    ------
    ParameterError
        If the random state is negative or of another type.
    """
    check_random_state(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(SEEDS))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(SEEDS))
    return int(random_state or 0)


def is_drawn_from(random_state: object) -> bool:
    """Return True for a RandomState or Generator, from which every fit draws another seed."""
    return isinstance(random_state, np.random.RandomState | np.random.Generator)


def check_random_state(random_state: object) -> None:
    """Raise a ParameterError if the object is not a random state. Nothing is drawn from it."""
    if random_state is None or is_drawn_from(random_state):
        return
    whole = isinstance(random_state, Integral) and not isinstance(random_state, bool)
    if not (whole and int(random_state) >= 0):  # type: ignore[call-overload]
        raise ParameterError(
            Setting("random_state")
            + f" is {random_state!r}; expected an integer of at least 0, a numpy RandomState or "
            "Generator, or None"
        )
