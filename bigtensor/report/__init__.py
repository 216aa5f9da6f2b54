"""Plots and the one-file HTML report."""
