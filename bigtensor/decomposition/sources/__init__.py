"""Updates of independent components and of dictionaries."""
