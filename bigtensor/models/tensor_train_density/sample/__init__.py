"""Pilot sample of a density: its variables, atoms and coordinates."""
