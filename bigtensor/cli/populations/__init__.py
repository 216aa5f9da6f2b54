"""Commands on the populations of a model: names, cuts and merges."""
