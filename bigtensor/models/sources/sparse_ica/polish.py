"""Polish of a dictionary in the pilot sample, and evidence for columns and further sources."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from bigtensor.array_types import IndexArray
from bigtensor.data.rows.block import Block
from bigtensor.models.contract.script import Step
from bigtensor.models.sources.sparse_ica.dictionary import SparseDictionary
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.sources.sparse_code_sums import SparseCodeSums, SparseCodeSumsResult
from bigtensor.statistics.sources.sparse_codes import BLOCK_ROWS
from bigtensor.statistics.sub_blocks import sub_blocks

PILOT_POLISHES = 20
"""Most times that the rows of the sample are encoded, with a new dictionary after each."""

STILL = 0.005
"""Mean sine of the turn of the columns that is the last in the sample."""

SHORT = 0.5
"""Length of a source, over the median length, below which it may be a mixture of others."""

LEAST_RISE = 0.4
"""Rise of the squared residuals of rows without a source that they have, over the squared
threshold, below which the other sources explain these rows as well."""

MOST_CANDIDATES = 5
"""Most short columns without which the rows of the sample are encoded, the shortest first."""

MOST_LEFT = 0.1
MOST_LEFT_BEYOND_NOISE = 0.02
"""Share of the variance that is neither sources nor noise, above which there are further sources:
beside noise, and where it is more than twice the noise."""


def polished(
    dictionary: SparseDictionary, rows: Block, dtype: str
) -> Generator[Step, None, tuple[SparseDictionary, IndexArray]]:
    """Return the dictionary that fits the codes of the sample, without redundant columns.

    Parameters
    ----------
    dictionary : SparseDictionary
        Columns near the sources.
    rows : Block
        The sample.
    dtype : str
        Of products and codes.

    Returns
    -------
    dictionary : SparseDictionary
        Columns after the updates.
    redundant : (n,) integer array
        Positions of the columns that are left out, among the columns near the sources.
    """
    positions, redundant = np.arange(dictionary.n_components), np.empty(0, np.intp)
    dictionary = yield from _settled(dictionary, rows, dtype)
    while (column := (yield from _redundant(dictionary, rows, dtype))) is not None:
        redundant = np.append(redundant, positions[column])
        positions = np.delete(positions, column)
        dictionary = yield from _settled(dictionary.without(column), rows, dtype)
    return dictionary, redundant


def _settled(
    dictionary: SparseDictionary, rows: Block, dtype: str
) -> Generator[Step, None, SparseDictionary]:
    """Return the dictionary after updates from the codes of the sample."""
    for polish in range(PILOT_POLISHES):
        yield Step(f"encoding the sample: {polish + 1} of at most {PILOT_POLISHES} times")
        updated = dictionary.after(_sums(dictionary, rows, dtype))
        turn, dictionary = dictionary.turn_to(updated), updated
        if turn <= STILL:
            break
    return dictionary


def _sums(dictionary: SparseDictionary, rows: Block, dtype: str) -> SparseCodeSumsResult:
    """Return the sums of the codes of the sample."""
    return sum_in_memory(SparseCodeSums(dictionary.coder(dtype)), rows)


def _redundant(
    dictionary: SparseDictionary, rows: Block, dtype: str
) -> Generator[Step, None, int | None]:
    """Return the position of a short column whose rows other columns explain as well, or None.

    Sampling errors of the fourth cumulant make further terms along mixtures of sources with heavy
    tails, and rows with two of these sources get the code of the mixture. More sources than axes
    explain every row, so that residuals tell nothing of them.
    """
    k = dictionary.n_components
    if not 1 < k <= dictionary.rank:
        return None
    sums = _sums(dictionary, rows, dtype)
    lengths = np.sqrt(sums.variances)
    rises = np.full(k, np.inf)
    short = [j for j in np.argsort(lengths).tolist() if lengths[j] < SHORT * np.median(lengths)]
    candidates = short[:MOST_CANDIDATES]
    for number, j in enumerate(candidates, 1):
        yield Step("encoding the sample without a short column", number, len(candidates))
        rise = _sums(dictionary.without(j), rows, dtype).residual - sums.residual
        rises[j] = rise / sums.active[j] if sums.active[j] > 0 else 0.0
    least = int(rises.argmin())
    return least if rises[least] <= LEAST_RISE * dictionary.threshold**2 else None


def lacks_sources(dictionary: SparseDictionary, rows: Block, dtype: str) -> bool:
    """Return True if rows have further sources, which turn columns that are made to fit codes.

    Most rows have noise alone in their residuals, so that the median tells its variance. Further
    sources make the residuals of some rows large. Right sources of 300 to 5,000 rows of 3 to 20
    features left .05 of the variance at most, and .1 with noise and each of four active in a fifth
    of the rows.

    Parameters
    ----------
    dictionary : SparseDictionary
        Columns that fit the codes of the sample.
    rows : Block
        The sample.
    dtype : str
        Of products and codes.
    """
    if dictionary.n_components >= dictionary.rank:
        return False
    coder, work = dictionary.coder(dtype), Workspace()
    squares, counts = np.empty(rows.rows), np.empty(rows.rows)
    for window, block in sub_blocks(rows, BLOCK_ROWS):
        values, codes = coder.encode(block, work)
        values -= codes @ coder.columns.T
        squares[window] = np.square(values).sum(axis=1, dtype=np.float64)
        counts[window] = np.count_nonzero(codes, axis=1)
    weights = rows.row_weights()
    active = float(np.average(counts, weights=weights))
    # median of a chi squared variable over its mean
    ratio = (1 - 2 / (9 * max(dictionary.rank - active, 1.0))) ** 3
    noise = float(np.quantile(squares, 0.5, weights=weights, method="inverted_cdf")) / ratio
    left = float(np.average(squares, weights=weights)) - noise
    most = MOST_LEFT if left <= 2 * noise else MOST_LEFT_BEYOND_NOISE
    return left > most * dictionary.varying
