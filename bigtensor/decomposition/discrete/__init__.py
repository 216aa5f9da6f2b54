"""Mixtures and hidden Markov models of categorical views, from their tables."""
