"""Moment tensors that are never formed, on a sample and in passes."""
