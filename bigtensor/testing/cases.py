"""Cases: a statistic, a row function or a model together with data that the laws try it on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.opening import open_samples
from bigtensor.data.rows.block import Block
from bigtensor.data.rows.data_like import DataLike
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.views import ViewsLike
from bigtensor.models.contract.estimator import Estimator
from bigtensor.statistics.base import RowFunction, State, Statistic

ANSWERS = ("predict", "predict_proba", "score_samples", "transform")
"""Methods that answer for every row, of models that have them."""


@dataclass(frozen=True, eq=False)
class StatisticCase:
    """A statistic and rows.

    Attributes
    ----------
    statistic : Statistic
        Statistic under test.
    rows : Block, or whatever `bigtensor.open_samples` takes
        A few hundred rows. Weights, groups, sequences and missing values are part of them.
    views : mapping, optional
        As for `bigtensor.open_samples`.
    rtol : float, default 1e-10
        Tolerance of states of other blocks, relative to the largest entry of an array.
    borders : sequence of int, optional
        Cut of the rows into blocks, ascending from 0 to the number of rows. By default blocks
        of uneven size, some without a row.
    unweighted : tuple of str or None, default ()
        Ends of the names of arrays that do not count weights, such as ``("rows",)``. In all other
        arrays a weight of two has to count a row twice. None leaves this law out, for a statistic
        that keeps rows or ignores weights. Statistics of windows are not held to it.
    in_checkpoints : bool, default True
        False for a statistic that holds a callable, which no checkpoint can name.
    canonical : callable, optional
        Brings a state into a form that does not depend on the order of its rows, for a statistic
        that keeps rows.
    """

    statistic: Statistic[Any]
    rows: Any
    views: ViewsLike | None = None
    rtol: float = 1e-10
    borders: Iterable[int] | None = None
    unweighted: tuple[str, ...] | None = ()
    in_checkpoints: bool = True
    canonical: Callable[[State], State] | None = None

    @cached_property
    def block(self) -> Block:
        """All rows as one block."""
        return whole_block(self.rows, self.views)

    @property
    def cut(self) -> list[int]:
        """Borders of the blocks."""
        return uneven_cut(self.block.rows) if self.borders is None else [*self.borders]

    def ordered(self, state: State) -> State:
        """Return a state in its canonical form."""
        return state if self.canonical is None else self.canonical(state)

    def __str__(self) -> str:
        return f"{type(self.statistic).__name__} on {self.block.rows} rows"


@dataclass(frozen=True, eq=False)
class RowFunctionCase:
    """A row function and rows.

    Attributes
    ----------
    function : RowFunction
        Row function under test.
    rows, views, rtol
        As for `StatisticCase`; `rtol` holds for outputs in float64, and float32 is compared with
        at least 1e-5.
    """

    function: RowFunction
    rows: Any
    views: ViewsLike | None = None
    rtol: float = 1e-10

    @cached_property
    def block(self) -> Block:
        """All rows as one block."""
        return whole_block(self.rows, self.views)

    def __str__(self) -> str:
        return f"{type(self.function).__name__} on {self.block.rows} rows"


@dataclass(frozen=True, eq=False)
class ModelCase:
    """A model and small data of one kind.

    Attributes
    ----------
    make : callable
        Returns an unfitted model with a fixed `random_state`.
    data : DataArray, array or CSR array
        Some hundred rows, ``(rows, features)``, without missing values: measured values, codes with
        the attribute ``categories``, or counts. See `small_data`.
    answers : tuple of str
        Methods that answer for every row; by default those of ``predict``, ``predict_proba``,
        ``score_samples`` and ``transform`` that the model has.
    rtol : float, default 1e-8
        Tolerance of a fit of the same rows in other parts, relative to the largest number. Answers
        in float32 are compared with at least 1e-5.
    rounds : int, default 2
        Rounds that a fit in rounds is followed for.
    in_order : bool, default False
        The answer for a row depends on the rows before it, so that rows can neither be permuted nor
        cut into several data sets.
    any_unit : bool, default True
        False for a model of values with one unit, such as angles in radians.
    any_origin : bool, default True
        False for a model of values with a natural zero, such as waiting times or concentrations.
    own_units : bool, default True
        False for a model that compares features with each other, such as a spherical covariance.
    """

    make: Callable[[], Estimator]
    data: Any
    answers: tuple[str, ...] = ()
    rtol: float = 1e-8
    rounds: int = 2
    in_order: bool = False
    any_unit: bool = True
    any_origin: bool = True
    own_units: bool = True

    def variant(self, parameters: Mapping[str, Any], **changes: Any) -> ModelCase:
        """Return the case of another algorithm of the model.

        Parameters
        ----------
        parameters : mapping of str to object
            Parameters in place of those that `make` sets, such as ``{"covariance_type": "tied"}``.
        **changes
            Attributes in place of those of this case, such as ``data`` or ``any_unit``.
        """
        make = self.make
        return replace(self, make=lambda: make().set_params(**parameters), **changes)

    @cached_property
    def fitted(self) -> Estimator:
        """The model after a fit of all rows. Laws leave it as it is."""
        return fitted(self.make(), self.data)

    @cached_property
    def fitted_answers(self) -> dict[str, Any]:
        """Answers of `fitted` for all rows."""
        return self.answers_of(self.fitted, self.data)

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods that answer for every row."""
        return self.answers or tuple(name for name in ANSWERS if hasattr(self.make(), name))

    @property
    def samples(self) -> Samples:
        """The data as a fit opens them."""
        return self.make().open(self.data).samples

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.data.shape[0])

    @property
    def is_labelled(self) -> bool:
        """True if features are found by name."""
        return hasattr(self.data, "dims")

    def answers_of(self, model: Estimator, data: DataLike) -> dict[str, Any]:
        """Return the answers of a model for every row, as NumPy arrays."""
        return {name: np.asarray(getattr(model, name)(data)) for name in self.methods}

    def tolerance(self, answer: NDArray[Any]) -> float:
        """Return the tolerance of an answer by its type."""
        return max(self.rtol, 1e-5) if answer.dtype == np.float32 else self.rtol

    def __str__(self) -> str:
        # a model that breaks a law may be unable to open the data
        return f"{type(self.make()).__name__} on {self.rows} rows of {self.data.dtype}"


def fitted(model: Estimator, data: DataLike, **options: Any) -> Estimator:
    """Return a model after a fit."""
    return model.fit(data, **options)


def whole_block(rows: Block | DataLike, views: ViewsLike | None) -> Block:
    """Return all rows as one block.

    Parameters
    ----------
    rows : Block, or one data set that `open_samples` takes
        Rows of the case.
    views : mapping, optional
        Views as for `bigtensor.open_samples`. Not read for a Block.
    """
    if isinstance(rows, Block):
        return rows
    samples = rows if isinstance(rows, Samples) else open_samples(rows, views)
    (block,) = samples.blocks([(0, samples.rows)], samples.rows)
    return block


def cut_blocks(block: Block, borders: Iterable[int], halo: int = 0) -> list[Block]:
    """Return consecutive blocks between ascending borders."""
    return [block.window(first, last, halo) for first, last in pairwise(borders)]


def uneven_cut(rows: int) -> list[int]:
    """Return borders of blocks of uneven size, of one row and of none."""
    inner = {rows // 7, min(rows // 7 + 1, rows), rows // 3, 5 * rows // 6}
    return [0, 0, *sorted(inner), rows, rows]
