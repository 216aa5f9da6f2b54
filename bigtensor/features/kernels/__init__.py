"""Kernels, their bandwidths, landmarks and low-rank factors."""
