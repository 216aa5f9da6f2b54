"""The number of populations that the library chooses against every cut of the same tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bigtensor import KernelMixture
from tests.benchmarks.cytometry.cells import Cells
from tests.benchmarks.matching import match_clusters
from tests.benchmarks.tables import Row, bars

CUTS = range(4, 31)
LEAST_OF_BEST = 0.95
"""Least mean F1 of the chosen number, in parts of the best cut's."""


def cut_scores(model: KernelMixture, cells: Cells) -> dict[int, float]:
    """Return the mean F1 of every cut of the tree of a model; the model is then cut elsewhere.

    One prediction serves all cuts. The cuts of a tree are nested, so the probability of a
    population is the sum over the populations of the finest cut inside it.

    Parameters
    ----------
    model : KernelMixture
        With populations.
    cells : Cells

    Returns
    -------
    dict of number of populations to float
    """
    finest = min(CUTS[-1], len(model.weights_))
    model.cut_populations(finest)
    probabilities = np.asarray(model.predict_proba(cells.gated_values()))
    fine = model.population_of_component_
    scores = {}
    for count in range(CUTS[0], finest + 1):
        membership = np.zeros((finest, count), np.float32)
        membership[fine, model.cut_populations(count).population_of_component_] = 1
        labels = (probabilities @ membership).argmax(axis=1)
        scores[count] = match_clusters(labels, cells.gated_classes).mean_f1
    return scores


def cut_rows(scores: Sequence[Mapping[int, float]], chosen: float) -> list[Row]:
    """Return the mean F1 of every cut over the seeds, and the bar on the chosen number.

    Parameters
    ----------
    scores : sequence of mappings of number of populations to float
        One mapping a seed.
    chosen : float
        Mean F1 over the seeds of the number that the library chooses with every seed.
    """
    means = {count: float(np.mean([one[count] for one in scores])) for count in scores[0]}
    least = LEAST_OF_BEST * max(means.values())
    return [
        *({"k": str(count), "mean F1": mean} for count, mean in means.items()),
        {
            "k": "auto",
            "mean F1": chosen,
            **bars({f"mean F1 >= {least:.3f}": chosen >= least}),
        },
    ]
