"""The peers, as their users call them, and the published methods that have no maintained code.

Every ``..._densities`` function takes rows whose columns are the views, the number of components
and a grid for every view, and returns the component densities on the grids, one array of shape
(points, k) a view.
"""

from tests.benchmarks.baselines.flowsom import flowsom_labels, flowsom_labels_of_counts
from tests.benchmarks.baselines.gaussian_mixture import (
    diagonal_mixture_densities,
    fitted_gaussian_mixture,
    gaussian_mixture_labels,
)
from tests.benchmarks.baselines.histogram_spectral import histogram_spectral_densities
from tests.benchmarks.baselines.hsu_kakade import spherical_spectral_densities
from tests.benchmarks.baselines.npem import npem_densities

__all__ = [
    "diagonal_mixture_densities",
    "fitted_gaussian_mixture",
    "flowsom_labels",
    "flowsom_labels_of_counts",
    "gaussian_mixture_labels",
    "histogram_spectral_densities",
    "npem_densities",
    "spherical_spectral_densities",
]
