"""Classification of sequences by the triples of their categories, with one model a class."""
