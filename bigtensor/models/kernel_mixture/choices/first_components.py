"""Which components the EM iterations of a fit began with, as its diagnostics say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def began_with_moments(diagnostics: Mapping[str, Any]) -> bool:
    """Return True if EM iterations began with the components of moments, and not with clusters."""
    return "spectral" in diagnostics and not diagnostics.get("began_with_clusters")
