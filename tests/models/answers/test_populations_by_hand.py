"""Populations that were merged by hand, without a tree of components."""

import numpy as np
import pytest

from bigtensor import GaussianMixture
from bigtensor.errors import NoPopulationsError


@pytest.fixture(scope="module")
def model() -> GaussianMixture:
    means = np.repeat([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]], 100, axis=0)
    rows = means + np.random.default_rng(0).normal(size=(300, 2))
    return GaussianMixture(3, random_state=0).fit(rows).merge_populations([0, 1])


@pytest.mark.parametrize("name", ["merge_tree_", "population_stability_", "population_counts_"])
def test_answers_of_the_tree__say_that_populations_were_made_by_hand(model, name):
    assert len(model.population_weights_) == 2
    with pytest.raises(NoPopulationsError, match=r"made by hand; .* n_populations"):
        getattr(model, name)
