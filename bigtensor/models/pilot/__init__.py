"""Pilot sample: checks, and outlying rows."""
