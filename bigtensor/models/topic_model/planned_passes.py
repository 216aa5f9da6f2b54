"""Passes that a fit may ask for, with statistics of the sizes to come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.topic_model.polish import counts_pass, judged_pass
from bigtensor.models.topic_model.script import (
    half_pass,
    ordered_pass,
    pairs_pass,
    spectrum_pass,
    triples_pass,
    words_pass,
)
from bigtensor.models.topic_model.settings import MOST_POLISHES, TopicSettings
from bigtensor.models.topic_model.solution import Topics
from bigtensor.statistics.topics.topic_counts import TopicCounts

_COPIES = 4
"""Copies of the columns that the driver holds: as sent, contracted, corrected, orthonormal."""

_POINTS = 8
"""Copies of the topics that a descent holds: points, gradients and steps."""

_CUBES = 12
"""Copies of the moment of triples that the driver holds: raw, corrected, placements, rotations."""


def planned_preparation(settings: TopicSettings) -> list[PlannedPass]:
    """Return upper bounds of the passes over words and over pairs of words."""
    columns = _blank_columns(settings)
    driver = _COPIES * columns.nbytes
    chosen = []
    if settings.n_components == "auto":
        chosen = [
            PlannedPass(half_pass(settings, columns, 0), 2, driver_nbytes=driver),
            PlannedPass(spectrum_pass(settings, columns), driver_nbytes=driver),
        ]
    pairs = PlannedPass(pairs_pass(columns, 0), 1 + settings.power_passes, driver_nbytes=driver)
    return [PlannedPass(words_pass(settings)), *_of_ordered_words([*chosen, pairs], settings)]


def planned_refinement(settings: TopicSettings) -> list[PlannedPass]:
    """Return upper bounds of the passes over triples, and over the topics of all words."""
    columns = _blank_columns(settings)
    r, k = columns.shape[1], settings.most_topics
    topics, prior = np.broadcast_to(0.0, (settings.n_words, k)), np.zeros(k)
    driver = _COPIES * columns.nbytes + _CUBES * 8 * r**3 + _POINTS * topics.nbytes
    triples = PlannedPass(triples_pass(columns), driver_nbytes=driver)
    driver = _COPIES * topics.nbytes
    sums = TopicCounts(topics, prior)
    counts = counts_pass(sums)
    if settings.max_iter is None:
        blank = Topics(topics, prior, np.ones(k), 0.0, settings.shape.views)
        judged = judged_pass(settings, sums, blank)
        counted = [PlannedPass(judged, MOST_POLISHES, driver, counts)]
    elif settings.max_iter:
        counted = [PlannedPass(counts, settings.max_iter, driver)]
    else:
        counted = []
    return _of_ordered_words([triples, *counted], settings)


def _of_ordered_words(planned: list[PlannedPass], settings: TopicSettings) -> list[PlannedPass]:
    """Return passes over documents whose words are in another order."""
    order = np.arange(settings.n_words)
    return [
        replace(
            own,
            largest=ordered_pass(own.largest, order),
            instead=own.instead and ordered_pass(own.instead, order),
        )
        for own in planned
    ]


def _blank_columns(settings: TopicSettings) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return columns of the right size, without memory of their own."""
    shape = settings.n_words, settings.columns(settings.most_topics)
    return np.broadcast_to(0.0, shape)
