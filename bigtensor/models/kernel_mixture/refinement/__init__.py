"""Refinement of one population: its division by the tail of one feature."""
