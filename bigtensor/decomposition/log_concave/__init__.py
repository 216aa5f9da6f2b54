"""Mixtures of log-concave densities of one feature."""
