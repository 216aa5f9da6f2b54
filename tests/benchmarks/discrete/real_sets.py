"""Real rows of categories with classes: splice junctions, and scikit-learn's bundled sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from sklearn import datasets

Codes = NDArray[np.int32]

GREY_LEVELS = 4
LETTERS = 4
"""Of the splice data; further ones stand for several letters."""


@dataclass(frozen=True)
class RealSet:
    """Codes of rows, -1 where missing, with the number of categories of every view and classes."""

    name: str
    codes: Codes
    sizes: tuple[int, ...]
    classes: NDArray[np.int64]

    @property
    def class_count(self) -> int:
        """Number of classes."""
        return len(np.unique(self.classes))

    def data(self, rows: NDArray[np.intp]) -> xr.DataArray:
        """Return some rows as the library reads them."""
        names = [f"view{view + 1}" for view in range(len(self.sizes))]
        return xr.DataArray(
            self.codes[rows],
            dims=("sample", "feature"),
            coords={"feature": names},
            attrs={
                "categories": {
                    name: tuple(map(str, range(size)))
                    for name, size in zip(names, self.sizes, strict=True)
                }
            },
        )

    def floats(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return some rows with NaN for missing entries."""
        codes = self.codes[rows].astype(np.float64)
        codes[codes < 0] = np.nan
        return codes

    def split(self, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return seven tenths of the rows to learn from, and the others.

        A category that no row of the first has stays a category: both libraries are told.
        """
        order = np.random.default_rng(seed).permutation(len(self.codes))
        cut = int(0.7 * len(order))
        return order[:cut], order[cut:]

    def with_missing(self, share: float, seed: int) -> RealSet:
        """Return the set with some entries missing at random."""
        missing = np.random.default_rng(seed).random(self.codes.shape) < share
        return replace(self, codes=np.where(missing, -1, self.codes).astype(np.int32))


def splice(folder: Path) -> RealSet:
    """Read the splice junctions, without the sequences that hold an ambiguous letter."""
    stored = np.load(folder / "splice.npz")
    certain = (stored["X"] < LETTERS).all(axis=1)
    codes = stored["X"][certain].astype(np.int32)
    classes = stored["labels"][certain].astype(np.int64)
    return RealSet("splice", codes, (LETTERS,) * codes.shape[1], classes)


def digits() -> RealSet:
    """Return images of 8 x 8 pixels, each in four grey levels (0-3, 4-7, 8-11, 12-16)."""
    values, classes = datasets.load_digits(return_X_y=True)
    codes = np.minimum(values // 4, GREY_LEVELS - 1).astype(np.int32)
    return seen("digits", codes, classes)


def thirds(name: str, load: Callable[..., tuple[NDArray, NDArray]]) -> RealSet:
    """Return measurements as the third of all rows that they lie in, feature by feature."""
    values, classes = load(return_X_y=True)
    edges = np.quantile(values, [1 / 3, 2 / 3], axis=0)
    return seen(name, (values[:, None] > edges).sum(axis=1).astype(np.int32), classes)


def seen(name: str, codes: Codes, classes: NDArray) -> RealSet:
    """Return a set whose views have the categories up to the largest, and at least two."""
    varied = codes.max(axis=0) > codes.min(axis=0)
    codes = np.ascontiguousarray(codes[:, varied])
    sizes = tuple(int(largest) + 1 for largest in codes.max(axis=0))
    return RealSet(name, codes, sizes, np.asarray(classes, np.int64))


def bundled() -> list[RealSet]:
    """Return the sets of scikit-learn, smallest first."""
    return [
        thirds("iris", datasets.load_iris),
        thirds("wine", datasets.load_wine),
        thirds("breast cancer", datasets.load_breast_cancer),
        digits(),
    ]
