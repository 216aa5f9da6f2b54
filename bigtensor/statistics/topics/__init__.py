"""Sums over documents that topics follow from."""
