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
from bigtensor.testing.column_laws import COLUMN_LAWS, the_order_of_columns_does_not_matter
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
from bigtensor.testing.sample_weight_laws import (
    WEIGHT_LAWS,
    a_weight_of_two_fits_as_a_row_twice,
)
from bigtensor.testing.unit_laws import (
    UNIT_LAWS,
    the_origin_does_not_matter,
    the_unit_does_not_matter,
)


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


SLOW_LAWS = {
    ("DiscreteMixture", "codes"): (
        "batches_add_up",
        "parameters_set_after_the_fit_change_nothing",
        "the_order_of_categories_does_not_matter",
        "the_order_of_columns_does_not_matter",
        "wide_data_are_answered_or_refused",
    ),
    ("GaussianMixture", "measured"): (
        "rounds_are_equal_for_any_split_of_the_rows",
        "wide_data_are_answered_or_refused",
    ),
    ("HiddenMarkovModel", "codes"): (
        "a_second_fit_forgets_the_first",
        "a_weight_of_two_fits_as_a_row_twice",
        "any_number_of_workers_gives_the_same_bits",
        "any_parts_give_the_same",
        "batches_add_up",
        "complete_rows_do_not_see_the_rule_for_missing_ones",
        "constant_features_are_answered_or_refused",
        "containers_in_are_containers_out",
        "equal_rows_are_answered_or_refused",
        "missing_rows_are_refused_or_left_out",
        "parameters_set_after_the_fit_change_nothing",
        "relative_weights_have_no_unit",
        "rows_that_are_almost_all_equal_are_answered_or_refused",
        "the_order_of_categories_does_not_matter",
        "the_plan_covers_the_passes",
        "weights_of_one_change_nothing",
        "whole_numbers_are_taken_in_any_type",
    ),
    ("HiddenMarkovModel", "measured"): (
        "answers_keep_the_names_of_their_rows",
        "parameters_set_after_the_fit_change_nothing",
        "whole_numbers_are_taken_in_any_type",
    ),
    ("ICA", "measured"): (
        "a_checkpoint_is_used_again",
        "a_weight_of_two_fits_as_a_row_twice",
        "a_weight_of_zero_fits_as_no_row",
        "any_number_of_workers_gives_the_same_bits",
        "any_parts_give_the_same",
        "any_unit_is_answered_or_refused",
        "batches_add_up",
        "float32_values_give_the_same_answers",
        "missing_rows_are_refused_or_left_out",
        "parameters_set_after_the_fit_change_nothing",
        "rounds_are_equal_for_any_split_of_the_rows",
        "rows_that_are_almost_all_equal_are_answered_or_refused",
        "the_order_of_columns_does_not_matter",
        "the_unit_of_one_feature_does_not_matter",
        "whole_numbers_are_taken_in_any_type",
    ),
    ("KernelICA", "measured"): ("rounds_are_equal_for_any_split_of_the_rows",),
    ("KernelMixture", "measured"): (
        "any_number_of_workers_gives_the_same_bits",
        "any_unit_is_answered_or_refused",
        "faults_of_weighted_rows_are_those_of_repeated_rows",
        "names_and_merges_survive_rounds",
        "parameters_set_after_the_fit_change_nothing",
        "rounds_are_equal_for_any_split_of_the_rows",
        "the_order_of_columns_does_not_matter",
        "the_unit_of_one_feature_does_not_matter",
    ),
    ("LinearMixture", "measured"): (
        "a_weight_of_two_fits_as_a_row_twice",
        "any_unit_is_answered_or_refused",
        "faults_of_weighted_rows_are_those_of_repeated_rows",
        "names_and_merges_survive_rounds",
        "rounds_are_equal_for_any_split_of_the_rows",
        "the_order_of_columns_does_not_matter",
        "the_unit_of_one_feature_does_not_matter",
    ),
    ("SparseICA", "measured"): (
        "float32_values_give_the_same_answers",
        "rounds_are_equal_for_any_split_of_the_rows",
    ),
    ("TensorTrainDensity", "codes"): (
        "parameters_set_after_the_fit_change_nothing",
        "rounds_are_equal_for_any_split_of_the_rows",
    ),
    ("TensorTrainDensity", "measured"): (
        "a_checkpoint_is_used_again",
        "a_column_without_entries_changes_no_answer",
        "a_fit_leaves_the_data_alone",
        "a_preparation_is_no_copy_of_the_rows",
        "a_second_fit_forgets_the_first",
        "a_single_outlier_is_left_out_and_reported",
        "a_weight_of_two_fits_as_a_row_twice",
        "a_weight_of_zero_fits_as_no_row",
        "any_number_of_workers_gives_the_same_bits",
        "any_parts_give_the_same",
        "any_unit_is_answered_or_refused",
        "batches_add_up",
        "complete_rows_do_not_see_the_rule_for_missing_ones",
        "constant_features_are_answered_or_refused",
        "containers_in_are_containers_out",
        "draws_have_the_columns_of_the_data",
        "equal_rows_are_answered_or_refused",
        "faults_of_weighted_rows_are_those_of_repeated_rows",
        "float32_values_give_the_same_answers",
        "missing_rows_are_refused_or_left_out",
        "parameters_set_after_the_fit_change_nothing",
        "relative_weights_have_no_unit",
        "rounds_are_equal_for_any_split_of_the_rows",
        "the_order_of_columns_does_not_matter",
        "the_origin_does_not_matter",
        "the_plan_covers_the_passes",
        "the_unit_does_not_matter",
        "the_unit_of_one_feature_does_not_matter",
        "whole_numbers_are_taken_in_any_type",
    ),
    ("TopicModel", "counts"): (
        "a_weight_of_two_fits_as_a_row_twice",
        "rounds_are_equal_for_any_split_of_the_rows",
    ),
}
"""Laws that took more than half a second on a model, by its name and kind.

Each law is quick on two models at least.
"""


def is_slow(name: str, kind: str, law: Callable[..., None]) -> bool:
    if law.__name__ in SLOW_LAWS.get((name, kind), ()):
        return True
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
"""Variants with a long fit. Tests of their models fit them, too."""

QUICK_LAWS_OF_VARIANTS = (
    any_parts_give_the_same,
    a_weight_of_two_fits_as_a_row_twice,
    *ROW_ORDER_LAWS,
    the_order_of_columns_does_not_matter,
    *CATEGORY_LAWS,
    the_unit_does_not_matter,
    the_origin_does_not_matter,
    *OUTLIER_LAWS,
)
"""Laws of the numbers of an algorithm. For other laws, the first algorithm of a model stands."""


def is_slow_variant(name: str, variant: str, law: Callable[..., None]) -> bool:
    return law not in QUICK_LAWS_OF_VARIANTS or (name, variant) in SLOW_VARIANTS


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
