"""Exterior point method: spectral solutions improved by a descent through infeasible points."""

from bigtensor.decomposition.exterior_point.markov_descent import (
    MarkovExteriorPoint,
    markov_exterior_point,
    markov_exterior_point_from,
)
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
    "MarkovExteriorPoint",
    "SpectralCandidates",
    "exterior_point",
    "exterior_point_from",
    "literal_exterior_point",
    "markov_exterior_point",
    "markov_exterior_point_from",
    "spectral_candidates",
]
