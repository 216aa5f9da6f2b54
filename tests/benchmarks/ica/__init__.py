"""Independent component analysis beside FastICA and Picard."""
