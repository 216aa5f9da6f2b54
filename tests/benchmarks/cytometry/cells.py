"""The gated cells: two experiments as Zarr stores, and the samples of GvHD in memory."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.importers.files import import_files
from bigtensor.data.importers.transforms import is_untransformed
from bigtensor.data.stores.layout import FEATURE_DIM, SAMPLE_DIM, SampleStoreWriter
from bigtensor.errors import FileFormatWarning, TransformWarning

Labels = NDArray[Any]


@dataclass(frozen=True)
class Cells:
    """A store of cells, the features to cluster on, and the gate of every cell (-1 for none)."""

    store: Path
    features: list[str]
    gates: Labels
    names: list[str]

    @classmethod
    def of_store(cls, store: Path) -> Cells:
        """Describe an imported store."""
        with xr.open_zarr(store) as data:
            features = [str(name) for name in data["feature"].values]
            gates, names = data["label"].to_numpy(), list(data["label"].attrs["categories"])
        fluorescent = [name for name in features if not is_untransformed(name)]
        return cls(store, fluorescent, gates, names)

    @property
    def views(self) -> dict[str, list[str]]:
        """Every feature to cluster on as a view of its own."""
        return {name: [name] for name in self.features}

    def values(self) -> NDArray[Any]:
        """Return the features to cluster on."""
        with xr.open_zarr(self.store) as data:
            return np.ascontiguousarray(data["X"].sel(feature=self.features).to_numpy())

    def gated_values(self) -> xr.DataArray:
        """Return the features to cluster on, of the cells inside a gate, with their names."""
        values = self.values()[self.gates >= 0]
        return xr.DataArray(values, {FEATURE_DIM: self.features}, (SAMPLE_DIM, FEATURE_DIM))

    @property
    def gated_classes(self) -> Labels:
        """The gate of every cell inside a gate."""
        return self.gates[self.gates >= 0]

    def gated_files(self) -> Labels:
        """Return the number of the file of every cell inside a gate."""
        with xr.open_zarr(self.store) as data:
            return np.asarray(data["sample_id"].to_numpy()[self.gates >= 0])


@dataclass(frozen=True)
class Sample:
    """The labelled cells of one patient's sample: (cells, markers) values, and their classes."""

    number: int
    values: NDArray[Any]
    classes: Labels

    @property
    def n_classes(self) -> int:
        """How many classes have cells."""
        return len(np.unique(self.classes))


def import_activation(folder: Path, store: Path, files: int) -> Cells:
    """Import files of T-cell activation with their gates; cells outside all gates have none."""
    paths = [folder / f"Activation_{number}.fcs" for number in range(1, files + 1)]
    with np.load(folder / "labels.npz", allow_pickle=False) as stored:
        names = [str(name) for name in stored["label_names"]][1:]
        labels = {path.stem: stored[path.stem].astype(np.int32) - 1 for path in paths}
    return _imported(paths, store, labels, names)


def import_spleen(folder: Path, store: Path) -> Cells:
    """Import the mouse spleen with its six gates."""
    path = folder / "68983.fcs"
    written = np.array((folder / "gatingResult.csv").read_text().replace('"', "").splitlines())
    names = sorted(set(written) - {"Unlabeled"})
    codes = np.full(len(written), -1, np.int32)
    for code, name in enumerate(names):
        codes[written == name] = code
    return _imported([path], store, {path.stem: codes}, names)


def import_hipc(path: Path, store: Path, rows: int) -> Cells:
    """Import blood of one HIPC centre, or so many of its cells at random; all have a class."""
    with np.load(path, allow_pickle=False) as stored:
        chosen = random_rows(len(stored["X"]), rows)
        values, classes = stored["X"][chosen], stored["labels"][chosen].astype(np.int32) - 1
        features = [str(name) for name in stored["features"]]
    with SampleStoreWriter(store, features, rows=len(values), overwrite=True) as writer:
        writer.append(values)
    return Cells(store, features, classes, [str(number) for number in range(1, 11)])


def random_rows(rows: int, most: int) -> NDArray[np.intp]:
    """Return the places of all rows, or of so many at random in their order."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


def load_gvhd(path: Path) -> list[Sample]:
    """Load the samples of the GvHD challenge without their unlabelled cells."""
    with np.load(path, allow_pickle=False) as stored:
        values, classes, numbers = stored["X"], stored["labels"], stored["sample"]
    return [
        Sample(int(number), values[chosen], classes[chosen])
        for number in np.unique(numbers)
        if (chosen := (numbers == number) & (classes > 0)).any()
    ]


def repeat_cells(cells: Cells, store: Path, times: int) -> Path:
    """Write a store with all features of the cells so many times over, and return it."""
    with xr.open_zarr(cells.store) as data:
        features = [str(name) for name in data["feature"].values]
        values = data["X"].to_numpy()
    with SampleStoreWriter(store, features, rows=times * len(values), overwrite=True) as writer:
        for _ in range(times):
            writer.append(values)
    return store


def _imported(paths: list[Path], store: Path, labels: dict[str, Labels], names: list[str]) -> Cells:
    """Import compensated files on the arcsinh scale."""
    with warnings.catch_warnings():
        # what the importer repaired does not matter here
        warnings.simplefilter("ignore", FileFormatWarning)
        # GFP of the spleen is hardly there
        warnings.simplefilter("ignore", TransformWarning)
        import_files(
            paths,
            store,
            compensate=True,
            transform="arcsinh",
            labels=labels,
            label_names=names,
            overwrite=True,
        )
    return Cells.of_store(store)
