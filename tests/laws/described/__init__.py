"""Mean and spread of every feature, with a description of its own."""
