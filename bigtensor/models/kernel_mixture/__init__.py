"""Kernel mixture: populations with densities of any shape in every view."""
