"""Mixtures of three groups of views, from their moments."""
