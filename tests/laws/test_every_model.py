"""The public laws on every model of the registry, and on data of every kind that a model takes.

A module ``tests/models/FOLDER/contract_case.py`` may make a model small: ``make(kind)`` returns the
unfitted model, ``data(kind)`` its rows, and ``SETTINGS`` holds further attributes of the case.
"""

from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec

import pytest

from bigtensor.models.registry import MODELS, model_class
from bigtensor.testing import MODEL_LAWS, ModelCase, small_data
from bigtensor.testing.degenerate_laws import wide_data_are_answered_or_refused


def small_case(name: str, kind: str) -> ModelCase:
    """Return the case of a model, as its own folder of tests or its defaults make it."""
    folder = MODELS[name].split(".")[-2]
    found = find_spec(f"tests.models.{folder}") and find_spec(
        f"tests.models.{folder}.contract_case"
    )
    own = import_module(found.name) if found else None
    make = partial(own.make, kind) if own else partial(model_class(name), random_state=0)
    return ModelCase(make, getattr(own, "data", small_data)(kind), **getattr(own, "SETTINGS", {}))


case_of = cache(small_case)
"""One case for all laws, which share its fit."""

CASES = [(name, kind) for name in MODELS for kind in sorted(model_class(name).takes.kinds)]


SLOW_LAWS = (wide_data_are_answered_or_refused,)
"""Laws that take a fifth of the time of all."""


@pytest.mark.parametrize(
    "law",
    [pytest.param(law, marks=[pytest.mark.slow] if law in SLOW_LAWS else []) for law in MODEL_LAWS],
    ids=lambda law: law.__name__,
)
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_law(name: str, kind: str, law) -> None:
    law(case_of(name, kind))
