"""Comparison of samples on the command line."""
