"""Zarr stores: opening, layout, manifests, and outputs that appear when they are whole."""
