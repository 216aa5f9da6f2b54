"""Gaussian mixtures, with a covariance for every component or one for all."""
