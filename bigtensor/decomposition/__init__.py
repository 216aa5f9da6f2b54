"""Dense mathematics of the size of the number of components."""
