"""Mixtures of linear views: every view is a column of its factor, and noise."""
