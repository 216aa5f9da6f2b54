"""The public laws on every model of the registry, and on data of every kind that a model takes.

A module ``tests/models/FOLDER/contract_case.py`` may make a model small: ``make(kind)`` returns the
unfitted model, ``data(kind)`` its rows, and ``SETTINGS`` holds further attributes of the case.
``VARIANTS`` maps a kind and a name to parameters that choose another algorithm, and
``VARIANT_SETTINGS`` a name to attributes of the case that differ.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

from bigtensor.models.contract.registry import MODELS, model_class
from bigtensor.testing import MODEL_LAWS, ModelCase, small_data
from bigtensor.testing.answer_laws import ANSWER_LAWS
from bigtensor.testing.category_laws import CATEGORY_LAWS
from bigtensor.testing.column_laws import COLUMN_LAWS
from bigtensor.testing.degenerate_laws import wide_data_are_answered_or_refused
from bigtensor.testing.estimator_laws import ESTIMATOR_LAWS
from bigtensor.testing.fit_laws import (
    a_saved_model_is_the_same,
    any_parts_give_the_same,
    the_plan_covers_the_passes,
)
from bigtensor.testing.outlier_laws import OUTLIER_LAWS
from bigtensor.testing.round_laws import ROUND_LAWS
from bigtensor.testing.row_order_laws import ROW_ORDER_LAWS
from bigtensor.testing.sample_weight_laws import WEIGHT_LAWS
from bigtensor.testing.unit_laws import UNIT_LAWS


def own_module(name: str) -> ModuleType | None:
    """Return the module of a model's own case, if there is one."""
    folder = MODELS[name].removeprefix("bigtensor.models.").rpartition(".")[0]
    found = find_spec(f"tests.models.{folder}") and find_spec(
        f"tests.models.{folder}.contract_case"
    )
    return import_module(found.name) if found else None


def small_case(name: str, kind: str, variant: str = "") -> ModelCase:
    """Return the case of a model, as its own folder of tests or its defaults make it."""
    own = own_module(name)
    make = partial(own.make, kind) if own else partial(model_class(name), random_state=0)
    case = ModelCase(make, getattr(own, "data", small_data)(kind), **getattr(own, "SETTINGS", {}))
    if not variant:
        return case
    changes = getattr(own, "VARIANT_SETTINGS", {}).get(variant, {})
    return case.variant(own.VARIANTS[kind][variant], **changes)


case_of = cache(small_case)
"""One case for all laws, which share its fit."""

CASES = [(name, kind) for name in MODELS for kind in sorted(model_class(name).takes.kinds)]

VARIANTS = [
    (name, kind, variant)
    for name, kind in CASES
    for variant in getattr(own_module(name), "VARIANTS", {}).get(kind, {})
]

LAWS_OF_VARIANTS = (
    the_plan_covers_the_passes,
    any_parts_give_the_same,
    a_saved_model_is_the_same,
    *WEIGHT_LAWS,
    *ROUND_LAWS,
    *ROW_ORDER_LAWS,
    *COLUMN_LAWS,
    *CATEGORY_LAWS,
    *UNIT_LAWS,
    *OUTLIER_LAWS,
)
"""Laws of the numbers of a fit, which another algorithm may break."""


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


SLOW_VARIANTS = [
    ("DiscreteMixture", "ex_literal"),
    ("GaussianMixture", "shared_spherical"),
    ("HiddenMarkovModel", "triples"),
    ("HiddenMarkovModel", "gaussian_diag"),
    ("KernelICA", "laplace"),
    ("KernelMixture", "common_units"),
    ("KernelMixture", "merging"),
    ("KernelMixture", "merging_of_overlaps"),
    ("LinearMixture", "sample"),
    ("LinearMixture", "passes"),
    ("LinearMixture", "power"),
    ("TensorTrainDensity", "balanced"),
    ("TensorTrainDensity", "rotated"),
]
"""Variants with a long fit."""


def is_slow_variant(name: str, variant: str, law: Callable[..., None]) -> bool:
    # every algorithm leaves outliers out of its own passes
    return law in ROUND_LAWS or ((name, variant) in SLOW_VARIANTS and law not in OUTLIER_LAWS)


@pytest.mark.parametrize(
    ("name", "kind", "variant", "law"),
    [
        pytest.param(
            *(name, kind, variant, law),
            marks=[pytest.mark.slow] if is_slow_variant(name, variant, law) else [],
            id=f"{name}-{kind}-{variant}-{law.__name__}",
        )
        for name, kind, variant in VARIANTS
        for law in LAWS_OF_VARIANTS
    ],
)
def test_law_of_variant(name: str, kind: str, variant: str, law) -> None:
    law(case_of(name, kind, variant))
