"""Exterior point method: spectral solutions improved by a descent through infeasible points."""

from bigtensor.decomposition.exterior_point.mixture_descent import (
    ExteriorPoint,
    SpectralCandidates,
    exterior_point,
    exterior_point_from,
    literal_exterior_point,
    spectral_candidates,
)

__all__ = [
    "ExteriorPoint",
    "SpectralCandidates",
    "exterior_point",
    "exterior_point_from",
    "literal_exterior_point",
    "spectral_candidates",
]
