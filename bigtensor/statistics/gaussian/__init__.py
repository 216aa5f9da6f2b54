"""Statistics of Gaussian components."""
