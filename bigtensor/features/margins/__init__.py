"""Margins: smoothed distributions of single variables, and their normal scores."""
