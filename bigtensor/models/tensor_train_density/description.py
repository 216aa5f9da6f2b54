"""Description of a fitted density: how it was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bigtensor.models.density import DensityDescription
from bigtensor.models.description import Facts, Line
from bigtensor.models.faults import verdict_words

_SYSTEMS = {
    "z": "standardised variables",
    "ns": "normal scores",
    "pca": "principal components",
    "ns-pca": "principal components of normal scores",
    "zca": "whitened variables",
    "ns-zca": "whitened normal scores",
}


class TrainDescription(DensityDescription):
    """Facts and words on tensor-train densities."""

    def facts(self, model: Any) -> Facts:
        """Return facts as JSON holds them.

        Parameters
        ----------
        model : fitted or prepared model
        """
        facts = super().facts(model)
        if model.__sklearn_is_fitted__():
            facts |= {
                "rank": model.rank_,
                "coordinates": model.coordinates_,
                "order": model.order_,
            }
        return facts

    def size(self, facts: Mapping[str, Any]) -> str:
        """Return the rank in words.

        Parameters
        ----------
        facts : mapping
            From `facts`.
        """
        return f"rank {facts['rank']}" if "rank" in facts else ""


def outcome_in_words(model: Any) -> list[Line]:
    """Return how a fit ended, as names and words.

    Parameters
    ----------
    model : fitted model
    """
    found = model.diagnostics_
    return [
        ("density", "; ".join(_choices(found))),
        ("order", ", ".join(model.order_)),
        ("held out", f"{found['validation_log_density']:.4g} nats a row in the sample"),
        ("verdict", verdict_words(found["verdict"])),
    ]


def _choices(found: Mapping[str, Any]) -> Iterator[str]:
    """Return what validation chose, in words."""
    yield f"rank {found['rank']}"
    yield f"{_SYSTEMS[found['system']]}"
    yield "bumps of width " + ", ".join(f"{width:g}" for width in found["widths"])
