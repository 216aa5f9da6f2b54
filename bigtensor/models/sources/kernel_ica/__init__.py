"""Kernel independent component analysis: independent sources of the features of a kernel."""
