"""Rows generated in blocks of a fixed size, gathered in memory or written to a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import DTypeLike, NDArray

from bigtensor.data.rows.code_maps import Categories
from bigtensor.data.stores.layout import FEATURE_DIM, SAMPLE_DIM, SampleStoreWriter
from bigtensor.data.stores.outputs import check_room, check_target, write_errors
from bigtensor.data.values.categories import ATTRIBUTE
from bigtensor.errors import ParameterError, Setting
from bigtensor.purpose_seeds import purpose_sequence

BLOCK_ROWS = 65_536
"""Rows generated at once. Part of what a seed means: another value would give other rows."""

RowBlock = Mapping[str, NDArray[Any]]
"""``X`` and the variables along the samples of consecutive rows; overwritten by the next block."""

Progress = Callable[[int, int], None]
"""Called after every block with the number of rows done and the number of all rows."""


_Writer = TypeVar("_Writer", bound=Callable[..., None])

_OF_WRITERS = ("path", "overwrite", "progress")
"""Parameters that a writer has beside those of its simulator."""

_WRITER_SECTIONS = """

Parameters
----------
path : str or path-like
    The store to make. Its folder must exist.
{shared}
    As for :func:`{simulator}`.
overwrite : bool, default False
    Replace an existing store once the new one is whole.
progress : callable (done, rows) -> None, optional
    Called after every 65,536 rows.

Raises
------
ParameterError
    If a parameter is out of range.
OutputError
    If the store exists or cannot be written.
"""


def documented_writer(writer: _Writer) -> _Writer:
    """Add the sections that all writers share to the docstring of a writer.

    Parameters
    ----------
    writer : callable
        Function ``write_NAME`` with the parameters of the simulator ``NAME`` and those of writers.
    """
    shared = [name for name in signature(writer).parameters if name not in _OF_WRITERS]
    sections = _WRITER_SECTIONS.format(
        shared=", ".join(shared), simulator=writer.__name__.removeprefix("write_")
    )
    writer.__doc__ = f"{writer.__doc__}{sections}"
    return writer


def check_integer(name: str, value: object, least: int, most: int | None = None) -> int:
    """Return an integer parameter, or raise a ParameterError."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ParameterError(
            Setting(name) + f" must be an integer of at least {least}, not {value!r}"
        )
    if most is not None and value > most:
        raise ParameterError(Setting(name) + f" must be at most {most}, not {value}")
    return int(value)


def check_share(name: str, value: float) -> None:
    """Raise a ParameterError unless a parameter is a probability less than one."""
    if not 0 <= value < 1:
        raise ParameterError(Setting(name) + f" must be from 0 to less than 1, not {value!r}")


def check_positive(name: str, value: float) -> None:
    """Raise a ParameterError unless a parameter is a finite positive number."""
    if not (np.isfinite(value) and value > 0):
        raise ParameterError(Setting(name) + f" must be a positive number, not {value!r}")


def block_bounds(rows: int) -> Iterator[tuple[int, int]]:
    """Yield the first row and the row after the last one of every block."""
    for start in range(0, rows, BLOCK_ROWS):
        yield start, min(start + BLOCK_ROWS, rows)


def block_generator(seed: int, purpose: int, block: int = 0) -> np.random.Generator:
    """Return the generator of one purpose in one block of rows, independent of all others."""
    return np.random.default_rng(purpose_sequence(seed, (purpose, block)))


def code_names(kind: str, n_codes: int) -> list[str]:
    """Return the names of consecutive codes: ``component 0``, ``component 1``, ..."""
    return [f"{kind} {code}" for code in range(n_codes)]


