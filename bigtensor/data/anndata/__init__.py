"""Files of AnnData, in HDF5 and in Zarr."""
