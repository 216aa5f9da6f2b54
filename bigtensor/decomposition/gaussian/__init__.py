"""Gaussian components of one shared covariance."""
