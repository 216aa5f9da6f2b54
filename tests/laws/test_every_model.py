"""The public laws on every model of the registry, and on data of every kind that a model takes.

A module ``tests/models/FOLDER/contract_case.py`` may make a model small: ``make(kind)`` returns the
unfitted model, ``data(kind)`` its rows, and ``SETTINGS`` holds further attributes of the case.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec

import pytest

from bigtensor.models.contract.registry import MODELS, model_class
from bigtensor.testing import MODEL_LAWS, ModelCase, small_data
from bigtensor.testing.answer_laws import ANSWER_LAWS
from bigtensor.testing.degenerate_laws import wide_data_are_answered_or_refused
from bigtensor.testing.estimator_laws import ESTIMATOR_LAWS
from bigtensor.testing.outlier_laws import OUTLIER_LAWS
from bigtensor.testing.round_laws import ROUND_LAWS


def small_case(name: str, kind: str) -> ModelCase:
    """Return the case of a model, as its own folder of tests or its defaults make it."""
    folder = MODELS[name].removeprefix("bigtensor.models.").rpartition(".")[0]
    found = find_spec(f"tests.models.{folder}") and find_spec(
        f"tests.models.{folder}.contract_case"
    )
    own = import_module(found.name) if found else None
    make = partial(own.make, kind) if own else partial(model_class(name), random_state=0)
    return ModelCase(make, getattr(own, "data", small_data)(kind), **getattr(own, "SETTINGS", {}))


case_of = cache(small_case)
"""One case for all laws, which share its fit."""

CASES = [(name, kind) for name in MODELS for kind in sorted(model_class(name).takes.kinds)]


SLOW_ON_WIDE_DATA = ("HiddenMarkovModel", "KernelMixture", "TensorTrainDensity")
"""Models whose law of wide data takes several seconds."""

SLOW_CASES = [
    ("HiddenMarkovModel", "measured"),
    ("KernelICA", "measured"),
    ("TensorTrainDensity", "codes"),
]
"""Models with a long fit, and a kind of data beside the measured one."""

LAWS_OF_SLOW_CASES = (*ESTIMATOR_LAWS, *ANSWER_LAWS, *ROUND_LAWS, *OUTLIER_LAWS)
"""Quick laws of slow cases: those that share a fit, or that no other model stands for."""


def is_slow(name: str, kind: str, law: Callable[..., None]) -> bool:
    if law is wide_data_are_answered_or_refused and name in SLOW_ON_WIDE_DATA:
        return True
    return (name, kind) in SLOW_CASES and law not in LAWS_OF_SLOW_CASES


@pytest.mark.parametrize(
    ("name", "kind", "law"),
    [
        pytest.param(
            *(name, kind, law),
            marks=[pytest.mark.slow] if is_slow(name, kind, law) else [],
            id=f"{name}-{kind}-{law.__name__}",
        )
        for name, kind in CASES
        for law in MODEL_LAWS
    ],
)
def test_law(name: str, kind: str, law) -> None:
    law(case_of(name, kind))
