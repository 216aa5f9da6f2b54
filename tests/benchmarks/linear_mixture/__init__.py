"""Linear mixtures against label oracles, power updates and decompositions of explicit tensors."""
