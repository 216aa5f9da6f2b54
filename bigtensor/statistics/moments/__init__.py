"""Moments: covariances, third moments and contractions of moment tensors."""
