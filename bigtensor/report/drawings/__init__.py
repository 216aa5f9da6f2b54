"""Drawings of arcs, intervals, states and many points."""
