"""Files of a comparison: tables as CSV, and counts for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bigtensor.abundance.exports import diffcyt_tables, samples_with_conditions, to_anndata
from bigtensor.abundance.sample_table import SampleTable
from bigtensor.abundance.sample_weights import SampleWeights
from bigtensor.abundance.tables import comparison_rows, share_rows
from bigtensor.cli.table_file import write_rows
from bigtensor.data.addresses.store_address import Address
from bigtensor.data.stores.outputs import whole_file, write_errors

if TYPE_CHECKING:
    import xarray as xr

COUNTS, EXPERIMENT_INFO = "counts.csv", "experiment_info.csv"
"""Names of the files for diffcyt."""


def write_comparison(result: xr.Dataset, path: Address) -> None:
    """Write the result of a comparison, one row for every contrast of every population.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    path : Path or str
        An existing file is replaced.
    """
    write_rows(comparison_rows(result), path)


def write_shares(weights: SampleWeights, samples: SampleTable, path: Address) -> None:
    """Write counts and shares, one row for every population of every sample.

    Parameters
    ----------
    weights : SampleWeights
        Of all samples.
    samples : SampleTable
        With a row for every sample.
    path : Path or str
        An existing file is replaced.
    """
    write_rows(share_rows(*samples_with_conditions(weights, samples)), path)


def write_diffcyt(weights: SampleWeights, samples: SampleTable, folder: Path) -> None:
    """Write counts and conditions as diffcyt takes them, two files in a folder.

    Parameters
    ----------
    weights : SampleWeights
        Of all samples.
    samples : SampleTable
        With a row for every sample.
    folder : Path
        Made if it does not exist.
    """
    counts, experiment_info = diffcyt_tables(weights, samples)
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_rows(counts, folder / COUNTS)
    write_rows(experiment_info, folder / EXPERIMENT_INFO)


def write_counts(weights: SampleWeights, samples: SampleTable, path: Address) -> None:
    """Write counts as pertpy takes them, a file ``.h5ad``.

    Parameters
    ----------
    weights : SampleWeights
        Of all samples.
    samples : SampleTable
        With a row for every sample.
    path : Path or str
        An existing file is replaced.
    """
    adata = to_anndata(weights, samples)
    with write_errors(path), whole_file(path) as partial:
        adata.write_h5ad(partial)
