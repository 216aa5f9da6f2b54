"""Resolved parameters of a topic model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bigtensor.errors import Message, ParameterError, Setting
from bigtensor.models.contract.data_shape import DataShape, NamedViews
from bigtensor.models.contract.declarations import check_declared
from bigtensor.models.topic_model.declared_parameters import PARAMETERS

MOST_TOPICS = 50
"""Largest number of topics that is looked for."""

MOST_POLISHES = 12
"""Most passes of expectation maximisation that held-out documents may ask for."""

_OVERSAMPLING = 10
"""Columns of the sketch beside one a topic."""


@dataclass(frozen=True)
class TopicSettings:
    """Resolved parameters, and the size of the data.

    Attributes
    ----------
    views : tuple of (name, features)
        Names of the views, with their features.
    n_components : int or "auto"
        Number of components.
    concentration : float, optional
        Sum of the parameters of the prior of shares; None for an estimate.
    pseudo_count : float
        Of every word in every topic.
    power_passes : int
        Passes that turn the sketch of pairs of words to topics.
    max_iter : int, optional
        None for as many as held-out documents ask for.
    rows : int
        Number of documents.
    random_state : int
        Seed of the model.
    """

    views: NamedViews
    n_components: int | str
    concentration: float | None
    pseudo_count: float
    power_passes: int
    max_iter: int | None
    rows: int
    random_state: int

    @property
    def n_words(self) -> int:
        """Size of the vocabulary V."""
        return sum(len(members) for _, members in self.views)

    @property
    def most_topics(self) -> int:
        """Number of topics, or the largest that is looked for."""
        return (
            min(MOST_TOPICS, self.n_words)
            if self.n_components == "auto"
            else int(self.n_components)
        )

    def columns(self, n_components: int) -> int:
        """Return the columns of the sketch for a number of topics."""
        return min(n_components + _OVERSAMPLING, self.n_words)


def settings_of(model: Any, shape: DataShape, effective_rows: float) -> TopicSettings:
    """Return the resolved parameters of a model.

    Raises
    ------
    ParameterError
        When there are more topics than words.
    """
    settings = TopicSettings(
        views=shape.views,
        n_components=model.n_components
        if model.n_components == "auto"
        else int(model.n_components),
        concentration=None if model.doc_concentration == "auto" else float(model.doc_concentration),
        pseudo_count=float(model.topic_concentration),
        power_passes=int(model.power_passes),
        max_iter=None if model.max_iter is None else int(model.max_iter),
        rows=max(shape.rows, math.ceil(effective_rows)),
        random_state=model._seed,
    )
    if settings.n_components != "auto" and settings.most_topics > settings.n_words:
        raise ParameterError(
            Setting("n_components", settings.n_components)
            + f" exceeds the words (n_features = {settings.n_words}): use fewer topics"
        )
    return settings


def check_parameters(model: Any) -> None:
    """Raise a ParameterError for a parameter of a `TopicModel` that is out of range."""
    check_declared(model, PARAMETERS)


def without_effect(model: Any) -> Message | None:
    """Return a sentence on a parameter that is given although nothing uses it, or None."""
    default = next(p.default for p in PARAMETERS if p.name == "topic_concentration")
    if model.max_iter == 0 and model.topic_concentration != default:
        return (
            Setting("topic_concentration")
            + " has no effect with "
            + Setting("max_iter", 0)
            + ", which adds no pseudo-counts: leave it out"
        )
    return None
