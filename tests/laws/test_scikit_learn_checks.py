"""Scikit-learn's common checks on every model, with a reason for each check that fails.

A model is given views where its defaults ask for data that the checks do not have: one feature of a
hidden Markov model of categories, and three of a linear mixture.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("sklearn", minversion="1.8", reason="older checks fail in other ways")

from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    estimator_checks_generator,
    parametrize_with_checks,
)

from bigtensor import (
    ICA,
    DiscreteMixture,
    GaussianMixture,
    HiddenMarkovModel,
    KernelICA,
    KernelMixture,
    LinearMixture,
    SparseICA,
    SpectralOptions,
    TensorTrainDensity,
    TensorTrainOptions,
    TopicModel,
    TripleHistogramClassifier,
)
from bigtensor.models.contract.registry import MODELS

PLACE = "CASES of tests/laws/test_scikit_learn_checks.py"

TWO_FEATURES = (
    "check_estimators_overwrite_params",
    "check_estimators_fit_returns_self",
    "check_readonly_memmap_input",
    "check_sample_weights_pandas_series",
    "check_sample_weights_not_an_array",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
    "check_fit_idempotent",
    "check_fit_check_is_fitted",
    "check_n_features_in",
)
"""Checks that fit two features."""

THREE_VIEWS = dict.fromkeys(
    TWO_FEATURES,
    "the check fits two features, hence two views: triple moments need three, and the error says "
    "so",
)
OBJECTS = {
    "check_dtype_object": (
        "objects that are neither numbers nor strings raise a DataError, which is a ValueError as "
        "all errors of the data are; the check wants a TypeError"
    )
}
ONE_ROW = {
    "check_fit2d_1sample": (
        "the error says what the model lacks in one row, such as a spread or a second category; "
        "the check wants the number of rows in other words"
    )
}
FRACTIONS = {
    "check_sample_weight_equivalence_on_dense_data": (
        "the check fits fractions, and the error says that these are no categories; that weights "
        "are repetitions is a law of this package"
    ),
    "check_positive_only_tag_during_fit": (
        "a negative integer is a missing category, and further ones below -1 are an error that "
        "asks for categories"
    ),
}
NAN_BESIDE_FRACTIONS = {
    "check_estimators_nan_inf": (
        "the check fits fractions beside NaN, and the error says that these are no categories"
    )
}
IN_ORDER = dict.fromkeys(
    ("check_methods_sample_order_invariance", "check_methods_subset_invariance"),
    "rows are one sequence in order, and the answer for a row depends on the rows around it",
)
SHUFFLED = {
    "check_sample_weight_equivalence_on_dense_data": (
        "the check shuffles the rows, whose order is that of the sequence"
    )
}

SPARSE = dict.fromkeys(
    (
        *TWO_FEATURES,
        "check_fit_score_takes_y",
        "check_dont_overwrite_parameters",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_estimators_dtypes",
        "check_sample_weights_list",
        "check_dtype_object",
        "check_pipeline_consistency",
        "check_estimators_nan_inf",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_transformer_data_not_an_array",
        "check_transformer_n_iter",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit2d_1feature",
        "check_dict_unchanged",
        "check_fit2d_predict1d",
    ),
    "the check fits rows without a sparse source, and the error says that the model needs one",
)
ONE_TOPIC = dict.fromkeys(
    (
        "check_dont_overwrite_parameters",
        "check_transformer_n_iter",
        "check_methods_subset_invariance",
        "check_methods_sample_order_invariance",
        "check_fit2d_1sample",
        "check_fit2d_1feature",
        "check_fit2d_predict1d",
    ),
    "the check asks for one component, and a single topic is refused",
)

SHORT_DOCUMENTS = dict.fromkeys(
    (
        "check_fit_score_takes_y",
        "check_sample_weights_list",
        "check_estimators_nan_inf",
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
    ),
    "the check fits numbers below one, hence documents of fewer than three words, of which there "
    "are no triples: the error says so",
)
SHORT_SEQUENCES = {
    **dict.fromkeys(
        (
            *TWO_FEATURES,
            "check_classifier_data_not_an_array",
            "check_classifiers_classes",
            "check_classifiers_train",
            "check_fit2d_1feature",
        ),
        "the check fits sequences of one or two steps, which have no triple: the error says so",
    ),
    **dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_classifiers_one_label_sample_weights",
            "check_decision_proba_consistency",
        ),
        "the check fits fractions, and the error says that these are no categories",
    ),
    "check_positive_only_tag_during_fit": (
        "negative integers are missing categories, so that no sequence of a class has a triple"
    ),
    "check_n_features_in_after_fitting": (
        "sequences have any number of steps, so that the model has no number of features"
    ),
}


def small_kernel_mixture(n_components: int, **parameters: Any) -> KernelMixture:
    """Return a kernel mixture that is fitted quickly."""
    small = {"spectral": SpectralOptions(n_landmarks=20, bins=64), "pilot_rows": 200, "max_iter": 2}
    return KernelMixture(n_components, **small, **parameters)


CASES: list[tuple[BaseEstimator, dict[str, str]]] = [
    (small_kernel_mixture(2, init="spectral"), THREE_VIEWS | OBJECTS),
    (small_kernel_mixture(4, n_populations="auto"), OBJECTS),
    (
        DiscreteMixture(2, random_state=0),
        THREE_VIEWS
        | FRACTIONS
        | ONE_ROW
        | {"check_fit2d_1feature": "the error says how many views there are and are needed"},
    ),
    # the first case of a family is quick: few iterations here, a given regularisation below
    *(
        (model, FRACTIONS | NAN_BESIDE_FRACTIONS | IN_ORDER | ONE_ROW)
        for model in (
            HiddenMarkovModel(2, views={"x": [0]}, max_iter=2, random_state=0),
            HiddenMarkovModel(2, views={"x": [0]}, random_state=0),
        )
    ),
    (
        HiddenMarkovModel(2, emissions="kernel", max_iter=2, random_state=0),
        OBJECTS | IN_ORDER | SHUFFLED,
    ),
    (
        LinearMixture(1, views={"a": [0], "b": [1], "c": [2]}, random_state=0),
        THREE_VIEWS
        | OBJECTS
        | ONE_ROW
        | {"check_fit2d_1feature": "the error names the view whose column the data do not have"},
    ),
    (GaussianMixture(2, reg_covar=0.1, random_state=0), OBJECTS | ONE_ROW),
    (GaussianMixture(2, random_state=0), OBJECTS | ONE_ROW),
    (ICA(1, random_state=0), OBJECTS | ONE_ROW),
    (SparseICA(1, random_state=0), SPARSE | ONE_ROW),
    (KernelICA(1, random_state=0), OBJECTS | ONE_ROW),
    (TopicModel(2, random_state=0), OBJECTS | SHORT_DOCUMENTS | ONE_TOPIC),
    (TensorTrainDensity(rank=2, trains=TensorTrainOptions(n_trains=1), random_state=0), {}),
    (
        TripleHistogramClassifier(
            HiddenMarkovModel(1, missing="marginalise", random_state=0), rule="sequence_likelihood"
        ),
        SHORT_SEQUENCES,
    ),
]


def expected_failures(model: BaseEstimator) -> dict[str, str]:
    """Return the reason of every check that fails for a model of the cases."""
    for case, expected in CASES:
        if type(case) is type(model) and repr(case) == repr(model):
            return expected
    raise AssertionError(f"no case is {model!r}")


def assert_as_expected(estimator: BaseEstimator, check: functools.partial[None]) -> None:
    """Assert that a check fails if a reason is given, and passes otherwise.

    Pytest's ``xfail`` writes a traceback of every failure, which takes longer than the checks.
    """
    name = check.func.__name__
    reason = expected_failures(estimator).get(name)
    try:
        check(estimator)
    except Exception as error:
        if reason is None:
            error.add_note(
                f"{name} fails for {estimator!r}. If the model is right, add the check with a "
                f"reason to its case in {PLACE}"
            )
            raise
    else:
        if reason is not None:
            pytest.fail(
                f"{name} holds for {estimator!r}: take its reason out of the case in {PLACE}: "
                f"{reason}"
            )


SLOW = (TensorTrainDensity, TopicModel, TripleHistogramClassifier)
"""Models whose fits take most of the time of all checks."""


def is_slow(model: BaseEstimator) -> bool:
    """Return True for models with long fits, and for the second case of a family."""
    first = next(case for case, _ in CASES if type(case) is type(model))
    return isinstance(model, SLOW) or model is not first


# a few dozen rows of the checks' blobs do not determine a model
@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
@parametrize_with_checks([model for model, _ in CASES if not is_slow(model)])
def test_common_checks__hold(estimator: BaseEstimator, check: Any) -> None:
    assert_as_expected(estimator, check)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
@parametrize_with_checks([model for model, _ in CASES if is_slow(model)])
def test_common_checks__hold_for_slow_models(estimator: BaseEstimator, check: Any) -> None:
    assert_as_expected(estimator, check)


def check_that_fails(_name: str, _estimator: BaseEstimator) -> None:
    raise ValueError("no")


def check_that_holds(_name: str, _estimator: BaseEstimator) -> None:
    pass


@pytest.mark.parametrize("check", [check_that_fails, check_that_holds])
def test_failures__say_which_reason_lacks_or_is_superfluous(
    check: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, named = CASES[0][0], functools.partial(check, "KernelMixture")
    reasons = {check_that_holds.__name__: "it is right"}
    monkeypatch.setattr(sys.modules[__name__], "expected_failures", lambda _model: reasons)
    with pytest.raises((ValueError, pytest.fail.Exception)) as failure:
        assert_as_expected(model, named)
    text = "; ".join([str(failure.value), *getattr(failure.value, "__notes__", ())])
    words = "fails for" if check is check_that_fails else "it is right"
    for part in (check.__name__, words, PLACE):
        assert part in text
    # and the other way round, all is as expected
    swapped = {check_that_fails.__name__: "it is right"}
    monkeypatch.setattr(sys.modules[__name__], "expected_failures", lambda _model: swapped)
    assert_as_expected(model, named)


def test_every_model__is_checked() -> None:
    names = sorted({*MODELS} - {type(model).__name__ for model, _ in CASES})
    assert not names, (
        f"no scikit-learn checks of {', '.join(names)}; add a small model to {PLACE}, with a "
        "reason for every check that fails"
    )


def test_expected_failures__are_those_of_checks() -> None:
    checks = {
        check.func.__name__ for model, _ in CASES for _, check in estimator_checks_generator(model)
    }
    unknown = {name for _, expected in CASES for name in expected} - checks
    assert not unknown, f"{PLACE} has reasons for {unknown}, which are no checks of scikit-learn"


@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
@pytest.mark.parametrize("model", [model for model, _ in CASES[:2]], ids=lambda model: model.init)
def test_data_frame__names_are_kept_and_checked(model: KernelMixture) -> None:
    check_dataframe_column_names_consistency("KernelMixture", clone(model))
