"""Activated T cells found by `refine_population`, beside a classifier that knows the gates.

``python -m tests.benchmarks.rare_populations`` reads the activation files. Populations of CD4 and
CD8 T cells are divided without labels and without the name of a marker. The F1 counts cells within
the gate of the T cells, as for the classifier.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from bigtensor import KernelMixture
from bigtensor.data.importers.files import import_files
from tests.benchmarks.tables import Report, Row

LIVE = 2.8
"""Upper end of live cells in Hoechst-430, as in the tutorial on a dose."""

MARKERS = ["CD8", "Va2", "CD69", "CD44", "CD4", "CD11c"]

TYPES = {"CD4 T": "CD4 T CD69+", "CD8 T": "CD8 T CD69+"}
"""Name of the gate of the activated cells of a type."""


@dataclass(frozen=True)
class Activation:
    """All files of the activation.

    Attributes
    ----------
    live : Dataset
        Live cells.
    gates : (cells,) array of str
        Gate of every live cell; empty for none.
    """

    live: xr.Dataset
    gates: NDArray[Any]

    @classmethod
    def read(cls, folder: Path, store: Path) -> Activation:
        """Import the files with their panel."""
        paths = [folder / f"Activation_{number}.fcs" for number in range(1, 13)]
        with np.load(folder / "labels.npz", allow_pickle=False) as stored:
            names = np.array(["", *map(str, stored["label_names"][1:])])
            gates = np.concatenate([names[stored[path.stem]] for path in paths])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_files(paths, store, compensate=True, panel=folder / "panel.csv")
        with xr.open_zarr(store) as cells:
            live = cells["X"].sel(feature="Hoechst-430").values < LIVE
            return cls(cells.isel(sample=np.flatnonzero(live)).load(), gates[live])

    def of_type(self, name: str) -> NDArray[np.bool_]:
        """Return the cells inside the gate of a type, activated or not."""
        return np.char.startswith(self.gates.astype(str), name)


def f1(found: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    """Return the harmonic mean of precision and recall."""
    return float(2 * (found & true).sum() / (found.sum() + true.sum()))


def classified(cells: Activation, name: str) -> float:
    """Return the F1 of a classifier on files that it was not trained on."""
    own = cells.live.isel(sample=np.flatnonzero(cells.of_type(name)))
    values, file = own["X"].sel(feature=MARKERS).values, own["sample_id"].values
    true = cells.gates[cells.of_type(name)] == TYPES[name]
    # files in turn, so that every part has all concentrations
    folds = np.argsort(np.argsort(np.unique(file))) % 3
    found = np.zeros(len(true), bool)
    for fold in range(3):
        test = np.isin(file, np.flatnonzero(folds == fold))
        model = HistGradientBoostingClassifier(random_state=0).fit(values[~test], true[~test])
        found[test] = model.predict(values[test])
    return f1(found, true)


def refined_gate(cells: Activation, name: str) -> Row:
    """Divide the cells of a gate."""
    inside = cells.of_type(name)
    own = cells.live.isel(sample=np.flatnonzero(inside))
    views = {marker: [marker] for marker in MARKERS}
    model = KernelMixture(1, views=views, random_state=0).fit(own)
    model.refine_population(0, own)
    return {
        "parent": "gate",
        **_scored(model, own, cells.gates[inside], cells.of_type(name)[inside], name),
    }


def refined_populations(cells: Activation, seed: int) -> Iterator[Row]:
    """Divide the populations of a fit without labels.

    The parent is made of the populations most of whose gated cells are of the type.
    """
    fit = KernelMixture(n_populations="auto", random_state=seed).fit(cells.live)
    label = np.asarray(fit.predict(cells.live))
    for name in TYPES:
        inside = cells.of_type(name)
        gated = cells.gates != ""
        parts = [
            population
            for population in range(len(fit.population_weights_))
            if inside[gated & (label == population)].mean() > 0.5
        ]
        model = KernelMixture.from_contents(fit.to_contents())
        first = model.solution_.populations.members[parts[0]][0]
        if len(parts) > 1:
            model.merge_populations(parts)
        model.refine_population(int(model.population_of_component_[first]), cells.live)
        yield {
            "parent": f"populations of seed {seed}",
            **_scored(model, cells.live, cells.gates, inside, name),
        }


def _scored(
    model: KernelMixture,
    rows: xr.Dataset,
    gates: NDArray[Any],
    inside: NDArray[np.bool_],
    name: str,
) -> Row:
    """Return which tail was found, and its F1 within the gate of the type and in all gates."""
    facts = model.diagnostics_["refinements"][-1]
    number = model.population_names_.tolist().index(facts["parts"][1])
    found, true = np.asarray(model.predict(rows)) == number, gates == TYPES[name]
    return {
        "type": name,
        "feature": facts["feature"],
        "cells": int((found & inside).sum()),
        "gated": int(true.sum()),
        "F1 in the gate": round(f1(found & inside, true), 3),
        "F1 in all gates": round(f1(found & (gates != ""), true), 3),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    report = Report("rare populations", {"seeds": given.seeds}, given.out)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        cells = Activation.read(given.data / "activation", Path(folder) / "cells.zarr")
    report.add(
        "classifier trained on two thirds of the files",
        [{"type": name, "F1 in the gate": round(classified(cells, name), 3)} for name in TYPES],
    )
    rows = [refined_gate(cells, name) for name in TYPES]
    for seed in range(given.seeds):
        rows += refined_populations(cells, seed)
    report.add("refined without labels", rows)


if __name__ == "__main__":
    main()
