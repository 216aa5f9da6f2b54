"""Names of the columns of tables in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bigtensor.data.values.lazy_arrays import is_convertible_table, is_table
from bigtensor.data.values.matrices import feature_names, is_lazy_table

if TYPE_CHECKING:
    import pandas as pd


def table_header(data: object) -> pd.DataFrame | None:
    """Return a table without rows that has the features of a table as columns.

    scikit-learn compares names of columns only if they are strings. Other names, such as integers
    and tuples, become the strings by which features are named. Columns that are numbered 0, 1, ...
    in this order have no names and keep their numbers.

    Parameters
    ----------
    data : object
        A table in memory, a list of tables with the same columns, or other data.

    Returns
    -------
    pandas DataFrame, optional
        None for other data and for Dask DataFrames.
    """
    import pandas as pd

    if isinstance(data, list | tuple) and data:
        return table_header(data[0]) if is_table(data[0]) else None
    if not is_table(data) or is_lazy_table(data):
        return None
    empty: Any = data
    if is_convertible_table(data):
        empty = empty[:0].to_pandas()
    columns = list(empty.columns)
    numbered = columns == list(range(len(columns)))
    return pd.DataFrame(columns=pd.Index(columns if numbered else feature_names(columns)))
