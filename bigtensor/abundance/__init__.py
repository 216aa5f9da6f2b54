"""Shares of populations in samples: tables, differential abundance, distances between samples.

Modules work on small tables of samples. They know neither rows nor models.
"""
