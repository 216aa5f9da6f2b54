"""Statistics of independent component analysis and sparse coding."""
