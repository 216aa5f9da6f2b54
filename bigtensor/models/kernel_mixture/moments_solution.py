"""What a kernel mixture knows after the moments alone: the spectral densities, on the grids."""

from __future__ import annotations

import numpy as np

from bigtensor.models.kernel_mixture.embedded_view import EmbeddedView
from bigtensor.models.kernel_mixture.preparation import Preparation
from bigtensor.models.kernel_mixture.solution import KernelSolution
from bigtensor.statistics.densities import MixtureDensities


def moments_solution(
    mixture: MixtureDensities, weight: float, preparation: Preparation
) -> KernelSolution:
    """Return the mixture that a posterior pass would start from, as a solution of its own.

    No row has been given a label yet. The histograms are the counts that the densities let expect,
    so that they are smoothed by the kernel of the moments; a posterior pass makes sharper ones.

    Parameters
    ----------
    mixture : MixtureDensities
        From `spectral_start`: its densities are positive.
    weight : float
        The sum of the sample weights behind the moments.
    preparation : Preparation

    Returns
    -------
    KernelSolution
    """
    grids, k = preparation.grids, mixture.n_components
    views = len(grids.columns)
    tables = np.zeros((views, grids.bins + 1, k))
    if mixture.tables is not None:
        tables = np.exp(mixture.tables.log_tables, dtype=np.float64)
    mass = tables.sum(axis=1, keepdims=True)
    densities = tables / (mass * grids.step[:, None, None])
    histograms = weight * mixture.weights * tables / mass
    return KernelSolution(
        weights=mixture.weights,
        views=preparation.views,
        grids=grids,
        histograms=histograms,
        densities=densities,
        # the kernel has smoothed them already: a draw moves within its bin
        bandwidths=np.tile(grids.step[:, None], (1, k)) / 2,
        posterior_densities=tables / grids.length[:, None, None],
        embedded=tuple(
            EmbeddedView(
                part.view,
                preparation.slices[part.view],
                part.feature_map,
                part.coefficients,
                part.floor,
                np.empty((0, part.feature_map.n_inputs)),
            )
            for part in mixture.embedded
        ),
    )
