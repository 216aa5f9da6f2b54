"""Fits a model with a checkpoint and notes every computed part: the program that tests kill.

python fit_driver.py STORE CHECKPOINT LOG MODEL SCHEDULER NAME
"""

import hashlib
import logging
import os
import sys
from typing import Any

import zarr

from bigtensor import (
    GaussianMixture,
    HiddenMarkovModel,
    KernelICA,
    KernelMixture,
    LinearMixture,
    SparseICA,
    SpectralOptions,
    TensorTrainDensity,
    TopicModel,
)

WORKERS = 2


def model(name: str) -> Any:
    """Return the unfitted model of a name, for stores of its simulator."""
    if name == "kernel":
        return KernelMixture(
            3,
            pilot_rows=2000,
            spectral=SpectralOptions(n_landmarks=20, bins=128),
            max_iter=3,
            random_state=4,
        )
    if name == "linear":
        views = {view: [f"{view}{i}" for i in range(6)] for view in "abc"}
        return LinearMixture(8, views=views, max_iter=3, pilot_rows=4000, random_state=4)
    if name == "sparse":
        return SparseICA(8, max_iter=4, pilot_rows=8000, random_state=4)
    if name == "kernel sources":
        return KernelICA(3, n_landmarks=50, pilot_rows=4000, random_state=4)
    if name == "sequences":
        return HiddenMarkovModel(3, refine="sequences", max_iter=4, random_state=4)
    if name == "train":
        return TensorTrainDensity(3, widths=(0.5,), max_iter=4, pilot_rows=4000, random_state=4)
    if name == "topics":
        return TopicModel(8, max_iter=3, random_state=4)
    return GaussianMixture(8, max_iter=6, pilot_rows=4000, random_state=4)


def digest(path: str) -> str:
    """Return a digest of all arrays of a saved model."""
    found = hashlib.sha256()
    for name, array in sorted(zarr.open_group(path, mode="r").arrays()):
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(array[...].tobytes())
    return found.hexdigest()


class Note(logging.Handler):
    """Appends to a file at once, so that a kill loses nothing."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def emit(self, record: logging.LogRecord) -> None:
        os.write(self._file, f"{record.getMessage()}\n".encode())


def main() -> None:
    store, checkpoint, log, path, scheduler, name = sys.argv[1:]
    logger = logging.getLogger("bigtensor.engine.reduce")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(Note(log))
    begun: list[str] = []

    def say_started(_: object) -> None:
        if not begun:
            begun.append("yes")
            print("started", flush=True)

    fitted = model(name).fit(
        store,
        scheduler=scheduler,
        workers=WORKERS,
        checkpoint=checkpoint,
        listeners=[say_started],
    )
    fitted.save(path, overwrite=True)
    print("finished", flush=True)


if __name__ == "__main__":
    main()
