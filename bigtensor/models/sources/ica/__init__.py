"""Independent component analysis: rows are mixtures of independent sources, and noise."""
