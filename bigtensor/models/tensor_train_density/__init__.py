"""Densities of many variables: nonnegative tensor trains along a latent chain."""
