"""Sample of rows for a report, with their labels, probabilities and classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block, Values
from bigtensor.data.rows.samples import Samples
from bigtensor.statistics.base import RowFunction, Workspace
from bigtensor.statistics.in_memory import outputs_in_memory
from bigtensor.statistics.validity import usable_rows

_BLOCK_ROWS = 16_384


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of the rows by a variable of the data.

    Attributes
    ----------
    codes : (n,) int64 array
        Positions in ``names``; -1 for none.
    names : tuple of str
        Names of the groups.
    """

    codes: NDArray[np.int64]
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows of the data, spread evenly over them.

    Attributes
    ----------
    values : (n, p) array, or CSR array
        Features one view beside the other, as in ``model.views_.feature_names``. None is missing,
        unless the model sums over missing codes.
    weight : (n,) float64 array
        Sample weights; ones where the data have none.
    truth : Groups, optional
        Known classes of the rows.
    sample_id : Groups, optional
        Of the variable ``sample_id`` of the data.
    total : int
        Rows of the data.
    left_out : int
        Rows of the sample with missing values, which are not among the rows.
    samples : Samples, optional
        The data, of which a model may ask passes over all rows.
    index : (n,) int64 array, optional
        Number of every row in the data, from 0.
    names : (n,) array of str, optional
        Name of every row, such as a document. None for rows without names.
    state : (n,) int64 array, optional
        Stored label of every row, of a model that is no mixture; -1 for none.
    """

    values: Any
    weight: NDArray[np.float64]
    truth: Groups | None
    sample_id: Groups | None
    total: int
    left_out: int
    samples: Samples | None = field(default=None, kw_only=True)
    index: NDArray[np.int64] | None = field(default=None, kw_only=True)
    names: NDArray[np.str_] | None = field(default=None, kw_only=True)
    state: NDArray[np.int64] | None = field(default=None, kw_only=True)

    @property
    def has_weight(self) -> bool:
        """True if the data have sample weights."""
        return self.samples is not None and self.samples.has_weight

    def row_name(self, place: int) -> str:
        """Return the name of one of the rows, or its number in the data if it has no name."""
        if self.names is not None:
            return str(self.names[place])
        return f"{place if self.index is None else int(self.index[place]):,}"


@dataclass(frozen=True)
class Stretch:
    """Short part of one sample that holds nearly all rows of a label.

    Attributes
    ----------
    label : int
        Component, or population.
    sample : str
        Name of the sample.
    rows : int
        Number of rows with the label in all samples.
    share : float
        Share of these rows that lie in the stretch.
    start, stop : float
        Ends of the stretch, as parts of the rows of the sample in the order of acquisition.
    """

    label: int
    sample: str
    rows: int
    share: float
    start: float
    stop: float


@dataclass(frozen=True, eq=False)
class LabelledRows(SampledRows):
    """Sampled rows with the answers of a mixture.

    Attributes
    ----------
    label : (n,) int64 array
        Population of every row where the model has any, else component; -1 for none.
    probability : (n, m) float64 array
        Posterior probability of every one.
    label_weights : (m,) float64 array, optional
        Sum of the sample weights of all rows of the data with each label. None where only the
        sampled rows have labels.
    label_rows : (m,) float64 array, optional
        Number of all rows of the data with each label and a positive sample weight. None where only
        the sampled rows have labels.
    stretches : tuple of Stretch
        Labels whose rows lie in one stretch of one sample, if labels of all rows are counted.
    """

    label: NDArray[np.int64]
    probability: NDArray[np.float64]
    label_weights: NDArray[np.float64] | None = field(default=None, kw_only=True)
    label_rows: NDArray[np.float64] | None = field(default=None, kw_only=True)
    stretches: tuple[Stretch, ...] = field(default=(), kw_only=True)

    @property
    def certainty(self) -> NDArray[np.float64]:
        """Posterior probability of the most probable component, or population, of every row."""
        return np.asarray(self.probability.max(axis=1))

    @property
    def counts_all_labels(self) -> bool:
        """True if labels of all rows are counted, and not only labels of the sampled rows."""
        return self.label_weights is not None

    def shares(self, n_labels: int) -> NDArray[np.float64]:
        """Return the weighted share of every label among the rows with a label: ``(n_labels,)``."""
        totals = self.label_weights
        if totals is None:
            totals = summed_weights(self.label, self.weight, n_labels)
        return np.asarray(totals / max(float(totals.sum()), np.finfo(np.float64).tiny))

    def row_shares(self, n_labels: int) -> NDArray[np.float64]:
        """Return the share of the rows with each label, of all rows: ``(n_labels,)``.

        Sample weights do not count, but for rows of weight zero, which are no rows.
        """
        if self.label_rows is not None:
            return self.label_rows / self.total
        rows = summed_weights(self.label, (self.weight > 0).astype(np.float64), n_labels)
        return rows / len(self.label)


def summed_weights(
    label: NDArray[np.integer], weight: NDArray[np.float64] | None, n_labels: int
) -> NDArray[np.float64]:
    """Return the sum of the weights of the rows with each label.

    Parameters
    ----------
    label : (n,) int array
        Negative for none.
    weight : (n,) float64 array or None
        None stands for ones.
    n_labels : int
        Number of components or populations.

    Returns
    -------
    (n_labels,) float64 array
        Rows without a label count in no sum.
    """
    has_label = label >= 0
    weights = None if weight is None else weight[has_label]
    return np.bincount(label[has_label], weights, minlength=n_labels).astype(np.float64)


def read_windows(
    samples: Samples, windows: Sequence[slice], *, marginalised: bool = False
) -> tuple[Block, NDArray[np.bool_]]:
    """Read windows of rows, one after the other.

    Parameters
    ----------
    samples : Samples
        Opened data.
    windows : sequence of slice
        Disjoint and ascending, in global row indices.
    marginalised : bool, default False
        Rows with missing codes or NaN are valid.

    Returns
    -------
    rows : Block
        Copies of the rows, with their sample weights.
    valid : (rows,) bool array
        False for rows with missing values.
    """
    edges = [*samples.offsets, samples.rows]
    ranges = [
        (max(window.start, first), min(window.stop, last))
        for window in windows
        for first, last in pairwise(edges)
        if max(window.start, first) < min(window.stop, last)
    ]
    values, weights, work = [], [], Workspace()
    valid = np.ones(sum(stop - start for start, stop in ranges), np.bool_)
    done = 0
    for block in samples.blocks(ranges, _BLOCK_ROWS):
        shown = slice(done, done + block.rows)
        finite = usable_rows(block, work, marginalised=marginalised)
        if finite is not None:
            valid[shown] = finite[: block.rows]
        # a block is a window on a buffer that is used again
        values.append(block.values[: block.rows].copy())
        weights.append(block.row_weights().copy())
        done += block.rows
    dense = [part for part in values if isinstance(part, np.ndarray)]
    sparse = [part for part in values if isinstance(part, sp.csr_array)]
    joined: Values = sp.vstack(sparse, "csr") if sparse else np.concatenate(dense)
    weight = np.concatenate(weights) if samples.has_weight else None
    return Block(joined, samples.views.slices, 0, len(valid), weight), valid


class HasRowFunction(Protocol):
    """A fitted model that answers for rows in memory."""

    def row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        """Return the function that answers for every row."""


def row_answers(
    model: HasRowFunction, rows: Block, outputs: tuple[str, ...]
) -> dict[str, NDArray[Any]]:
    """Return several answers of a fitted model for rows in memory, in one evaluation.

    Parameters
    ----------
    model : fitted model
        Fitted model.
    rows : Block
        All valid.
    outputs : tuple of str
        Such as ``("label", "probability")``.
    """
    return outputs_in_memory(model.row_function(outputs), rows)


def kept_rows(rows: Block, kept: NDArray[np.bool_]) -> Block:
    """Return the rows where `kept` is true, as if they followed each other."""
    return replace(rows.keep(kept), index=None)
