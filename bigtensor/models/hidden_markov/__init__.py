"""Hidden Markov models: states of sequences of categories."""
