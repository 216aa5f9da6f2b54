"""Counts of samples in the forms that pertpy and diffcyt take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bigtensor.abundance.natural_order import as_numbers
from bigtensor.abundance.sample_table import SamplesLike, SampleTable, sample_table
from bigtensor.abundance.sample_weights import SampleWeights, WeightsLike, sample_weights
from bigtensor.abundance.tables import Rows
from bigtensor.data.values.unique_names import anndata_column_names
from bigtensor.errors import MissingDependencyError

if TYPE_CHECKING:
    from anndata import AnnData

_RESERVED = ("n_cells",)
"""Names of columns of an AnnData object that no condition can have."""


def samples_with_conditions(
    weights: WeightsLike, samples: SamplesLike
) -> tuple[SampleWeights, SampleTable]:
    """Return weights and conditions of the same samples in natural order.

    Parameters
    ----------
    weights, samples
        As for `bigtensor.differential_abundance`.
    """
    table = sample_weights(weights)
    return table, sample_table(samples).matched(table.samples)


def to_anndata(weights: WeightsLike, samples: SamplesLike) -> AnnData:
    """Return counts of populations in samples as pertpy takes them.

    ``pertpy.tl.Sccoda().load(adata, type="sample_level")`` takes the result.

    Parameters
    ----------
    weights, samples
        As for `bigtensor.differential_abundance`.

    Returns
    -------
    AnnData
        ``X`` (samples, populations) has whole counts that sum to the rows of a sample, ``layers``
        the ``weight`` and the ``standard_error``, ``obs`` the conditions and ``n_cells``.
        Columns of numbers are numbers, with NaN for missing values. Others are categories. See
        `obs_columns` for columns with a name that AnnData needs.
    """
    try:
        import pandas as pd
        from anndata import AnnData
    except ImportError as error:
        raise MissingDependencyError(
            "an AnnData object needs anndata, which is not installed; pip install "
            "'bigtensor[cytometry]'"
        ) from error
    table, conditions = samples_with_conditions(weights, samples)
    renamed = obs_columns(conditions)
    columns: dict[str, object] = {}
    for name, texts in conditions.columns.items():
        present = [text for text in texts if text]
        # without any value, a column is no column of numbers
        if present and as_numbers(present) is not None:
            columns[renamed[name]] = np.array([float(text or "nan") for text in texts])
        else:
            columns[renamed[name]] = pd.Categorical([text or None for text in texts])
    obs = pd.DataFrame(columns | {"n_cells": table.rows}, index=list(table.samples))
    counts = table.counts()
    var = pd.DataFrame({"n_cells": counts.sum(axis=0)}, index=list(table.populations))
    layers = {"weight": table.weight, "standard_error": table.standard_error}
    return AnnData(counts.astype(np.float64), obs, var, layers=layers)


def obs_columns(conditions: SampleTable) -> dict[str, str]:
    """Return the names of conditions in an AnnData object, by their names in the table.

    ``n_cells`` becomes ``n_cells_2`` beside the numbers of cells. AnnData keeps ``_index`` to
    itself, and its files have no slashes in names, so that ``drug/dose`` becomes ``drug_dose``.

    Parameters
    ----------
    conditions : SampleTable
        Of the samples.
    """
    names = [*conditions.columns]
    return dict(zip(names, anndata_column_names(names, _RESERVED), strict=True))


def diffcyt_tables(weights: WeightsLike, samples: SamplesLike) -> tuple[Rows, Rows]:
    """Return the tables of a ``SummarizedExperiment`` of diffcyt.

    Parameters
    ----------
    weights, samples
        As for `bigtensor.differential_abundance`.

    Returns
    -------
    counts : list of list
        Columns ``cluster_id``, ``n_cells`` and one for every sample, as of ``calcCounts``.
    experiment_info : list of list
        Columns ``sample_id`` and the conditions, in the order of the columns of `counts`.
    """
    table, conditions = samples_with_conditions(weights, samples)
    counts: Rows = [["cluster_id", "n_cells", *table.samples]]
    for population, cells in zip(table.populations, table.counts().T.tolist(), strict=True):
        counts.append([population, sum(cells), *cells])
    experiment_info: Rows = [["sample_id", *conditions.columns]]
    for sample, *values in zip(table.samples, *conditions.columns.values(), strict=True):
        experiment_info.append([sample, *values])
    return counts, experiment_info
