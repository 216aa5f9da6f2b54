"""Rows of simulated cells whose markers are independent, skewed and heavy-tailed by population.

Each marker of each population follows a sinh-arcsinh distribution (Jones and Pewsey 2009,
*Biometrika* 96, eq. 2): with Z standard normal,
``X = location + scale * (sinh((arcsinh(Z) + skew) / tail) - sinh(skew / tail))``,
whose median is the location; ``skew > 0`` leans to the right and ``tail < 1`` makes the tails
heavier than a normal distribution's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray, IntArray
from bigtensor.data.simulate.rows import (
    BLOCK_ROWS,
    RowBlock,
    Simulation,
    block_bounds,
    block_generator,
    true_parameters,
)
from bigtensor.data.stores.layout import FEATURE_DIM

# Streams of randomness: each purpose has its own, so that none shifts another.
PARAMETERS, _LABELS, _VALUES = range(3)

SHAPES = ("true_locations", "true_scales", "true_skews", "true_tails")
"""Variables of a data set that hold the shapes of the populations."""

DIRICHLET_CONCENTRATION = 200.0
"""Sum of the parameters of the Dirichlet distribution of the shares of a sample."""


@dataclass(frozen=True)
class CellPopulations:
    """Parameters of simulated cells.

    Attributes
    ----------
    names : list of str
        Of the populations.
    sample_weights : (samples, populations) float64 array
        Share of every population in every sample.
    locations, scales, skews, tails : (populations, markers) float64 array
        Of the sinh-arcsinh distribution on the arcsinh scale.
    """

    names: list[str]
    sample_weights: FloatArray
    locations: FloatArray
    scales: FloatArray
    skews: FloatArray
    tails: FloatArray


def simulation_of(
    simulator: str,
    cells: CellPopulations,
    markers: Sequence[str],
    specimens: list[str],
    rows: int,
    seed: int,
) -> Simulation:
    """Return the truth on simulated cells, and their rows to come.

    Parameters
    ----------
    simulator : str
        Name of the simulator, for the attributes.
    cells : CellPopulations
        Parameters of the populations.
    markers, specimens : sequence and list of str
        Names of the markers and of the samples.
    rows : int
        Number of cells.
    seed : int
        Seed of labels and values.
    """
    shapes = (cells.locations, cells.scales, cells.skews, cells.tails)
    truth = true_parameters(
        simulator,
        {
            "true_weights": ("component", cells.sample_weights.mean(axis=0)),
            "true_sample_weights": (("specimen", "component"), cells.sample_weights),
            **{
                name: (("component", FEATURE_DIM), values)
                for name, values in zip(SHAPES, shapes, strict=True)
            },
        },
        markers,
        seed=seed,
        # Objects are stored as strings of any length; fixed ones have no Zarr v3 specification.
        coords={"specimen": np.array(specimens, dtype=object)},
    )
    codes = {"label": cells.names, "sample_id": specimens}
    return Simulation(truth, _blocks(seed, cells, rows), rows, np.float32, codes)


def _blocks(seed: int, cells: CellPopulations, rows: int) -> Iterator[RowBlock]:
    """Yield the rows; the buffers are used again for the next block."""
    ratio = cells.skews / cells.tails
    centre = cells.locations - cells.scales * np.sinh(ratio)
    stretch, shift, scale, offset = (
        table.astype(np.float32) for table in (1.0 / cells.tails, ratio, cells.scales, centre)
    )
    samples = len(cells.sample_weights)
    cumulative = np.cumsum(cells.sample_weights, axis=1)[:, :-1]
    space = np.empty((2, min(rows, BLOCK_ROWS), cells.locations.shape[1]), np.float32)
    for block, (start, stop) in enumerate(block_bounds(rows)):
        values, gathered = space[:, : stop - start]
        sample_id = np.arange(start, stop) * samples // rows
        label = _draw_labels(block_generator(seed, _LABELS, block), cumulative, sample_id)
        block_generator(seed, _VALUES, block).standard_normal(out=values, dtype=np.float32)
        np.arcsinh(values, out=values)
        np.multiply(values, stretch.take(label, 0, gathered, "clip"), out=values)
        np.add(values, shift.take(label, 0, gathered, "clip"), out=values)
        np.sinh(values, out=values)
        np.multiply(values, scale.take(label, 0, gathered, "clip"), out=values)
        np.add(values, offset.take(label, 0, gathered, "clip"), out=values)
        yield {"X": values, "label": label, "sample_id": sample_id}


def _draw_labels(
    rng: np.random.Generator, cumulative: FloatArray, sample_id: IntArray
) -> IndexArray:
    """Draw the population of every row from the proportions of its sample; ids ascend."""
    uniform = rng.random(len(sample_id))
    label = np.empty(len(sample_id), np.intp)
    for s in range(int(sample_id[0]), int(sample_id[-1]) + 1):
        low, high = np.searchsorted(sample_id, [s, s + 1])
        label[low:high] = np.searchsorted(cumulative[s], uniform[low:high], side="right")
    return label
