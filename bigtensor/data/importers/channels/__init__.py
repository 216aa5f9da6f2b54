"""Channels of cytometer files: content, names and roles."""
