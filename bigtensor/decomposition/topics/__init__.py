"""Topics from moments of words."""
