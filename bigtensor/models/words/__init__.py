"""Words about a fitted model: faults, descriptions and blocks of a report."""
