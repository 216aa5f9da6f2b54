"""From a Zarr store on disk to a label for every cell, without holding the cells in memory.

Simulates half a million cells, says what a fit will read and hold, fits with a checkpoint and a
line of progress for every pass, writes labels and probabilities beside the data, and reads them
back with xarray. Run it with ``python examples/fit_zarr_store.py``.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import xarray as xr

import bigtensor
from bigtensor import KernelMixture, simulate
from bigtensor.engine.events import Event

POPULATIONS = 5


def report(event: Event) -> None:
    """Print one line when a pass is finished."""
    if event.kind == "pass finished":
        millions = event.total_rows / max(event.seconds, 1e-9) / 1e6
        print(f"  {event.name:<12} {event.total_rows:>9,} rows  {millions:6.2f} million rows/s")


def main() -> None:
    with TemporaryDirectory() as folder:
        cells = Path(folder) / "cells.zarr"
        simulate.write_cytometry(cells, 500_000, POPULATIONS, markers=6, random_state=4)

        model = KernelMixture(POPULATIONS, random_state=0)
        print(model.plan(cells, memory_limit="1GiB"), "\n")

        print("fit")
        checkpoint = Path(folder) / "parts"
        model.fit(cells, memory_limit="1GiB", checkpoint=checkpoint, listeners=[report])

        # Fitting again reads every finished pass from the checkpoint: no row is computed twice.
        again = KernelMixture(POPULATIONS, random_state=0).fit(cells, checkpoint=checkpoint)
        reused = [entry["reused_parts"] == entry["parts"] for entry in again.diagnostics_["passes"]]
        print(f"the same fit again: {sum(reused)} of {len(reused)} passes from the checkpoint,")
        print(f"  the same bits: {np.array_equal(model.weights_, again.weights_)}\n")

        labels = model.write(cells, Path(folder) / "labels.zarr", outputs=("label", "probability"))
        model.save(Path(folder) / "model.zarr")
        assert bigtensor.load(Path(folder) / "model.zarr").n_components == POPULATIONS

        found = xr.open_zarr(labels)
        truth = xr.open_zarr(cells)
        certain = (found["probability"].max("component") > 0.95).mean().compute().item()
        print(f"labels.zarr holds {dict(found.sizes)}; {certain:.1%} of the cells are certain")

        names = truth["label"].attrs["categories"]
        label, true_label = found["label"].to_numpy(), truth["label"].to_numpy()
        print(f"\n{'population':>10}  {'weight':>6}  {'true':>6}  what most of its cells are")
        for h, weight in enumerate(model.weights_):
            inside = np.bincount(true_label[label == h], minlength=POPULATIONS)
            best = int(inside.argmax())
            share, true_share = inside[best] / inside.sum(), float(np.mean(true_label == best))
            print(f"{h:>10}  {weight:6.3f}  {true_share:6.3f}  {share:.1%} {names[best]}")


if __name__ == "__main__":
    main()
