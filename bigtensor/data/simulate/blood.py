"""White blood cells of a common panel: populations that an immunologist knows by their markers."""

import os

import numpy as np
import xarray as xr

from bigtensor.data.simulate.rows import (
    Progress,
    Simulation,
    block_generator,
    check_integer,
    documented_writer,
)
from bigtensor.data.simulate.skewed_cells import (
    DIRICHLET_CONCENTRATION,
    PARAMETERS,
    CellPopulations,
    simulation_of,
)
from bigtensor.data.values.random_states import RandomState, integer_seed

MARKERS = ("CD3", "CD4", "CD8", "CD19", "CD14", "CD16", "CD56", "HLA-DR")
"""Markers of the panel."""

_POPULATIONS = {
    "CD4 T cells": (0.40, "4.6 4.4 0.3 0.2 0.2 0.2 0.2 0.4"),
    "CD8 T cells": (0.22, "4.5 0.3 4.9 0.2 0.2 0.3 0.4 0.5"),
    "classical monocytes": (0.13, "0.3 2.1 0.2 0.3 4.9 0.6 0.3 4.0"),
    "NK cells": (0.10, "0.3 0.2 1.0 0.2 0.2 4.1 3.2 0.3"),
    "B cells": (0.09, "0.2 0.2 0.2 4.2 0.2 0.3 0.2 4.6"),
    "NKT cells": (0.03, "4.2 0.3 3.6 0.2 0.2 0.5 3.4 0.6"),
    "non-classical monocytes": (0.02, "0.3 1.5 0.2 0.3 1.6 4.7 0.3 4.3"),
    "dendritic cells": (0.01, "0.2 1.8 0.2 0.2 0.4 0.4 0.3 5.1"),
}
"""Share of every population, and its median of every marker on the arcsinh scale."""

_POSITIVE = 1.2
"""Median from which a population is positive for a marker, and its values lean left."""


def blood(rows: int, *, samples: int = 4, random_state: RandomState = 0) -> xr.Dataset:
    """Draw mononuclear cells of the blood, as flow cytometry sees them with eight markers.

    The populations are T cells (CD4, CD8 and NKT), B cells, NK cells, classical and non-classical
    monocytes, and dendritic cells, in shares of healthy adults. Monocytes and dendritic cells are
    dim for CD4. Given the population, markers are independent, skewed and heavy-tailed. The shares
    of every sample are drawn from a Dirichlet distribution around the common shares. Samples follow
    one another and have equally many rows.

    Parameters
    ----------
    rows : int
        Number of cells, at least 1.
    samples : int, default 4
        Number of samples, at least 1.
    random_state : int, RandomState or Generator, default 0
        Seed, at least 0.

    Returns
    -------
    xarray.Dataset
        As of `cytometry`; ``label`` has the names of the populations as ``categories``.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> cells = blood(1000, random_state=1)
    >>> cells["label"].attrs["categories"][:2]
    ['CD4 T cells', 'CD8 T cells']
    """
    return _simulation(rows, samples, random_state).dataset()


@documented_writer
def write_blood(
    path: str | os.PathLike[str],
    rows: int,
    *,
    samples: int = 4,
    random_state: RandomState = 0,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the cells of :func:`blood` to a Zarr store, in memory independent of `rows`."""
    simulation = _simulation(rows, samples, random_state)
    simulation.write(path, overwrite=overwrite, progress=progress)


def _simulation(rows: int, samples: int, random_state: RandomState) -> Simulation:
    """Check the parameters; return the truth and the rows to come."""
    check_integer("rows", rows, 1)
    check_integer("samples", samples, 1)
    seed = integer_seed(random_state)
    rng = block_generator(seed, PARAMETERS)
    locations = np.array([medians.split() for _, medians in _POPULATIONS.values()], np.float64)
    shares = np.array([share for share, _ in _POPULATIONS.values()])
    off, shape = locations < _POSITIVE, locations.shape
    cells = CellPopulations(
        names=list(_POPULATIONS),
        sample_weights=rng.dirichlet(DIRICHLET_CONCENTRATION * shares, size=samples),
        locations=locations,
        scales=np.where(off, rng.uniform(0.3, 0.45, shape), rng.uniform(0.35, 0.5, shape)),
        # cells without a marker pile up near zero with a tail to the right, others lean left
        skews=np.where(off, rng.uniform(0.2, 0.5, shape), rng.uniform(-0.3, 0.1, shape)),
        tails=rng.uniform(0.8, 0.95, shape),
    )
    specimens = [f"donor{number + 1}" for number in range(samples)]
    return simulation_of("blood", cells, MARKERS, specimens, rows, seed)
