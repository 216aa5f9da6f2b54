"""Rank-one terms of moment tensors that are known by their contractions with samples alone."""
