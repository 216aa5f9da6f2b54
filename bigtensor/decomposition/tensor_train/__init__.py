"""Tensor trains: products of small cores, one for every variable."""
