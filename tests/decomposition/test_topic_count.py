"""The number of topics of covariances whose rank is known."""

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.decomposition.topics.topic_count import count_topics

R, GROUPS = 20, 10


def moments(rank, noise, seed):
    """Return a covariance that chooses, and means and pairs of groups, all of one rank."""
    rng = default_rng(seed)
    axes, mean = rng.normal(size=(R, rank)), 0.3 * rng.normal(size=R)

    def noisy():
        deviation = noise * rng.normal(size=(R, R))
        return axes @ axes.T + deviation + deviation.T

    pairs = np.stack([noisy() + np.outer(mean, mean) for _ in range(GROUPS)])
    return noisy(), np.tile(mean, (GROUPS, 1)), pairs


@pytest.mark.parametrize("rank", [0, 1, 4, 9])
def test_count__is_one_more_than_the_rank(rank):
    right = [count_topics(*moments(rank, 0.1, seed)).count == rank + 1 for seed in range(20)]
    # chance adds a direction now and then
    assert np.mean(right) >= 0.9


def test_directions_of_one_group__do_not_count():
    chosen, means, pairs = moments(3, 0.2, 1)
    burst = default_rng(2).normal(size=R)
    pairs[0] += 500 * np.outer(burst, burst)
    chosen += 500 * np.outer(burst, burst)
    found = count_topics(chosen, means, pairs)
    assert found.count in (3, 4)
    assert found.values[0] < 4 * found.errors[0]
