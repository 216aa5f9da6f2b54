"""Descriptions that ``bigtensor info`` prints, by kind of data."""
