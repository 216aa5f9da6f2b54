"""Dask clusters: connections, worker processes and runs of tasks."""
