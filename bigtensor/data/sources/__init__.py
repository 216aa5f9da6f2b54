"""Sources of rows: stores, arrays, sparse rows, AnnData and xarray."""
