"""The laws of statistics, on operators of sequences: what follows the rows must not see their cut.

`SequenceEnds`, `SequencePosteriorSums`, `GroupOccupancy`, `DecodedPaths` and `PathProbability` are
of the blocks whose messages they hold: any cut of the rows is tried in tests/statistics/sequences.
"""

import numpy as np
import pytest

from bigtensor.data.rows.block import Block
from bigtensor.features.cells import Cells
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.codes.coded_rows import CodedRows
from bigtensor.statistics.codes.folded_triples import FoldedTriples
from bigtensor.statistics.codes.sequence_codes import SequenceCodes
from bigtensor.statistics.codes.triple_counts import TripleCounts
from bigtensor.statistics.sequences.best_path import PathOperators
from bigtensor.statistics.sequences.decoded import DecodedPaths
from bigtensor.statistics.sequences.ends import SequenceEnds
from bigtensor.statistics.sequences.expectation import SequencePosteriorSums
from bigtensor.statistics.sequences.group_occupancy import GroupOccupancy
from bigtensor.statistics.sequences.path_probability import PathProbability
from bigtensor.statistics.sequences.sequence_ids import SequenceIds
from bigtensor.statistics.sequences.transfer import TransferOperators
from bigtensor.testing import STATISTIC_LAWS, StatisticCase
from tests.statistics.sequences.recursions import Chain

CHAIN = Chain.drawn(3, 5, np.random.default_rng(8))
OPERATORS = [TransferOperators(CHAIN.hidden(), 40), PathOperators(CHAIN.hidden(), 40)]
CELLS = Cells(np.array([[0.0], [0.4], [1.0]]), np.zeros(1), np.full(1, 4.0))
COUNTS = [
    TripleCounts(5),
    FoldedTriples(5, folds=3, stretch=7),
    SequenceCodes(300),
    CodedRows(TripleCounts(3), CELLS),
    SequenceIds(most=20),
]
STATISTICS = [*OPERATORS, *COUNTS]
OF_MESSAGES = {
    *(SequenceEnds, SequencePosteriorSums, GroupOccupancy, DecodedPaths, PathProbability),
}


def sequences(ids: np.ndarray | None) -> Block:
    """Return 300 rows."""
    codes = np.random.default_rng(9).integers(0, 5, (300, 1)).astype(np.int16)
    return Block(codes, {"symbol": slice(0, 1)}, 0, len(codes), sequence=ids)


BLOCKS = {
    "one sequence": sequences(None),
    "short sequences": sequences(np.repeat(np.arange(60), 5)),
    "long sequences": sequences(np.repeat(np.arange(3), [120, 1, 179])),
}


@pytest.mark.parametrize("law", STATISTIC_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("statistic", OPERATORS, ids=lambda one: type(one).__name__)
def test_law__of_operators_of_sequences(statistic, kind, law):
    def message_after(state):
        """Return what enters one more row that goes on with the last sequence."""
        if not len(state["start"]):
            return {}
        last_row, last_id = state["last_row"][-1], state["last_sequence"][-1]
        ids = None if BLOCKS[kind].sequence is None else np.array([last_id])
        codes = np.zeros((1, 1), np.int16)
        following = statistic.init()
        statistic.update(
            following,
            Block(codes, {"symbol": slice(0, 1)}, int(last_row) + 1, 1, sequence=ids),
            Workspace(),
        )
        found = statistic.finalize(statistic.combine(state, following))
        return {"entering": np.asarray(found.entering[-1]), "rows": np.asarray(last_row)}

    law(StatisticCase(statistic, BLOCKS[kind], canonical=message_after, unweighted=None))


@pytest.mark.parametrize("law", STATISTIC_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("statistic", COUNTS, ids=lambda one: type(one).__name__)
def test_law__of_counts_of_triples(statistic, kind, law):
    law(StatisticCase(statistic, BLOCKS[kind]))
