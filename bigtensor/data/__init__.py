"""Doors for data: views, samples, importers and simulators."""
