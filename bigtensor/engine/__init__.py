"""The engine: plans passes, runs them on Dask, adds, checkpoints and reports."""
