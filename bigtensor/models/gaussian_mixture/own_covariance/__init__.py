"""Gaussian mixtures whose components have covariances of their own."""
