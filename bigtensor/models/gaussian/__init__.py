"""Parts that both mixtures of Gaussian components share."""
