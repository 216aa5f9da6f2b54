"""The public laws on Gaussian components that are merged into populations."""

from functools import cache

import pytest

from bigtensor import GaussianMixture
from bigtensor.testing import MODEL_LAWS, ModelCase, small_data
from bigtensor.testing.population_laws import names_and_merges_survive_rounds
from bigtensor.testing.round_laws import ROUND_LAWS


def make() -> GaussianMixture:
    return GaussianMixture(3, n_populations=2, reg_covar=1e-6, max_iter=3, random_state=0)


@cache
def case() -> ModelCase:
    """Return one case for all laws, which share its fit."""
    return ModelCase(make, small_data("measured"))


OF_ROUNDS = (*ROUND_LAWS, names_and_merges_survive_rounds)
"""Fits in rounds do not merge Gaussian components."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "law", [law for law in MODEL_LAWS if law not in OF_ROUNDS], ids=lambda law: law.__name__
)
def test_law__holds_with_populations(law) -> None:
    law(case())
