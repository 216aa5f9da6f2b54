"""Gaussian mixtures against scikit-learn and the means of true labels."""
