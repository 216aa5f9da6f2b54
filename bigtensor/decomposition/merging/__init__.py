"""Merging of components into populations, and the number of populations."""
