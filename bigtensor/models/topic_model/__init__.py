"""Topic model: latent Dirichlet allocation by moments and Monte Carlo expectation maximisation."""
