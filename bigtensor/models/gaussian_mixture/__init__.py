"""Gaussian mixtures whose components share one covariance."""
