"""Calibration and power of tests of differential abundance, beside edgeR and a mixed model."""
