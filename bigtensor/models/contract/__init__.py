"""Contract of a model: opening, running, saving and rounds, the same for all."""
