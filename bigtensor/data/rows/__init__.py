"""Rows as passes read them: blocks, samples, groups, sequences and weights."""
