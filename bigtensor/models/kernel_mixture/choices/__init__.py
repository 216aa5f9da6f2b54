"""Choices of a fit from the data: bandwidths, numbers of components, populations, starts."""
