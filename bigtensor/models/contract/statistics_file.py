"""Statistics of one pass as a file: saved, sent, and merged with statistics of other rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from bigtensor.data.addresses.store_address import Address
from bigtensor.engine.checkpoint import content_key
from bigtensor.errors import ModelFileError, StatisticsError, WeightWarning, warn
from bigtensor.statistics.base import State
from bigtensor.store import (
    Contents,
    Packed,
    description_errors,
    pack,
    read_group,
    unpack,
    write_group,
)

KIND = "Statistics"
"""What a file of statistics says it holds."""


@dataclass(frozen=True)
class Part:
    """Origin of a part of the sums.

    Attributes
    ----------
    data : str
        Description of the data.
    rows : int
        Rows in the sums.
    weight : float
        Their sample weights.
    rows_left_out : int
        Rows with missing values.
    version : str
        Of bigtensor.
    digest : str
        Of the sums: tells whether the same rows were added twice.
    store : str, default ""
        Description of the store that the rows were read from; empty for data in memory.
    stored_rows : int, default 0
        Rows of the store, also those that a condition left out.
    """

    data: str
    rows: int
    weight: float
    rows_left_out: int
    version: str
    digest: str
    store: str = ""
    stored_rows: int = 0


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums of one pass over some rows. They hold no row.

    Made by ``model.accumulate(data)``. Sums of other rows, made with the same model, are added by
    `merge`; ``model.solve`` takes the result.

    Attributes
    ----------
    model : str
        The class of the model.
    pass_name : str
        Such as ``"moments"`` or ``"posterior 1"``.
    preparation : str
        Digest of the bandwidths, landmarks, directions and grids that the sums were made with.
    mixture : str
        Digest of the mixture that gave the posterior probabilities; empty for moments.
    state : dict of str to ndarray
        The sums.
    parts : tuple of Part
        Where they came from.

    Examples
    --------
    >>> import bigtensor
    >>> data = bigtensor.simulate.kernel_mixture(5_000, 2, random_state=0)
    >>> model = bigtensor.KernelMixture(2, random_state=0).prepare(data)
    >>> sites = data.isel(sample=slice(2_000)), data.isel(sample=slice(2_000, None))
    >>> both = bigtensor.merge([model.accumulate(site) for site in sites])
    >>> both.pass_name, len(both.parts)
    ('moments', 2)
    """

    model: str
    pass_name: str
    preparation: str
    mixture: str
    state: State
    parts: tuple[Part, ...]

    @property
    def rows(self) -> int:
        """Rows in the sums."""
        return sum(part.rows for part in self.parts)

    @property
    def weight(self) -> float:
        """The sum of the sample weights of these rows."""
        return sum(part.weight for part in self.parts)

    @property
    def rows_left_out(self) -> int:
        """Rows that are not in the sums because of missing values."""
        return sum(part.rows_left_out for part in self.parts)

    @property
    def data(self) -> str:
        """Description of the data."""
        more = len(self.parts) - 1
        return self.parts[0].data + (f" [and {more} more]" if more else "")

    def __repr__(self) -> str:
        return (
            f"<Statistics of {self.rows:,} rows in {len(self.parts)} part(s) for a {self.model}: "
            f"{self.pass_name}, preparation {self.preparation[:8]}>"
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Address:
        """Save as a Zarr group without pickle; `bigtensor.load` reads it back.

        Parameters
        ----------
        path : path or URL
            It appears under this name when it is whole.
        overwrite : bool, default False
            Replace a store of this name.

        Returns
        -------
        Path or str
            A URL stays a string.

        Raises
        ------
        OutputError
            When the target exists, or cannot be written.
        """
        return write_group(path, self.to_contents(), overwrite=overwrite)

    def require_model(self, model: str) -> None:
        """Raise a StatisticsError unless the sums are for a model of this class.

        Parameters
        ----------
        model : str
            Name of the class.
        """
        if self.model != model:
            raise StatisticsError(
                f"the statistics of {self.data} are for a {self.model} and not for a {model}; "
                "solve them with the prepared model that they were accumulated with"
            )

    def to_contents(self) -> Contents:
        """Return the contents of the saved statistics: JSON and named arrays."""
        packed = pack(self, _CLASSES)
        return Contents(KIND, {"state": packed.tree}, packed.arrays)

    @classmethod
    def from_contents(cls, contents: Contents) -> Statistics:
        """Return the statistics of these contents; see `to_contents`."""
        with description_errors(contents):
            packed = Packed(contents.attrs["state"], contents.arrays)
            statistics: Statistics = unpack(packed, _CLASSES)
        return statistics


_CLASSES = (Statistics, Part)


def read_statistics(source: Statistics | str | os.PathLike[str]) -> Statistics:
    """Return statistics, read from their file where a path is given.

    Raises
    ------
    StatisticsError
        When the source is neither.
    ModelFileError
        When the file is damaged or holds something else.
    """
    if isinstance(source, Statistics):
        return source
    if not isinstance(source, str | os.PathLike):
        raise StatisticsError(
            f"expected Statistics or their path, and got a {type(source).__name__}; "
            "accumulate(data) makes Statistics, and bigtensor.merge([...]) adds those of parts"
        )
    contents = read_group(source, statistics=True)
    if contents.kind != KIND:
        raise ModelFileError(
            f"{source} holds a {contents.kind!r} and no statistics; 'accumulate' makes statistics "
            "from data"
        )
    return Statistics.from_contents(contents)


def merge(statistics: Iterable[Statistics | str | os.PathLike[str]]) -> Statistics:
    """Add statistics of different rows, as one pass over all these rows would sum them.

    Parameters
    ----------
    statistics : iterable of Statistics or paths
        At least one, of the same pass, made with the same preparation and the same mixture.

    Returns
    -------
    Statistics
        Their sums, with the parts of all of them.

    Raises
    ------
    StatisticsError
        When they do not belong together, or hold the same rows twice.
    ModelFileError
        When a file is damaged or holds something else.

    Warns
    -----
    WeightWarning
        When parts of one store have more rows together than the store.
    """
    is_one = isinstance(statistics, Statistics | str | os.PathLike)
    if is_one or not isinstance(statistics, Iterable):
        raise StatisticsError("merge takes a list of Statistics or paths; write merge([a, b])")
    read = [read_statistics(entry) for entry in statistics]
    if not read:
        raise StatisticsError("there are no statistics to merge; give at least one")
    for left, right in pairwise(read):
        require_together(left, right)
    parts = [part for entry in read for part in entry.parts]
    _refuse_repeated(parts)
    _warn_of_overlaps(parts)
    return replace(read[0], state=_added([entry.state for entry in read]), parts=tuple(parts))


def require_together(left: Statistics, right: Statistics) -> None:
    """Raise a StatisticsError unless the sums may be added."""
    pair = f"the statistics of {left.data} and of {right.data}"
    if left.model != right.model:
        raise StatisticsError(
            f"{pair} are for different models, {left.model} and {right.model}; merge those of one"
        )
    if left.preparation != right.preparation:
        raise StatisticsError(
            f"{pair} were made with different preparations ({left.preparation[:8]} and "
            f"{right.preparation[:8]}); prepare once, and accumulate everywhere with a copy of "
            "that one prepared model"
        )
    if left.pass_name != right.pass_name:
        raise StatisticsError(
            f"{pair} are of different passes, {left.pass_name} and {right.pass_name}; merge those "
            "of one pass, solve, and accumulate again with the solved model"
        )
    if left.mixture != right.mixture:
        raise StatisticsError(
            f"{pair} were made with different mixtures of one preparation ({left.mixture[:8]} and "
            f"{right.mixture[:8]}); solve once a round, and accumulate everywhere with a copy of "
            "that one solved model"
        )


def _refuse_repeated(parts: Sequence[Part]) -> None:
    """Raise a StatisticsError when the same sums would be added twice."""
    earlier: dict[str, Part] = {}
    for part in parts:
        if part.digest in earlier:
            raise StatisticsError(
                f"the statistics of {part.data} are given twice, also as those of "
                f"{earlier[part.digest].data}; their {part.rows:,} rows would count twice: leave "
                "one out"
            )
        earlier[part.digest] = part


def _warn_of_overlaps(parts: Sequence[Part]) -> None:
    """Warn where selections from one store have more rows together than it holds."""
    selected: dict[tuple[str, int], int] = {}
    for part in parts:
        place = (part.store, part.stored_rows)
        selected[place] = selected.get(place, 0) + part.rows + part.rows_left_out
    for (store, stored_rows), rows in selected.items():
        if store and stored_rows < rows:
            warn(
                f"the statistics have {rows:,} rows of {store}: some count more than once, unless "
                "these are stores of one name in different places. Leave one of them out, or "
                "accumulate conditions that no row meets twice",
                WeightWarning,
            )


def joined(earlier: Statistics, latest: Statistics) -> Statistics:
    """Add the sums of a batch, keeping one description for all batches.

    Batches may repeat: rows that are added twice count twice.
    """
    require_together(earlier, latest)
    state = _added([earlier.state, latest.state])
    total = Part(
        data=f"batches, the latest {latest.data}",
        rows=earlier.rows + latest.rows,
        weight=earlier.weight + latest.weight,
        rows_left_out=earlier.rows_left_out + latest.rows_left_out,
        version=latest.parts[-1].version,
        digest=content_key(state),
    )
    return replace(earlier, state=state, parts=(total,))


def _added(states: Sequence[State]) -> State:
    """Return the sum of states that are plain sums."""
    return {
        # NumPy makes a scalar of the sum of two arrays without dimensions
        name: np.asarray(sum((state[name] for state in states[1:]), states[0][name]))
        for name in states[0]
    }
