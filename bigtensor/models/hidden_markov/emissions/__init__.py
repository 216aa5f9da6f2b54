"""Emissions of hidden Markov models: categories, densities, Gaussian and Poisson laws."""
