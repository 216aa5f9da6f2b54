"""Hidden Markov models of one categorical symbol a step."""
