"""Hidden Markov models: states of sequences of categories, measurements or counts."""
