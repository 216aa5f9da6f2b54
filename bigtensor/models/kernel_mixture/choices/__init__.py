"""Choices of a fit from the data: bandwidths, components, populations, initialisations."""
