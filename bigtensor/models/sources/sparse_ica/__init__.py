"""Sparse independent component analysis: rows that are made of few of many columns."""
