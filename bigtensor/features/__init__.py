"""Feature maps: from a row of a view to a vector."""
