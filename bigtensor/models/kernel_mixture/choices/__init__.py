"""Choices of a fit from the data: bandwidths, features, components, populations, starts."""
