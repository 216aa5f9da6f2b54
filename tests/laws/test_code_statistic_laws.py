"""The laws of statistics and row functions, on codes of categories with missing ones."""

import numpy as np
import pytest

from bigtensor.statistics.codes.code_counts import CodeCounts
from bigtensor.statistics.codes.code_moments import ProjectedSymbols, SketchedPairs
from bigtensor.statistics.codes.code_tables import CodeTables
from bigtensor.statistics.codes.triple_posteriors import TriplePosteriorSums
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.densities.view_densities import MixtureDensities
from bigtensor.testing import (
    ROW_FUNCTION_LAWS,
    STATISTIC_LAWS,
    RowFunctionCase,
    StatisticCase,
)
from tests.statistics.test_code_statistics import GROUPS, SIZES, WEIGHTS, probabilities, rows

PROJECTIONS = tuple(np.random.default_rng(3).normal(size=(group.size, 3)) for group in GROUPS)
MIXTURE = MixtureDensities(WEIGHTS, CodeTables.of_probabilities(probabilities()))
MARKOV = tuple(np.random.default_rng(4).dirichlet(np.ones(n), 3) for n in (3, 5))
START = np.full(3, 1 / 3)
STATISTICS = [
    CodeCounts(SIZES),
    SketchedPairs(GROUPS, PROJECTIONS),
    ProjectedSymbols(GROUPS, PROJECTIONS),
    PosteriorSums(MIXTURE),
    TriplePosteriorSums(START, *MARKOV),
]
BLOCKS = {"weighted": rows().window(0, 400), "plain": rows(weighted=False).window(0, 400)}


@pytest.mark.parametrize("law", STATISTIC_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: type(one).__name__)
def test_law__of_statistics_of_codes(statistic, kind, law):
    law(StatisticCase(statistic, BLOCKS[kind], unweighted=("rows", "windows", "squared_weight")))


@pytest.mark.parametrize("law", ROW_FUNCTION_LAWS, ids=lambda law: law.__name__)
def test_law__of_answers_for_codes(law):
    function = Responsibilities(MIXTURE, ("label", "probability", "log_density"))
    law(RowFunctionCase(function, BLOCKS["plain"]))
