"""Suggested names of populations among the facts of a model."""

from __future__ import annotations

from typing import Any


def suggested_name_facts(model: Any) -> dict[str, Any]:
    """Return names by markers of a fitted mixture as facts; none of other models.

    Parameters
    ----------
    model : Estimator
        Fitted or prepared.

    Returns
    -------
    dict
        ``suggested_names``, a text for every population, or nothing.
    """
    if not hasattr(model, "suggest_population_names") or not model.__sklearn_is_fitted__():
        return {}
    return {"suggested_names": model.suggest_population_names()}
