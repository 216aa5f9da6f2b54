"""Figures of samples: shares, a map by composition, shares by group."""
