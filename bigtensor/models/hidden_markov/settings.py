"""Resolved parameters of a hidden Markov model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bigtensor.errors import IdentifiabilityError, ParameterError, Setting, ViewError
from bigtensor.models.data_shape import DataShape, NamedViews
from bigtensor.models.declarations import check_declared
from bigtensor.models.hidden_markov.declared_parameters import PARAMETERS

MOST_CELLS = 2**22
"""Largest table of triples: 32 MiB of counts in every task, 160 categories."""

MOST_STEPS = 2**21
"""Rows up to which the iterations along whole sequences take seconds."""

SEQUENCE_ITERATIONS = 20
"""Most EM iterations along whole sequences; each reads the rows twice."""


MOST_CHOSEN = 12
"""Largest number of states that is chosen; triples support at most one a category."""


@dataclass(frozen=True)
class Settings:
    """Resolved parameters, and the size of the data.

    Attributes
    ----------
    views : tuple of (name, features)
        One view of one feature.
    categories : tuple of str
        Names of the codes.
    n_states : int
        Number of states, or the largest number to choose.
    chooses_states : bool
    ridge : float
        Pseudo-count.
    em_iterations : int
        Most EM iterations along whole sequences.
    rows : int
    random_state : int
    """

    views: NamedViews
    categories: tuple[str, ...]
    n_states: int
    chooses_states: bool
    ridge: float
    em_iterations: int
    rows: int
    random_state: int

    @property
    def n_categories(self) -> int:
        """Number of categories."""
        return len(self.categories)


def settings_of(model: Any, shape: DataShape, rows: int, *, in_rounds: bool) -> Settings:
    """Return the resolved parameters of a model.

    Raises
    ------
    ViewError
        When there is more than one feature.
    ParameterError, IdentifiabilityError
        When there are too many categories, or fewer than states.
    """
    if len(shape.features) != 1:
        raise ViewError(
            "a HiddenMarkovModel reads one categorical feature a step, and the data have "
            f"{len(shape.features)}; choose one with "
            + Setting("views")
            + ", or make one feature of their combinations"
        )
    (categories,) = shape.categories
    if (len(categories) + 1) ** 3 > MOST_CELLS:
        raise ParameterError(
            f"the feature {shape.features[0]!r} has {len(categories):,} categories; a "
            f"HiddenMarkovModel counts triples of at most {round(MOST_CELLS ** (1 / 3)) - 1}: put "
            "rare categories together"
        )
    chooses = model.n_states == "auto"
    if not chooses and len(categories) < model.n_states:
        raise IdentifiabilityError(
            f"{model.n_states} states were asked for, and the feature {shape.features[0]!r} has "
            f"{len(categories)} categories, whose triples support at most as many states: use "
            "fewer states"
        )
    return Settings(
        views=shape.views,
        categories=categories,
        n_states=min(MOST_CHOSEN, len(categories)) if chooses else int(model.n_states),
        chooses_states=chooses,
        ridge=0.0 if model.ridge == "none" else float(model.ridge),
        em_iterations=_iterations(model, rows, in_rounds=in_rounds),
        rows=rows,
        random_state=model.random_state or 0,
    )


def check_parameters(model: Any) -> None:
    """Raise a ParameterError for a parameter of a `HiddenMarkovModel` that is out of range."""
    check_declared(model, PARAMETERS)


def _iterations(model: Any, rows: int, *, in_rounds: bool) -> int:
    """Return the largest number of EM iterations along whole sequences."""
    most = SEQUENCE_ITERATIONS if model.em_iterations is None else int(model.em_iterations)
    if in_rounds:
        # messages cross the rows of all sites
        return 0
    if model.refine == "auto":
        return most if rows <= MOST_STEPS else 0
    return most if model.refine == "sequences" else 0
