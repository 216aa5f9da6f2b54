"""Densities of many variables, beside kernel, mixture and copula estimates."""
