"""Densities of mixtures, posterior probabilities, and sums over them."""
