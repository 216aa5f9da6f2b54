"""Real cells against manual gates, beside FlowSOM and Gaussian mixtures of as many clusters.

``python -m tests.benchmarks.cytometry --data FOLDER --out cytometry.json``

FOLDER holds ``activation`` (12 FCS files and ``labels.npz``) and ``mouse_spleen`` (one FCS file and
``gatingResult.csv``). Events are compensated and put on the arcsinh scale; every fluorescent
channel is a view of its own, scatter and time are left out, for the peers too. All cells are
clustered and labelled; F1 is taken on gated cells, gates and clusters matched one to one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor import KernelMixture
from bigtensor.data.importers.files import import_files
from bigtensor.data.importers.transforms import is_untransformed
from bigtensor.errors import FileFormatWarning
from tests.benchmarks.baselines import flowsom_labels, gaussian_mixture_labels
from tests.benchmarks.matching import match_clusters
from tests.benchmarks.preparations import doubtful_starts_allowed
from tests.benchmarks.tables import Report, Row

PEER_ROWS = 100_000
"""Rows that the full Gaussian mixture is fitted to; it labels all of them."""

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

    def values(self) -> NDArray[Any]:
        """Return the features to cluster on."""
        with xr.open_zarr(self.store) as data:
            return np.ascontiguousarray(data["X"].sel(feature=self.features).to_numpy())

    def row(self, method: str, n_clusters: int, clusters: Labels, seconds: float) -> Row:
        """Return the figures of one clustering."""
        match = match_clusters(clusters, self.gates)
        by_gate = {
            name: round(float(f1), 3)
            for name, f1, size in zip(self.names, match.f1, match.sizes, strict=True)
            if size
        }
        return {
            "clusters": n_clusters,
            "method": method,
            "mean F1": match.mean_f1,
            "F1 by cells": match.weighted_f1,
            "accuracy": match.accuracy,
            "seconds": seconds,
            **by_gate,
        }


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


def _imported(paths: list[Path], store: Path, labels: dict[str, Labels], names: list[str]) -> Cells:
    """Import compensated files on the arcsinh scale."""
    with warnings.catch_warnings():
        # what the importer repaired does not matter here
        warnings.simplefilter("ignore", FileFormatWarning)
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


def clustering_rows(cells: Cells, counts: Sequence[int]) -> list[Row]:
    """Cluster with every method and every number of clusters."""
    values = cells.values()
    table = []
    for count in counts:
        methods: dict[str, Callable[[int], Labels]] = {
            "bigtensor, spectral": lambda k: _library_labels(cells, k, "spectral"),
            "bigtensor, kmeans": lambda k: _library_labels(cells, k, "kmeans"),
            "FlowSOM": lambda k: flowsom_labels(values, k),
            "GaussianMixture, full": lambda k: gaussian_mixture_labels(values, k, 1, PEER_ROWS),
        }
        for name, label in methods.items():
            start = time.perf_counter()
            clusters = label(count)
            table.append(cells.row(name, count, clusters, time.perf_counter() - start))
    return table


def _library_labels(cells: Cells, n_components: int, start: str) -> Labels:
    """Fit and label all cells with the model's defaults."""
    views = {name: [name] for name in cells.features}
    model = KernelMixture(n_components, views, start=start, random_state=0)
    with doubtful_starts_allowed():
        model.fit(cells.store)
    return np.asarray(model.predict(cells.store))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; it has no bars."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the real data")
    parser.add_argument("--files", type=int, default=12, help="files of the activation data")
    parser.add_argument("--clusters", type=int, nargs="+", default=[10, 15])
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    settings = {"files": options.files, "clusters": options.clusters}
    report = Report("cytometry", settings, options.out)
    with tempfile.TemporaryDirectory() as temporary:
        activation = import_activation(
            options.data / "activation", Path(temporary, "activation.zarr"), options.files
        )
        spleen = import_spleen(options.data / "mouse_spleen", Path(temporary, "spleen.zarr"))
        for title, cells in (("T-cell activation", activation), ("Mouse spleen", spleen)):
            gated = int((cells.gates >= 0).sum())
            notes = [
                f"{len(cells.gates):,} cells, {gated:,} gated",
                f"channels: {', '.join(cells.features)}",
                f"GaussianMixture: one k-means start, fitted to at most {PEER_ROWS:,} cells",
            ]
            report.add(title, clustering_rows(cells, options.clusters), notes)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
