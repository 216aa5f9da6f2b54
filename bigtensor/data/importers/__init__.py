"""Importers of FCS, CSV, Parquet and AnnData files into a Zarr store of the package's layout."""
