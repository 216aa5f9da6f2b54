"""Addresses: paths and URLs, files behind them, and errors of reading."""
