"""Section of the report on the densities of measured rows in every state."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import xarray as xr

from bigtensor.array_types import FloatArray
from bigtensor.models.hidden_markov.emissions.kernel_emissions import KernelEmissions
from bigtensor.models.words.report_blocks import Cell, Group, Section, Table, Words
from bigtensor.models.words.report_figures import DensityPlot

MOST_PLOTS = 12
"""Features whose densities are drawn."""


class HasStateMeans(Protocol):
    """A fitted hidden Markov model with means of features by state.

    Attributes
    ----------
    occupancy_ : (k,) float64 array
        Shares of the states in the long run.
    means_ : DataArray, (state, feature)
        Means of the features.
    covariances_ : DataArray, (state, feature, other_feature) or (state, feature)
        Of Gaussian emissions alone.
    """

    occupancy_: FloatArray
    means_: xr.DataArray
    covariances_: xr.DataArray


def standard_deviations(model: HasStateMeans) -> FloatArray | None:
    """Return the standard deviations of the features in every state, in the units of the features.

    Parameters
    ----------
    model : fitted model
        Fitted model with the means of the states.

    Returns
    -------
    (k, features) float64 array or None
        None of emissions that are not Gaussian.
    """
    covariances = getattr(model, "covariances_", None)
    if covariances is None:
        return None
    values = covariances.to_numpy()
    variances = np.diagonal(values, axis1=1, axis2=2) if values.ndim == 3 else values
    return np.asarray(np.sqrt(variances))


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
    """Return the means of Gaussian and Poisson emissions, and their standard deviations."""
    return Section("emissions", "Values in every state", (_means(model),), "Values")


def _means(model: HasStateMeans) -> Table:
    """Return the means of all features, a line a feature and a column a state.

    Standard deviations of Gaussian emissions stand below the means.
    """
    means, spreads = model.means_, standard_deviations(model)
    header = ("feature", *(str(state) for state in range(means.sizes["state"])))
    caption = "Means of the features in every state."
    if spreads is not None:
        caption = "Means of the features in every state, and below them the standard deviations."
    rows = list[tuple[Cell, ...]]()
    for place, name in enumerate(means["feature"].to_numpy()):
        column = means.to_numpy()[:, place]
        below = (
            [""] * len(column) if spreads is None else [f"sd {s:.4g}" for s in spreads[:, place]]
        )
        cells = (Cell(f"{mean:.4g}", below=sd) for mean, sd in zip(column, below, strict=True))
        rows.append((Cell(str(name)), *cells))
    return Table(header, tuple(rows), caption, matrix=True)
