"""Content of channels, from rows that are spread over the files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.importers.source import ImportSource

_MOST_ROWS = 2**17
"""Rows of the sample, of all files together. A standard error of a 99 % quantile is then below .1
% of the rows."""

_MOST_NBYTES = 32 * 2**20
"""Bytes of the sample: of wide tables it has fewer rows."""

_LEAST_ROWS = 256
"""Rows that are read of every file, of however many files."""

_JUDGED_ROWS = 100
"""Fewest rows whose content says something: a marker of few cells may be constant by chance."""

_RISES = 10
"""Fewest values of a channel that only rises. Ten in ascending order are no chance (1 / 10!)."""


@dataclass(frozen=True)
class Content:
    """Content of a channel.

    Parameters
    ----------
    constant : bool
        True if all values are equal.
    rising : bool
        True if values never fall within a file, and rise often.
    upper : float
        The 99 % quantile.
    """

    constant: bool
    rising: bool
    upper: float


def read_content(
    sources: Sequence[ImportSource], names: Sequence[Sequence[str]]
) -> dict[str, Content]:
    """Read the content of channels.

    Parameters
    ----------
    sources : sequence of ImportSource
        The files.
    names : sequence of sequence of str
        Names of the columns of each file. Columns of one name are one channel.

    Returns
    -------
    dict of str to Content
        Channels of which at least 100 finite values were read.
    """
    widest = max(len(source.features) for source in sources)
    rows = min(_MOST_ROWS, _MOST_NBYTES // (8 * widest)) // len(sources)
    values: dict[str, list[FloatArray]] = {}
    for source, columns in zip(sources, names, strict=True):
        sample = _sample(source, max(rows, _LEAST_ROWS))
        for name, column in zip(columns, sample.T, strict=True):
            values.setdefault(name, []).append(column[np.isfinite(column)])
    return dict(_judged(values))


def _sample(source: ImportSource, rows: int) -> FloatArray:
    """Return rows of one file."""
    blocks = [block.values for block in source.spread_blocks(rows)]
    if not blocks:
        return np.empty((0, len(source.features)))
    return np.concatenate(blocks).astype(np.float64, copy=False)


def _judged(values: Mapping[str, list[FloatArray]]) -> Iterator[tuple[str, Content]]:
    """Yield the content of all channels with enough values."""
    for name, columns in values.items():
        together = np.concatenate(columns)
        if len(together) >= _JUDGED_ROWS:
            long = [column for column in columns if len(column) >= _JUDGED_ROWS]
            yield (
                name,
                Content(
                    constant=bool(together.min() == together.max()),
                    rising=bool(long) and all(map(_rises_only, long)),
                    # a value of the data: between two huge ones a sum could overflow
                    upper=float(np.quantile(together, 0.99, method="higher")),
                ),
            )


def _rises_only(column: NDArray[np.floating]) -> bool:
    """Return True if values in the order of the rows never fall, and rise often."""
    # compared and not subtracted, because a difference of huge values overflows
    before, after = column[:-1], column[1:]
    return bool(np.all(after >= before) and np.count_nonzero(after > before) + 1 >= _RISES)