def true_parameters(
    simulator: str,
    variables: Mapping[str, tuple[str | tuple[str, ...], NDArray[Any]]],
    features: Sequence[str],
    *,
    seed: int,
    component_dim: str = "component",
    coords: Mapping[str, NDArray[Any]] | None = None,
    attrs: Mapping[str, object] | None = None,
) -> xr.Dataset:
    """Return the truth of simulated data, which rows are added to.

    Parameters
    ----------
    simulator : str
        Name of the simulator, an attribute of the data.
    variables : mapping of str to (dims, array)
        True parameters by name.
    features : sequence of str
        Names of the features.
    seed : int
        Seed of the rows, the attribute ``random_state``.
    component_dim : str
        Dimension of the components, which are numbered.
    coords : mapping of str to array, optional
        Further coordinates.
    attrs : mapping, optional
        Further attributes: parameters of the simulator.
    """
    n_components = xr.Dataset(variables).sizes[component_dim]
    return xr.Dataset(
        variables,
        coords={
            component_dim: np.arange(n_components),
            **(coords or {}),
            FEATURE_DIM: [*features],
        },
        attrs={"simulator": simulator, **(attrs or {}), "random_state": seed},
    )


@dataclass(frozen=True, eq=False)
class Simulation:
    """Truth of simulated data, and the rows to come, which can be drawn once.

    Attributes
    ----------
    truth : Dataset
        Of `true_parameters`.
    blocks : iterable of mappings
        Consecutive blocks of rows.
    rows : int
        Number of rows of all blocks.
    dtype : dtype
        Of ``X``.
    codes : mapping of str to list of str or None
        Categories of int32 variables along the samples; None of a variable of numbers.
    categories : mapping, optional
        Categories of the features, if ``X`` holds codes.
    """

    truth: xr.Dataset
    blocks: Iterable[RowBlock]
    rows: int
    dtype: DTypeLike
    codes: Mapping[str, list[str] | None] = field(default_factory=dict)
    categories: Categories | None = None

    def dataset(self) -> xr.Dataset:
        """Return the truth together with all rows, in memory."""
        X = np.empty((self.rows, self.truth.sizes[FEATURE_DIM]), self.dtype)
        variables = {name: np.empty(self.rows, np.int32) for name in self.codes}
        start = 0
        for block in self.blocks:
            stop = start + len(block["X"])
            X[start:stop] = block["X"]
            for name, values in variables.items():
                values[start:stop] = block[name]
            start = stop
        attrs = {} if self.categories is None else {ATTRIBUTE: dict(self.categories)}
        rowwise: dict[str, Any] = {"X": ((SAMPLE_DIM, FEATURE_DIM), X, attrs)}
        for name, values in variables.items():
            rowwise[name] = (SAMPLE_DIM, values, self._attributes(name))
        return self.truth.assign(rowwise)

    def write(
        self, path: str | os.PathLike[str], *, overwrite: bool, progress: Progress | None
    ) -> None:
        """Write the data of `dataset` to a Zarr store that appears when it is whole."""
        check_target(path, overwrite=overwrite)
        # The noise of X does not compress. All else does, and is left out.
        n_values = self.rows * self.truth.sizes[FEATURE_DIM]
        check_room(path, n_values * np.dtype(self.dtype).itemsize)
        with (
            write_errors(path),
            SampleStoreWriter(
                path,
                [str(name) for name in self.truth[FEATURE_DIM].values],
                dtype=self.dtype,
                rows=self.rows,
                row_variables={name: ("int32", self._attributes(name)) for name in self.codes},
                attrs={str(name): value for name, value in self.truth.attrs.items()},
                overwrite=overwrite,
            ) as store,
        ):
            store.add(self.truth.drop_vars(FEATURE_DIM))
            done = 0
            for block in self.blocks:
                store.append(block["X"], **{name: block[name] for name in self.codes})
                done += len(block["X"])
                if progress is not None:
                    progress(done, self.rows)
            if self.categories is not None:
                store.set_feature_categories(self.categories)

    def _attributes(self, name: str) -> dict[str, list[str]]:
        """Return the attributes of a variable along the samples."""
        categories = self.codes[name]
        return {} if categories is None else {"categories": categories}
