"""Statistics and row functions of tensor trains."""
