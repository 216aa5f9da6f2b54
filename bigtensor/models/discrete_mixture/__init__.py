"""Mixtures of categorical views: latent classes."""
