"""Resolved parameters of a topic model."""

from __future__ import annotations

from dataclasses import dataclass

from bigtensor.errors import Message, ParameterError, Setting
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import NoEffect, ParameterValues, unused_parameter
from bigtensor.models.topic_model.declared_parameters import PARAMETERS

MOST_TOPICS = 50
"""Largest number of topics that is looked for."""

MOST_POLISHES = 40
"""Most passes of expectation maximisation that held-out documents may ask for."""

_OVERSAMPLING = 10
"""Columns of the sketch beside one a topic."""


@dataclass(frozen=True)
class TopicSettings:
    """Resolved parameters and the data that they are resolved for.

    Attributes
    ----------
    shape : DataShape
        Size, names and types of the data.
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
    random_state : int
        Seed of the model.
    """

    shape: DataShape
    n_components: int | str
    concentration: float | None
    pseudo_count: float
    power_passes: int
    max_iter: int | None
    random_state: int

    @property
    def n_words(self) -> int:
        """Size of the vocabulary V."""
        return sum(len(members) for _, members in self.shape.views)

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


def settings_of(parameters: ParameterValues, shape: DataShape) -> TopicSettings:
    """Return the resolved parameters for the data.

    Raises
    ------
    ParameterError
        When there are more topics than words.
    """
    settings = TopicSettings(
        shape=shape,
        n_components=parameters.n_components
        if parameters.n_components == "auto"
        else int(parameters.n_components),
        concentration=None
        if parameters.doc_concentration == "auto"
        else float(parameters.doc_concentration),
        pseudo_count=float(parameters.topic_concentration),
        power_passes=int(parameters.power_passes),
        max_iter=None if parameters.max_iter is None else int(parameters.max_iter),
        random_state=parameters.random_state,
    )
    if settings.n_components != "auto" and settings.most_topics > settings.n_words:
        raise ParameterError(
            Setting("n_components", settings.n_components)
            + f" exceeds the words (n_features = {settings.n_words}): use fewer topics"
        )
    return settings


_NO_EFFECT = (NoEffect(("topic_concentration",), "max_iter", (0,), "which adds no pseudo-counts"),)


def without_effect(parameters: ParameterValues) -> Message | None:
    """Return a sentence on a parameter that is given although nothing uses it, or None."""
    return unused_parameter(parameters, PARAMETERS, _NO_EFFECT)
