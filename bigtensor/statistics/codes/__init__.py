"""Statistics of categorical codes."""
