"""Models: scripts that ask for passes over the data and solve small problems between them."""
