"""Sections, notices and sentences of the report that only a kernel mixture has."""
