"""Mixings of real sources: recordings, images, cells and columns of tables.

Columns of tables are shuffled, so that they are independent and keep their distributions. Channels
of a recording are shifted apart in time, and images are cut into parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from sklearn.datasets import load_sample_images

from tests.benchmarks.ica.simulated import gaussian_noise
from tests.benchmarks.keel_tables import read_keel

Array = NDArray[Any]

MOST_ROWS = 100_000


@dataclass(frozen=True)
class SourceSet:
    """Real sources, which are mixed with random columns.

    Attributes
    ----------
    name
        Name of the set.
    purpose
        Sets that chose constants of the package, or sets that judge.
    read
        Gives the sources, shape ``(n, k)``.
    more_features
        Features beyond the number of sources.
    """

    name: str
    purpose: Literal["choose", "judge"]
    read: Callable[[], Array]
    more_features: int = 0

    def draw(self, noise: float, seed: int) -> tuple[Array, Array]:
        """Return rows and mixing columns of length one."""
        rng = np.random.default_rng(seed)
        sources = np.asarray(self.read()[:MOST_ROWS], np.float64)
        sources = (sources - sources.mean(axis=0)) / sources.std(axis=0)
        d, k = sources.shape[1] + self.more_features, sources.shape[1]
        mixing = rng.standard_normal((d, k))
        mixing /= np.linalg.norm(mixing, axis=0)
        values = sources @ mixing.T
        if noise:
            values += gaussian_noise(noise, values.shape, rng)
        return values.astype(np.float32), mixing


def shuffled(values: Array) -> Array:
    """Return columns, each in a random order of its own."""
    return np.random.default_rng(0).permuted(values, axis=0)


def shifted_apart(values: Array) -> Array:
    """Return channels that are shifted in time, each by another part of the recording."""
    n, k = values.shape
    return np.stack([np.roll(values[:, j], j * n // k) for j in range(k)], axis=1)


def image_edges(number: int, height: int = 106, width: int = 160) -> Array:
    """Return the steps between neighbouring pixels of eight parts of a photograph."""
    grey = load_sample_images().images[number].astype(np.float64).mean(axis=2)
    steps = np.diff(grey, axis=1, append=grey[:, :1])
    corners = [
        (row, column) for row in range(0, 424, 2 * height) for column in range(0, 640, width)
    ]
    parts = [steps[row : row + height, column : column + width].ravel() for row, column in corners]
    return np.stack(parts, axis=1)


def speech_like(rows: int, k: int) -> Array:
    """Return resonances with loudness in syllables."""
    rng = np.random.default_rng(7)
    sources = np.empty((rows, k))
    for j in range(k):
        syllables = rng.gamma(0.6, size=rows // 400 + 2)
        loudness = np.interp(np.arange(rows), np.arange(len(syllables)) * 400.0, syllables)
        angle, radius = rng.uniform(0.2, 1.5), rng.uniform(0.8, 0.97)
        excitation = rng.standard_normal(rows) * loudness
        sources[:, j] = lfilter([1.0], [1.0, -2 * radius * np.cos(angle), radius**2], excitation)
    return sources


def instruments(rows: int, k: int) -> Array:
    """Return tones, saw teeth, pulses and noise in bursts."""
    rng = np.random.default_rng(8)
    time = np.arange(rows)
    sources = np.empty((rows, k))
    for j in range(k):
        phase = (time * rng.uniform(0.003, 0.05) + rng.uniform()) % 1.0
        shapes = (
            np.sin(2 * np.pi * phase),
            2 * phase - 1,
            (phase < 0.1) * (1 - 10 * phase),
            rng.standard_normal(rows) * (np.sin(2 * np.pi * phase / 40) > 0.6),
        )
        sources[:, j] = shapes[j % 4] + 0.1 * rng.standard_normal(rows)
    return sources


def source_sets(data: Path, keel: Path) -> list[SourceSet]:
    """Return the sets.

    Parameters
    ----------
    data
        Folder of recordings and cells in files of NumPy.
    keel
        Folder of tables, see `tests.benchmarks.keel_tables`.
    """

    def recorded(name: str) -> Callable[[], Array]:
        def read() -> Array:
            with np.load(data / f"{name}.npz") as file:
                return np.asarray(file["X"])

        return read

    def table(name: str, *columns: int) -> Callable[[], Array]:
        return lambda: shuffled(read_keel(keel / f"{name}.dat").values[:, list(columns)])

    def cells(name: str, *columns: int) -> Callable[[], Array]:
        return lambda: shuffled(recorded(name)()[:, list(columns)])

    return [
        SourceSet("ECG", "choose", lambda: shifted_apart(recorded("foetal_ecg")()), 2),
        SourceSet("photograph 1", "choose", lambda: image_edges(0)),
        SourceSet("magic", "choose", table("magic", 0, 1, 2, 3, 5, 6, 8, 9), 4),
        SourceSet("phoneme", "choose", table("phoneme", 0, 1, 2, 3, 4)),
        SourceSet("satimage", "choose", table("satimage", 0, 5, 10, 15, 20, 25, 30, 35), 4),
        SourceSet("GvHD cells", "choose", cells("gvhd", 0, 1, 2, 3, 4, 5)),
        SourceSet("speech", "choose", lambda: speech_like(40_000, 6), 2),
        SourceSet("T cells, centre 1", "choose", cells("hipc_w2", 0, 1, 2, 3, 4, 5, 6)),
        SourceSet("photograph 2", "judge", lambda: image_edges(1)),
        SourceSet("letter", "judge", table("letter", *range(2, 12)), 5),
        SourceSet("penbased", "judge", table("penbased", *range(2, 12))),
        SourceSet("spambase", "judge", table("spambase", 4, 11, 15, 18, 20, 54), 2),
        SourceSet("segment", "judge", table("segment", 0, 1, 9, 13, 15, 18)),
        SourceSet("blood cells", "judge", cells("pbmc_cytof", *range(0, 20, 2)), 4),
        SourceSet("instruments", "judge", lambda: instruments(30_000, 7)),
        SourceSet("T cells, centre 2", "judge", cells("hipc_iu1", 0, 1, 2, 3, 4, 5, 6), 3),
    ]
