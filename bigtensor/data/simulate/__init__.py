"""Generators of data with known truth, and the measures that compare an estimate with it.

Every generator exists twice: one returns an :class:`xarray.Dataset` in memory (of sparse counts an
AnnData object), one writes the same rows to a Zarr store block by block, in memory that does not
depend on the number of rows.
"""

from bigtensor.data.simulate.blood import blood, write_blood
from bigtensor.data.simulate.correlated_cells import correlated_cells, write_correlated_cells
from bigtensor.data.simulate.cytometry import cytometry, cytometry_density, write_cytometry
from bigtensor.data.simulate.discrete_mixture import discrete_mixture, write_discrete_mixture
from bigtensor.data.simulate.gaussian_mixture import gaussian_mixture, write_gaussian_mixture
from bigtensor.data.simulate.hidden_markov import hidden_markov, write_hidden_markov
from bigtensor.data.simulate.ica import ica, write_ica
from bigtensor.data.simulate.kernel_mixture import kernel_mixture, write_kernel_mixture
from bigtensor.data.simulate.latent_chain import (
    latent_chain,
    latent_chain_density,
    write_latent_chain,
)
from bigtensor.data.simulate.linear_mixture import linear_mixture, write_linear_mixture
from bigtensor.data.simulate.topics import topics, write_topics
from bigtensor.data.simulate.truth import (
    density_error,
    error_grid,
    kernel_mixture_density,
    labelled_kernel_density,
)

__all__ = [
    "blood",
    "correlated_cells",
    "cytometry",
    "cytometry_density",
    "density_error",
    "discrete_mixture",
    "error_grid",
    "gaussian_mixture",
    "hidden_markov",
    "ica",
    "kernel_mixture",
    "kernel_mixture_density",
    "labelled_kernel_density",
    "latent_chain",
    "latent_chain_density",
    "linear_mixture",
    "topics",
    "write_blood",
    "write_correlated_cells",
    "write_cytometry",
    "write_discrete_mixture",
    "write_gaussian_mixture",
    "write_hidden_markov",
    "write_ica",
    "write_kernel_mixture",
    "write_latent_chain",
    "write_linear_mixture",
    "write_topics",
]
