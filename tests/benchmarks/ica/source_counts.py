"""Number of sources that ``ICA()`` finds, over seeds of its pilot sample."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from bigtensor import ICA
from bigtensor.engine.blas import single_blas_thread
from tests.benchmarks.ica.real_sources import SourceSet
from tests.benchmarks.tables import Row

NOISES = (0.0, 0.1)

PILOT_ROWS = 5_000
"""Fewer than most sets have, so that seeds see different rows."""


def counts_of_seeds(values: NDArray[np.floating], seeds: int) -> Counter[int]:
    """Return how many seeds found every number of sources."""
    counts: Counter[int] = Counter()
    for seed in range(seeds):
        with warnings.catch_warnings(), single_blas_thread():
            warnings.simplefilter("ignore")
            model = ICA(random_state=seed, pilot_rows=PILOT_ROWS).fit(values)
        counts[len(model.kurtosis_)] += 1
    return counts


def on_seeds(sets: Iterable[SourceSet], seeds: int) -> Iterator[Row]:
    """Yield the numbers of sources of every set."""
    for source_set in sets:
        for noise in NOISES:
            values, mixing = source_set.draw(noise, 0)
            counts = counts_of_seeds(values, seeds)
            number, same = counts.most_common(1)[0]
            yield {
                "sources": source_set.name,
                "rows": len(values),
                "noise": noise,
                "true": mixing.shape[1],
                "most often": number,
                "seeds": f"{same}/{seeds}",
                "holds": same == seeds,
            }
