"""Section of the report on the densities of measured rows in every state."""

from __future__ import annotations

from typing import Any, Protocol

import xarray as xr

from bigtensor.array_types import FloatArray
from bigtensor.models.hidden_markov.emissions.kernel_emissions import KernelEmissions
from bigtensor.models.words.report_blocks import Cell, Group, Section, Table, Words
from bigtensor.models.words.report_figures import DensityPlot

MOST_PLOTS = 12
"""Features whose densities are drawn."""


class HasStateMeans(Protocol):
    """A fitted hidden Markov model with means of features by state."""

    occupancy_: FloatArray
    means_: xr.DataArray


def density_section(model: HasStateMeans, emissions: KernelEmissions) -> Section:
    """Return the pictures of the densities, and of the means where there are several features.

    Parameters
    ----------
    model : fitted model
        Fitted model with the shares and the means of the states.
    emissions : KernelEmissions
        Of that model.
    """
    grids, occupancy = emissions.solution.grids, model.occupancy_
    names = [name for name, _ in emissions.views]
    lead = (
        "Above: densities of the states times their shares, and their sum as a dark line. Below: "
        "the same densities at equal height."
    )
    plots = list[DensityPlot]()
    for index, column in enumerate(grids.columns[:MOST_PLOTS]):
        name = next(view for view in names if emissions.solution.slices[view].start == column)
        plots.append(
            DensityPlot(
                f"Densities of {name} by state",
                name,
                grids.points(index),
                emissions.solution.densities[index],
                occupancy,
            )
        )
    if len(grids.columns) > MOST_PLOTS:
        lead += f" Shown are {MOST_PLOTS} of {len(grids.columns)} features."
    blocks: list[Any] = [Words(lead), Group(tuple(plots), layout="narrow")] if plots else []
    if len(model.means_["feature"]) > 1:
        blocks.append(_means(model))
    return Section("emissions", "Values in every state", tuple(blocks), "Values")


def means_section(model: HasStateMeans) -> Section:
    """Return the means of Gaussian and Poisson emissions."""
    return Section("emissions", "Values in every state", (_means(model),), "Values")


def _means(model: HasStateMeans) -> Table:
    """Return the means of all features, a line a feature and a column a state."""
    means = model.means_
    header = ("feature", *(str(state) for state in range(means.sizes["state"])))
    rows = tuple(
        (Cell(str(name)), *(Cell(f"{value:.4g}") for value in means.sel(feature=name).to_numpy()))
        for name in means["feature"].to_numpy()
    )
    return Table(header, rows, "Means of the features in every state.", matrix=True)
